"""Cloud Storage: objects as the JSON API shows them: write, read, list, rewrite, delete; their generations.

Owns the one rule that everything else rests on: in a bucket a write gets a generation above all earlier ones, and it
happens only when every precondition of its request holds at that moment. A bucket that keeps versions has those that
were replaced or deleted as objects of another kind.
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
from bench.cloud.errors import ApiError, JsonObject, condition_not_met
from bench.cloud.services import bodies
from bench.cloud.services.listings import listing, opened, sealed
from bench.cloud.store import Resource
from bench.cloud.wire import Response

BUCKET, OBJECT, NONCURRENT = "storage.bucket", "storage.object", "storage.noncurrent"
_SAID_BY_CLIENT = frozenset(
    {"contentType", "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "metadata",
     "customTime", "storageClass", "contexts"}
)  # fmt: skip
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_DEFAULT_PAGE = 1000


def bucket(cloud: Cloud, name: str) -> Resource:
    """Raises 404."""
    held = cloud.store.find(BUCKET, name)
    if held is None:
        raise ApiError(404, "The specified bucket does not exist.")
    return held


def is_empty(cloud: Cloud, name: str) -> bool:
    """Noncurrent versions count."""
    return not any(cloud.store.count(kind, f"{name}/") for kind in (OBJECT, NONCURRENT))


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
    content, fields = b"", _said(call.body)
    if call.media is not None:
        content = call.media.data
        fields.setdefault("contentType", call.media.content_type)
    return _shown(call, _write(call, call.ids["bucket"], name, fields, content))


@handles("storage.objects.get")
def get_object(call: ApiCall) -> JsonObject | Response:
    held = _found(call)
    _check(call.params, held)
    return _content(call, held) if call.params.get("alt") == "media" else _shown(call, held)


@handles("storage.objects.list")
def list_objects(call: ApiCall) -> JsonObject:
    """Objects in the order of names and generations, a page at a time; prefixes behind a delimiter share its size."""
    head = f"{bucket(call.cloud, call.ids['bucket']).name}/"
    prefix, delimiter = (call.params.get(key, "") for key in ("prefix", "delimiter"))
    kinds = () if call.params.get("softDeleted") else (OBJECT, NONCURRENT)[: 1 + call.params.get("versions", False)]
    folded: dict[tuple[str, int], JsonObject | None] = {}
    for held in (each for kind in kinds for each in call.cloud.store.each(kind, head + prefix)):
        name = held.body["name"]
        at = name.find(delimiter, len(prefix)) if delimiter else -1
        key = (name, held.body["generation"]) if at < 0 else (name[: at + len(delimiter)], 0)
        folded[key] = _shown(call, held) if at < 0 else None
    before, _, after = opened(call.params.get("pageToken")).partition(" ")
    keys = sorted(key for key in folded if key > (after, int(before or -1)))
    page = keys[: call.params.get("maxResults") or _DEFAULT_PAGE]
    more = sealed(f"{page[-1][1]} {page[-1][0]}") if len(keys) > len(page) else None
    answer = listing("items", [item for key in page if (item := folded[key])], more)
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
    """A version that is asked for goes for good."""
    held = _found(call)
    _check(call.params, held)
    if "generation" in call.params:
        call.cloud.store.delete(held.kind, held.name)
    else:
        _end(call.cloud, held)
    return Response(204)


@handles("storage.objects.rewrite")
def rewrite_object(call: ApiCall) -> JsonObject:
    """Done in its first call, whatever its size. Metadata is the source's unless the request has its own."""
    ids = call.ids
    source = _find(call.cloud, ids["sourceBucket"], ids["sourceObject"], call.params.get("sourceGeneration"))
    _check(call.params, source, prefix="ifSource")
    fields = _said(call.body) or _said(source.body)
    content = call.cloud.store.data(source.kind, source.name)
    made = _write(call, ids["destinationBucket"], ids["destinationObject"], fields, content)
    size = {"totalBytesRewritten": made.body["size"], "objectSize": made.body["size"]}
    return {"kind": "storage#rewriteResponse", **size, "done": True, "resource": _shown(call, made)}


def _said(body: JsonObject) -> JsonObject:
    return {key: value for key, value in body.items() if key in _SAID_BY_CLIENT and value is not None}


def _found(call: ApiCall) -> Resource:
    return _find(call.cloud, call.ids["bucket"], call.ids["object"], call.params.get("generation"))


def _find(cloud: Cloud, bucket_name: str, name: str, generation: str | None) -> Resource:
    """The live object, or the version that is asked for. Raises 404."""
    full = f"{bucket(cloud, bucket_name).name}/{name}"
    held = cloud.store.find(OBJECT, full)
    if generation and (held is None or held.body["generation"] != int(generation)):
        held = cloud.store.find(NONCURRENT, _noncurrent_name(full, int(generation)))
    if held is None:
        raise ApiError(404, f"No such object: {bucket_name}/{name}")
    return held


def _check(params: Mapping[str, Any], held: Resource | None, prefix: str = "if") -> None:
    body = held.body if held else {"generation": 0, "metageneration": 0}
    check(params, generation=body["generation"], metageneration=body["metageneration"], prefix=prefix)


def _write(call: ApiCall, bucket_name: str, name: str, fields: JsonObject, content: bytes) -> Resource:
    """Make a new generation of an object. fields: what the client said of it. Raises 404 and 412."""
    cloud, holder = call.cloud, bucket(call.cloud, bucket_name)
    full = f"{bucket_name}/{name}"
    current = cloud.store.find(OBJECT, full)
    _check(call.params, current)
    now = timestamp(cloud.now)
    body = {
        "storageClass": holder.body["fields"].get("storageClass", "STANDARD"),
        "contentType": "application/octet-stream",
        **fields,
        "md5Hash": bodies.md5_base64(content),
        "crc32c": bodies.crc32c_base64(content),
        "name": name,
        "bucket": bucket_name,
        "generation": _next_generation(cloud, bucket_name),
        "metageneration": 1,
        "size": str(len(content)),
        **dict.fromkeys(("timeCreated", "updated", "timeStorageClassUpdated", "timeFinalized"), now),
    }
    if current is not None:
        _end(cloud, current)
    return cloud.store.insert(OBJECT, full, body, now=cloud.now, data=content)


def _end(cloud: Cloud, held: Resource) -> None:
    """The live object ends: a bucket with versions keeps it as noncurrent."""
    if bucket(cloud, held.body["bucket"]).body["fields"].get("versioning", {}).get("enabled"):
        body, data = {**held.body, "timeDeleted": timestamp(cloud.now)}, cloud.store.data(held.kind, held.name)
        name = _noncurrent_name(held.name, held.body["generation"])
        cloud.store.insert(NONCURRENT, name, body, now=cloud.now, data=data)
    cloud.store.delete(held.kind, held.name)


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
