"""Cloud Storage: generations of objects, and who may write when.

Owns the one rule that everything else rests on: in a bucket a write gets a generation above all earlier ones, and it
happens only when every precondition of its request holds at that moment. A live object is one row; generations that
are kept in a versioned bucket are rows of another kind. Leaves parsing requests and showing objects to
`storage_objects`.
Source: cloud.google.com/storage/docs/request-preconditions and .../docs/object-versioning, read 2026-11.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from bench.cloud.clock import seconds_of, timestamp
from bench.cloud.cloud import Cloud
from bench.cloud.errors import ApiError, JsonObject, condition_not_met, invalid
from bench.cloud.services.bodies import crc32c_base64, md5_base64
from bench.cloud.store import Resource

BUCKET = "storage.bucket"
LIVE, NONCURRENT = "storage.object", "storage.noncurrent"
_LONGEST_NAME = 1024


def bucket(cloud: Cloud, name: str) -> Resource:
    held = cloud.store.find(BUCKET, name)
    if held is None:
        raise ApiError(404, "The specified bucket does not exist.")
    return held


def is_empty(cloud: Cloud, bucket_name: str) -> bool:
    """Noncurrent generations count."""
    return not any(cloud.store.count(kind, f"{bucket_name}/") for kind in (LIVE, NONCURRENT))


def not_met() -> ApiError:
    return condition_not_met("At least one of the pre-conditions you specified did not hold.")


def check(params: Mapping[str, Any], *, generation: int | None, metageneration: int, prefix: str = "if") -> bool:
    """Check preconditions; whether a read is to be answered with 304, since nothing was modified.

    generation: 0 for an object that does not exist, None where the thing has none (a bucket). prefix: `ifSource` for
    the source of a copy. Raises 412 when what must match does not; a write that gets True must raise it too.
    """
    values = {"Generation": generation, "Metageneration": metageneration}
    unmodified = False
    for noun, current in values.items():
        wanted, unwanted = params.get(f"{prefix}{noun}Match"), params.get(f"{prefix}{noun}NotMatch")
        if wanted is not None and current is not None and _number(wanted) != current:
            raise not_met()
        unmodified |= unwanted is not None and current is not None and _number(unwanted) == current
    return unmodified


def check_write(params: Mapping[str, Any], held: Resource | None, *, prefix: str = "if") -> None:
    """As `check`, for a write to (or a delete of) the object found, or of none."""
    generation = held.body["generation"] if held else 0
    metageneration = held.body["metageneration"] if held else 0
    if check(params, generation=generation, metageneration=metageneration, prefix=prefix):
        raise not_met()


def live(cloud: Cloud, bucket_name: str, name: str) -> Resource | None:
    return cloud.store.find(LIVE, f"{bucket_name}/{name}")


def find(cloud: Cloud, bucket_name: str, name: str, generation: str | None = None) -> Resource:
    """The live object, or the generation asked for. Raises 404."""
    bucket(cloud, bucket_name)
    held = live(cloud, bucket_name, name)
    if generation is not None and (held is None or held.body["generation"] != _number(generation)):
        held = cloud.store.find(NONCURRENT, _noncurrent_name(f"{bucket_name}/{name}", _number(generation)))
    if held is None:
        raise ApiError(404, f"No such object: {bucket_name}/{name}")
    return held


def each(cloud: Cloud, bucket_name: str, prefix: str, *, noncurrent: bool) -> Iterator[Resource]:
    """Live objects in the order of their names; then, where asked for, noncurrent ones in no useful order."""
    yield from cloud.store.each(LIVE, f"{bucket_name}/{prefix}")
    if noncurrent:
        yield from cloud.store.each(NONCURRENT, f"{bucket_name}/{prefix}")


def data(cloud: Cloud, held: Resource) -> bytes:
    return cloud.store.data(held.kind, held.name)


def write(
    cloud: Cloud, bucket_name: str, name: str, fields: JsonObject, content: bytes, params: Mapping[str, Any]
) -> Resource:
    """Make a new generation of an object, if the preconditions in `params` hold.

    fields: what the client said of it. Raises 404 for no bucket, 412 for a precondition, 400 for a name or a checksum.
    """
    holder = bucket(cloud, bucket_name)
    if not 0 < len(name.encode()) <= _LONGEST_NAME or "\r" in name or "\n" in name or name in (".", ".."):
        raise invalid("The object name must have 1 to 1024 bytes and no line breaks.", field="name")
    current = live(cloud, bucket_name, name)
    check_write(params, current)
    made: JsonObject = {"md5Hash": md5_base64(content), "crc32c": crc32c_base64(content)}
    for checksum, right in made.items():
        if fields.get(checksum, right) != right:
            raise invalid(f"Provided {checksum} '{fields[checksum]}' does not match the calculated '{right}'.")
    now = timestamp(cloud.now)
    body = {
        "storageClass": holder.body["fields"].get("storageClass", "STANDARD"),
        **fields,
        **made,
        "name": name,
        "bucket": bucket_name,
        "generation": _next_generation(cloud, bucket_name),
        "metageneration": 1,
        "size": str(len(content)),
        "timeCreated": now,
        "updated": now,
        "timeStorageClassUpdated": now,
        "timeFinalized": now,
    }
    if current is not None:
        _retire(cloud, holder, current)
    return cloud.store.insert(LIVE, f"{bucket_name}/{name}", body, now=cloud.now, data=content)


def change(cloud: Cloud, held: Resource, fields: JsonObject) -> Resource:
    """Store other metadata of a generation: its metageneration goes up by one."""
    body = {**fields, "metageneration": held.body["metageneration"] + 1, "updated": timestamp(cloud.now)}
    return cloud.store.replace(held, body, now=cloud.now)


def delete(cloud: Cloud, bucket_name: str, name: str, params: Mapping[str, Any]) -> None:
    """Delete the generation asked for, for good; without one retire the live object. Raises 404, 412."""
    generation = params.get("generation")
    held = find(cloud, bucket_name, name, generation)
    check_write(params, held)
    if generation is None:
        _retire(cloud, bucket(cloud, bucket_name), held)
    else:
        _check_free(cloud, held)
        cloud.store.delete(held.kind, held.name)


def etag(held: Resource) -> str:
    """Changes with generation and metageneration."""
    return base64.b64encode(f"{held.body['generation']}/{held.body['metageneration']}".encode()).decode()


def _retire(cloud: Cloud, holder: Resource, held: Resource) -> None:
    """The live object ends: kept as noncurrent in a versioned bucket, else gone. Raises 403."""
    _check_free(cloud, held)
    if holder.body["fields"].get("versioning", {}).get("enabled"):
        body = {**held.body, "timeDeleted": timestamp(cloud.now)}
        name = _noncurrent_name(held.name, held.body["generation"])
        cloud.store.insert(NONCURRENT, name, body, now=cloud.now, data=data(cloud, held))
    cloud.store.delete(LIVE, held.name)


def _check_free(cloud: Cloud, held: Resource) -> None:
    """Raises 403 for an object that a hold or its own retention keeps."""
    name = f"{held.body['bucket']}/{held.body['name']}"
    for field, word in (("temporaryHold", "Temporary"), ("eventBasedHold", "Event-Based")):
        if held.body.get(field):
            raise ApiError(
                403,
                f"Object '{name}' is under active {word} hold and cannot be deleted, overwritten or archived until "
                "hold is removed.",
            )
    until = held.body.get("retention", {}).get("retainUntilTime")
    if until and seconds_of(until) > cloud.now:
        raise ApiError(403, f"Object '{name}' is subject to object retention until {until} and cannot be deleted.")


def _noncurrent_name(name: str, generation: int) -> str:
    """Unambiguous, also for names with a #: what follows the last one has a fixed length."""
    return f"{name}#{generation:020d}"


def _next_generation(cloud: Cloud, bucket_name: str) -> int:
    """Microseconds of the clock, as in the service, and always above the bucket's last one."""
    key = f"storage.generation/{bucket_name}"
    generation = max(int(cloud.now * 1_000_000), cloud.store.setting(key, 0) + 1)
    cloud.store.set_setting(key, generation)
    return generation


def _number(text: Any) -> int:
    try:
        return int(text)
    except ValueError:
        raise invalid(f"Invalid value '{text}': a generation is a whole number.") from None
