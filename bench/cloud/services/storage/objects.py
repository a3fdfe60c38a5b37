"""Cloud Storage: objects as the JSON API shows them: write, read, list, rewrite, delete; their generations.

Owns the one rule that everything else rests on: in a bucket a write gets a generation above all earlier ones, and it
happens only when every precondition of its request holds at that moment. A live object is one row; generations that
are kept in a versioned bucket are rows of another kind. Nothing is soft-deleted here: what is deleted for good is gone.
Sources, read 2026-11: cloud.google.com/storage/docs/json_api/v1/objects, .../docs/request-preconditions and
.../docs/object-versioning.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject, condition_not_met, invalid
from bench.cloud.services import bodies
from bench.cloud.services.listings import listing, opened, sealed
from bench.cloud.store import Resource
from bench.cloud.wire import Response

BUCKET = "storage.bucket"
_LIVE, _NONCURRENT = "storage.object", "storage.noncurrent"
_SAID_BY_CLIENT = frozenset(
    {"contentType", "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "metadata",
     "customTime", "storageClass", "contexts"}
)  # fmt: skip
_CHECKSUMS = frozenset({"md5Hash", "crc32c"})
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_DEFAULT_PAGE = 1000


def bucket(cloud: Cloud, name: str) -> Resource:
    """Raises 404."""
    held = cloud.store.find(BUCKET, name)
    if held is None:
        raise ApiError(404, "The specified bucket does not exist.")
    return held


def is_empty(cloud: Cloud, name: str) -> bool:
    """Noncurrent generations count."""
    return not any(cloud.store.count(kind, f"{name}/") for kind in (_LIVE, _NONCURRENT))


def check(params: Mapping[str, Any], *, generation: int, metageneration: int, prefix: str = "if") -> None:
    """Raises 412 when what must match does not. generation: 0 for an object that does not exist.

    prefix: `ifSource` for the source of a rewrite.
    """
    for noun, current in (("Generation", generation), ("Metageneration", metageneration)):
        wanted = params.get(f"{prefix}{noun}Match")
        if wanted is not None and int(wanted) != current:
            raise condition_not_met("At least one of the pre-conditions you specified did not hold.")


@handles("storage.objects.insert")
def insert_object(call: ApiCall) -> JsonObject:
    name = call.params.get("name") or call.body.get("name", "")
    content, fields = b"", _said(call.body, _SAID_BY_CLIENT | _CHECKSUMS)
    if call.media is not None:
        content = call.media.data
        fields.setdefault("contentType", call.media.content_type)
        fields |= _hashes(call.headers.get("x-goog-hash", ""))
    return _shown(call, _write(call, call.ids["bucket"], name, fields, content))


@handles("storage.objects.get")
def get_object(call: ApiCall) -> JsonObject | Response:
    held = _found(call)
    _check(call.params, held)
    return _content(call, held) if call.params.get("alt") == "media" else _shown(call, held)


@handles("storage.objects.list")
def list_objects(call: ApiCall) -> JsonObject:
    """Live objects in the order of their names, and where asked for those before them; a page at a time.

    Objects and the prefixes behind a delimiter share the size of a page, as in the service.
    """
    head = f"{bucket(call.cloud, call.ids['bucket']).name}/"
    prefix, delimiter, token = (call.params.get(key, "") for key in ("prefix", "delimiter", "pageToken"))
    before, _, after = opened(token).partition(" ")
    folded: dict[tuple[str, int], JsonObject | None] = {}
    for kind in (_LIVE, _NONCURRENT)[: 1 + call.params.get("versions", False)]:
        for held in () if call.params.get("softDeleted") else call.cloud.store.each(kind, head + prefix):
            name = held.body["name"]
            at = name.find(delimiter, len(prefix)) if delimiter else -1
            key = (name, held.body["generation"]) if at < 0 else (name[: at + len(delimiter)], 0)
            folded[key] = _shown(call, held) if at < 0 else None
    keys = sorted(key for key in folded if key > (after, int(before or -1)))
    page = keys[: call.params.get("maxResults") or _DEFAULT_PAGE]
    items = [item for key in page if (item := folded[key])]
    answer = listing("items", items, sealed(f"{page[-1][1]} {page[-1][0]}") if len(keys) > len(page) else None)
    prefixes = [key[0] for key in page if folded[key] is None]
    return {"kind": "storage#objects", **answer, **({"prefixes": prefixes} if prefixes else {})}


@handles("storage.objects.patch")
def change_object(call: ApiCall) -> JsonObject:
    """A change of metadata alone: the metageneration goes up by one."""
    held = _found(call)
    _check(call.params, held)
    body = bodies.merged(held.body, {key: value for key, value in call.body.items() if key in _SAID_BY_CLIENT})
    body |= {"metageneration": held.body["metageneration"] + 1, "updated": timestamp(call.cloud.now)}
    return _shown(call, call.cloud.store.replace(held, body, now=call.cloud.now))


@handles("storage.objects.delete")
def delete_object(call: ApiCall) -> Response:
    """The generation asked for goes for good; without one the live object is retired."""
    held = _found(call)
    _check(call.params, held)
    if "generation" in call.params:
        call.cloud.store.delete(held.kind, held.name)
    else:
        _retire(call.cloud, held)
    return Response(204)


@handles("storage.objects.rewrite")
def rewrite_object(call: ApiCall) -> JsonObject:
    """Done in its first call, whatever its size. Metadata is the source's unless the request has its own."""
    ids = call.ids
    source = _find(call.cloud, ids["sourceBucket"], ids["sourceObject"], call.params.get("sourceGeneration"))
    _check(call.params, source, prefix="ifSource")
    fields = _said(call.body, _SAID_BY_CLIENT) or _said(source.body, _SAID_BY_CLIENT)
    content = call.cloud.store.data(source.kind, source.name)
    made = _write(call, ids["destinationBucket"], ids["destinationObject"], fields, content)
    size = {"totalBytesRewritten": made.body["size"], "objectSize": made.body["size"]}
    return {"kind": "storage#rewriteResponse", **size, "done": True, "resource": _shown(call, made)}


def _hashes(header: str) -> JsonObject:
    """The checksums of a header `x-goog-hash: crc32c=...,md5=...`, by which a client has an upload checked."""
    pairs = (part.strip().partition("=") for part in header.split(","))
    names = {"crc32c": "crc32c", "md5": "md5Hash"}
    return {names[kind]: value for kind, _, value in pairs if kind in names}


def _said(body: JsonObject, names: frozenset[str]) -> JsonObject:
    return {key: value for key, value in body.items() if key in names and value is not None}


def _found(call: ApiCall) -> Resource:
    return _find(call.cloud, call.ids["bucket"], call.ids["object"], call.params.get("generation"))


def _find(cloud: Cloud, bucket_name: str, name: str, generation: str | None) -> Resource:
    """The live object, or the generation asked for. Raises 404."""
    full = f"{bucket(cloud, bucket_name).name}/{name}"
    held = cloud.store.find(_LIVE, full)
    if generation is not None and (held is None or held.body["generation"] != int(generation)):
        held = cloud.store.find(_NONCURRENT, _noncurrent_name(full, int(generation)))
    if held is None:
        raise ApiError(404, f"No such object: {bucket_name}/{name}")
    return held


def _check(params: Mapping[str, Any], held: Resource | None, prefix: str = "if") -> None:
    body = held.body if held else {"generation": 0, "metageneration": 0}
    check(params, generation=body["generation"], metageneration=body["metageneration"], prefix=prefix)


def _write(call: ApiCall, bucket_name: str, name: str, fields: JsonObject, content: bytes) -> Resource:
    """Make a new generation of an object. fields: what the client said of it. Raises 404, 412, 400."""
    cloud, holder = call.cloud, bucket(call.cloud, bucket_name)
    current = cloud.store.find(_LIVE, f"{bucket_name}/{name}")
    _check(call.params, current)
    made: JsonObject = {"md5Hash": bodies.md5_base64(content), "crc32c": bodies.crc32c_base64(content)}
    for checksum, right in made.items():
        if fields.get(checksum, right) != right:
            raise invalid(f"Provided {checksum} '{fields[checksum]}' does not match the calculated '{right}'.")
    now = timestamp(cloud.now)
    body = {
        "storageClass": holder.body["fields"].get("storageClass", "STANDARD"),
        "contentType": "application/octet-stream",
        **fields,
        **made,
        "name": name,
        "bucket": bucket_name,
        "generation": _next_generation(cloud, bucket_name),
        "metageneration": 1,
        "size": str(len(content)),
        **dict.fromkeys(("timeCreated", "updated", "timeStorageClassUpdated", "timeFinalized"), now),
    }
    if current is not None:
        _retire(cloud, current)
    return cloud.store.insert(_LIVE, f"{bucket_name}/{name}", body, now=cloud.now, data=content)


def _retire(cloud: Cloud, held: Resource) -> None:
    """The live object ends: kept as noncurrent in a versioned bucket, else gone."""
    if bucket(cloud, held.body["bucket"]).body["fields"].get("versioning", {}).get("enabled"):
        body = {**held.body, "timeDeleted": timestamp(cloud.now)}
        name, data = _noncurrent_name(held.name, held.body["generation"]), cloud.store.data(held.kind, held.name)
        cloud.store.insert(_NONCURRENT, name, body, now=cloud.now, data=data)
    cloud.store.delete(_LIVE, held.name)


def _noncurrent_name(name: str, generation: int) -> str:
    """Unambiguous, also for names with a #: what follows the last one has a fixed length."""
    return f"{name}#{generation:020d}"


def _next_generation(cloud: Cloud, bucket_name: str) -> int:
    """Microseconds of the clock, as in the service, and always above the bucket's last one."""
    key = f"storage.generation/{bucket_name}"
    generation = max(int(cloud.now * 1_000_000), cloud.store.setting(key, 0) + 1)
    cloud.store.set_setting(key, generation)
    return generation


def _etag(body: JsonObject) -> str:
    return base64.b64encode(f"{body['generation']}/{body['metageneration']}".encode()).decode()


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
        "etag": _etag(body),
    }


def _content(call: ApiCall, held: Resource) -> Response:
    """The bytes, or the range of them that the request's header names."""
    body, content = held.body, call.cloud.store.data(held.kind, held.name)
    headers = {
        "etag": _etag(body),
        "x-goog-generation": str(body["generation"]),
        "x-goog-metageneration": str(body["metageneration"]),
        "x-goog-hash": f"crc32c={body['crc32c']},md5={body['md5Hash']}",
        "x-goog-stored-content-length": body["size"],
    }
    asked = _RANGE.fullmatch(call.headers.get("range", ""))
    if asked is None:
        return Response(200, content, headers, body["contentType"])
    part = content[int(asked[1]) : int(asked[2]) + 1 if asked[2] else None]
    if not part:
        raise ApiError(416, "The requested range cannot be satisfied.", reason="requestedRangeNotSatisfiable")
    place = f"bytes {asked[1]}-{int(asked[1]) + len(part) - 1}/{len(content)}"
    return Response(206, part, {**headers, "content-range": place}, body["contentType"])
