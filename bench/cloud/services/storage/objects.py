"""Cloud Storage: objects as the JSON API shows them: write, read, list, copy, compose, delete.

Owns what a client may say of an object, and one page of a listing: order (name, then generation), prefixes behind a
delimiter, bounds, globs and page tokens. Nothing is soft-deleted here: what is deleted for good is gone. Generations
and preconditions are `storage_versions`. Source: cloud.google.com/storage/docs/json_api/v1/objects, read 2026-11.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bench.cloud.cloud import ApiCall, handles
from bench.cloud.errors import ApiError, JsonObject, invalid
from bench.cloud.services import bodies
from bench.cloud.services.listings import listing
from bench.cloud.services.storage import versions
from bench.cloud.store import Resource
from bench.cloud.wire import Response

_SAID_BY_CLIENT = frozenset(
    {"contentType", "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "metadata",
     "customTime", "storageClass", "eventBasedHold", "temporaryHold", "retention", "contexts"}
)  # fmt: skip
_CHECKSUMS = frozenset({"md5Hash", "crc32c"})
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_MOST_SOURCES = 32
_DEFAULT_PAGE = 1000
_GLOB = re.compile(r"\*\*|\*|\?|[^*?]+")
_GLOB_PARTS = {"**": ".*", "*": "[^/]*", "?": "[^/]"}


@handles("storage.objects.insert")
def insert_object(call: ApiCall) -> JsonObject:
    name = call.params.get("name") or call.body.get("name", "")
    content, fields = b"", _said(call.body, _SAID_BY_CLIENT | _CHECKSUMS)
    if call.media is not None:
        content = call.media.data
        fields.setdefault("contentType", call.media.content_type)
        fields |= _hashes(call.headers.get("x-goog-hash", ""))
    if "contentEncoding" in call.params:
        fields["contentEncoding"] = call.params["contentEncoding"]
    return _shown(call, versions.write(call.cloud, call.ids["bucket"], name, fields, content, call.params))


@handles("storage.objects.get")
def get_object(call: ApiCall) -> JsonObject | Response:
    held = _found(call)
    body = held.body
    if versions.check(call.params, generation=body["generation"], metageneration=body["metageneration"]):
        return Response(304)
    return _content(call, held) if call.params.get("alt") == "media" else _shown(call, held)


@handles("storage.objects.list")
def list_objects(call: ApiCall) -> JsonObject:
    bucket = versions.bucket(call.cloud, call.ids["bucket"]).name
    if call.params.get("softDeleted"):
        return {"kind": "storage#objects"}
    prefix, noncurrent = call.params.get("prefix", ""), call.params.get("versions", False)
    page = _page(versions.each(call.cloud, bucket, prefix, noncurrent=noncurrent), call.params)
    answer = listing("items", [_shown(call, held) for held in page.items], page.next_token)
    if page.prefixes:
        answer["prefixes"] = list(page.prefixes)
    return {"kind": "storage#objects", **answer}


@handles("storage.objects.patch", "storage.objects.update")
def change_object(call: ApiCall) -> JsonObject:
    held = _found(call)
    versions.check_write(call.params, held)
    sent = {key: value for key, value in call.body.items() if key in _SAID_BY_CLIENT}
    kept = {key: value for key, value in held.body.items() if key not in _SAID_BY_CLIENT or key == "storageClass"}
    current = held.body if call.method.endswith(".patch") else kept
    return _shown(call, versions.change(call.cloud, held, bodies.merged(current, sent)))


@handles("storage.objects.delete")
def delete_object(call: ApiCall) -> Response:
    versions.delete(call.cloud, call.ids["bucket"], call.ids["object"], call.params)
    return Response(204)


@handles("storage.objects.copy")
def copy_object(call: ApiCall) -> JsonObject:
    return _shown(call, _copied(call))


@handles("storage.objects.rewrite")
def rewrite_object(call: ApiCall) -> JsonObject:
    """A rewrite is done in its first call, whatever its size."""
    made = _copied(call)
    size = made.body["size"]
    return {
        "kind": "storage#rewriteResponse",
        "totalBytesRewritten": size,
        "objectSize": size,
        "done": True,
        "resource": _shown(call, made),
    }


@handles("storage.objects.compose")
def compose_objects(call: ApiCall) -> JsonObject:
    bucket, sources = call.ids["destinationBucket"], call.body.get("sourceObjects") or []
    if not 1 <= len(sources) <= _MOST_SOURCES:
        raise invalid(f"{len(sources)} sources were given; 1 to {_MOST_SOURCES} are allowed.", field="sourceObjects")
    parts = []
    for source in sources:
        held = versions.find(call.cloud, bucket, source.get("name", ""), source.get("generation"))
        versions.check_write(source.get("objectPreconditions", {}), held)
        parts.append(held)
    content = b"".join(versions.data(call.cloud, part) for part in parts)
    fields = {"contentType": parts[0].body.get("contentType", "application/octet-stream")}
    fields |= _said(call.body.get("destination", {}), _SAID_BY_CLIENT)
    made = versions.write(call.cloud, bucket, call.ids["destinationObject"], fields, content, call.params)
    return _shown(call, made)


def _hashes(header: str) -> JsonObject:
    """The checksums of a header `x-goog-hash: crc32c=...,md5=...`, by which a client has an upload checked."""
    pairs = (part.strip().partition("=") for part in header.split(","))
    names = {"crc32c": "crc32c", "md5": "md5Hash"}
    return {names[kind]: value for kind, _, value in pairs if kind in names}


def _said(body: JsonObject, names: frozenset[str]) -> JsonObject:
    return {key: value for key, value in body.items() if key in names and value is not None}


def _found(call: ApiCall) -> Resource:
    return versions.find(call.cloud, call.ids["bucket"], call.ids["object"], call.params.get("generation"))


def _copied(call: ApiCall) -> Resource:
    """Metadata comes from the source unless the request has its own, as the service rules."""
    ids, params = call.ids, call.params
    source = versions.find(call.cloud, ids["sourceBucket"], ids["sourceObject"], params.get("sourceGeneration"))
    versions.check_write(params, source, prefix="ifSource")
    fields = _said(call.body, _SAID_BY_CLIENT) or _said(source.body, _SAID_BY_CLIENT)
    fields.setdefault("contentType", source.body.get("contentType", "application/octet-stream"))
    content = versions.data(call.cloud, source)
    return versions.write(call.cloud, ids["destinationBucket"], ids["destinationObject"], fields, content, params)


def _shown(call: ApiCall, held: Resource) -> JsonObject:
    body = held.body
    path = f"b/{body['bucket']}/o/{quote(body['name'], safe='')}"
    return {
        **body,
        "kind": "storage#object",
        "id": f"{body['bucket']}/{body['name']}/{body['generation']}",
        "selfLink": call.base + path,
        "mediaLink": f"{call.root}/download/storage/v1/{path}?generation={body['generation']}&alt=media",
        "generation": str(body["generation"]),
        "metageneration": str(body["metageneration"]),
        "etag": versions.etag(held),
    }


def _content(call: ApiCall, held: Resource) -> Response:
    """The bytes, or the range of them that the request's header names."""
    body, content = held.body, versions.data(call.cloud, held)
    headers = {
        "etag": versions.etag(held),
        "x-goog-generation": str(body["generation"]),
        "x-goog-metageneration": str(body["metageneration"]),
        "x-goog-hash": f"crc32c={body['crc32c']},md5={body['md5Hash']}",
        "x-goog-stored-content-length": body["size"],
    }
    kind = body.get("contentType", "application/octet-stream")
    asked = _RANGE.fullmatch(call.headers.get("range", ""))
    if asked is None or asked[0] == "bytes=-":
        return Response(200, content, headers, kind)
    first = int(asked[1]) if asked[1] else max(0, len(content) - int(asked[2]))
    last = min(int(asked[2]), len(content) - 1) if asked[1] and asked[2] else len(content) - 1
    if first > last:
        raise ApiError(416, "The requested range cannot be satisfied.", reason="requestedRangeNotSatisfiable")
    return Response(
        206, content[first : last + 1], {**headers, "content-range": f"bytes {first}-{last}/{len(content)}"}, kind
    )


@dataclass(frozen=True, slots=True)
class _ObjectPage:
    items: tuple[Resource, ...]
    prefixes: tuple[str, ...]
    next_token: str | None


def _page(objects: Iterable[Resource], params: Mapping[str, Any]) -> _ObjectPage:
    """One page; objects and prefixes share its size, as in the service. Raises 400 for a bad token or glob."""
    size, after = params.get("maxResults") or _DEFAULT_PAGE, _opened(params.get("pageToken"))
    wanted = _filter(params)
    folded = {
        key: held
        for held in objects
        if wanted(held.body["name"])
        for key in _keys(held, params)
        if after is None or key > after
    }
    keys = sorted(folded)
    shown = keys[:size]
    token = _sealed(shown[-1]) if len(keys) > size else None
    items = tuple(folded[key] for key in shown if key[1])
    return _ObjectPage(items, tuple(name for name, generation in shown if not generation), token)


def _keys(held: Resource, params: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Where an object stands in a listing: at its name and generation, or as part of a prefix (generation 0)."""
    name, delimiter, start = held.body["name"], params.get("delimiter"), len(params.get("prefix", ""))
    own = (name, held.body["generation"])
    at = name.find(delimiter, start) if delimiter else -1
    if at < 0:
        return [own]
    end = at + len(delimiter or "")
    keys = [(name[:end], 0)]
    if params.get("includeTrailingDelimiter") and end == len(name):
        keys.append(own)
    return keys


def _filter(params: Mapping[str, Any]) -> Callable[[str], bool]:
    start, end, glob = params.get("startOffset"), params.get("endOffset"), params.get("matchGlob")
    pattern = _glob(glob) if glob else None

    def wanted(name: str) -> bool:
        return (
            (start is None or name >= start)
            and (end is None or name < end)
            and (pattern is None or pattern.fullmatch(name) is not None)
        )

    return wanted


def _glob(text: str) -> re.Pattern[str]:
    if set(text) & set("[]{}\\"):
        raise invalid(f"Invalid glob '{text}': only *, ** and ? are served here.", field="matchGlob")
    return re.compile("".join(_GLOB_PARTS.get(part) or re.escape(part) for part in _GLOB.findall(text)), re.DOTALL)


def _sealed(key: tuple[str, int]) -> str:
    return base64.urlsafe_b64encode(f"{key[1]} {key[0]}".encode()).decode()


def _opened(token: str | None) -> tuple[str, int] | None:
    if not token:
        return None
    try:
        generation, _, name = base64.urlsafe_b64decode(token).decode().partition(" ")
        return name, int(generation)
    except (binascii.Error, ValueError):
        raise invalid("Invalid page token.", field="pageToken") from None
