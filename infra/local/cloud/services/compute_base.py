"""What all Compute Engine collections share: names, links, operations, reads, and the wording of refusals.

Resources are kept with links relative to the API (`projects/P/global/networks/N`) and shown with the base the client
used, so that an answer in `beta` links to `beta` and a restart on another port leaves no dead link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from infra.local.cloud.clock import timestamp
from infra.local.cloud.errors import ApiError, already_exists, condition_not_met, invalid
from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import places
from infra.local.cloud.services.collection import page
from infra.local.cloud.store import Resource

_NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
_LINK = re.compile(
    r"(?:https?://[^/]+/(?:compute/)?(?:[a-z0-9]+/)?)?(?:projects/([^/]+)/)?((?:global|regions/[^/]+)/.+)"
)
_LINK_FIELDS = frozenset({"network", "region", "zone", "zones", "selfLink", "targetLink", "subnetworks"})
# Realistic seconds of a create, an update and a delete.
CREATE_SECONDS = 11.0
UPDATE_SECONDS = 5.0
DELETE_SECONDS = 9.0


def project_of(call: Call) -> str:
    return call.cloud.project(call.ids["project"]).id


def scope(call: Call) -> str:
    """`projects/P/global`, `projects/P/regions/R` or `projects/P/zones/Z`. Raises 404 for a region or zone unknown."""
    head = f"projects/{project_of(call)}"
    for key, known in (("region", places.REGIONS), ("zone", places.ZONES)):
        if key in call.ids:
            if call.ids[key] not in known:
                raise missing(f"{head}/{key}s/{call.ids[key]}")
            return f"{head}/{key}s/{call.ids[key]}"
    return f"{head}/global"


def missing(name: str) -> ApiError:
    return ApiError(404, f"The resource '{name}' was not found")


def bad_value(field: str, value: object, rule: str) -> ApiError:
    return invalid(f"Invalid value for field 'resource.{field}': '{value}'. {rule}")


def in_use(name: str, user: str) -> ApiError:
    noun = name.split("/")[-2].removesuffix("s")
    return ApiError(
        400, f"The {noun} resource '{name}' is already being used by '{user}'", reason="resourceInUseByAnotherResource"
    )


def new_name(call: Call, collection: str) -> str:
    """The full name a body asks for. Raises 400 for a malformed name, 409 for a taken one."""
    name = call.body.get("name", "")
    if not _NAME.fullmatch(name):
        raise bad_value("name", name, f"Must be a match of regex '{_NAME.pattern}'")
    return f"{scope(call)}/{collection}/{name}"


def relative(call: Call, link: str, *, field: str) -> str:
    """A link of any form clients send, relative to the API; a partial one is of the call's project. Raises 400."""
    hit = _LINK.fullmatch(link)
    if hit is None:
        raise bad_value(field, link, "The URL is malformed.")
    return f"projects/{call.cloud.project(hit[1] or call.ids['project']).id}/{hit[2]}"


def find(call: Call, kind: str, name: str) -> Resource:
    held = call.cloud.store.find(kind, name)
    if held is None:
        raise missing(name)
    return held


def ready(call: Call, held: Resource) -> None:
    """Raises 400 resourceNotReady while the operation that creates a resource has not ended."""
    if call.cloud.now < held.created + call.cloud.compressed(CREATE_SECONDS):
        raise ApiError(400, f"The resource '{held.name}' is not ready", reason="resourceNotReady")


def insert(call: Call, kind: str, name: str, body: JsonObject) -> JsonObject:
    """Store a new resource and answer its operation."""
    if call.cloud.store.find(kind, name):
        raise ApiError(409, f"The resource '{name}' already exists", reason=already_exists(name).reason)
    held = call.cloud.store.insert(kind, name, without_empty(body), now=call.cloud.now)
    return operation(call, "insert", held, CREATE_SECONDS)


def replace(call: Call, held: Resource, body: JsonObject, verb: str = "patch") -> JsonObject:
    changed = call.cloud.store.replace(held, without_empty(body), now=call.cloud.now)
    return operation(call, verb, changed, UPDATE_SECONDS)


def delete(call: Call, held: Resource) -> JsonObject:
    call.cloud.store.delete(held.kind, held.name)
    return operation(call, "delete", held, DELETE_SECONDS)


def without_empty(body: JsonObject) -> JsonObject:
    """Empty text and empty lists are dropped; false and 0 are kept, since Compute Engine shows them."""
    return {key: value for key, value in body.items() if value not in ("", [])}


def patched(held: Resource, sent: JsonObject, mutable: Iterable[str]) -> JsonObject:
    """The body with the mutable fields that were sent. Raises 400 for another field with another value."""
    body = dict(held.body)
    for field, value in sent.items():
        if field in mutable:
            body[field] = value
        elif field in body and body[field] != value and field not in _LINK_FIELDS:
            raise bad_value(field, value, "The field cannot be changed.")
    return body


def check_fingerprint(held: Resource, sent: JsonObject) -> None:
    """Raises 412 for a fingerprint that is not the current one; none is taken as consent."""
    if sent.get("fingerprint") and sent["fingerprint"] != held.etag:
        raise condition_not_met(f"Invalid fingerprint: the current one of '{held.name}' is {held.etag}.")


def operation(call: Call, verb: str, held: Resource, seconds: float) -> JsonObject:
    """Begin an operation in the scope of the call and answer it."""
    cloud, where = call.cloud, scope(call)
    identity = cloud.operations.new_id()
    began, ended = timestamp(cloud.now), timestamp(cloud.now + cloud.compressed(seconds))
    body: JsonObject = {
        "kind": "compute#operation",
        "id": str(cloud.store.next_number("compute.operation") + 10**18),
        "name": identity,
        "operationType": verb,
        "targetLink": held.name,
        "targetId": str(held.uid),
        "user": "owner@tidepool.invalid",
        "insertTime": began,
        "startTime": began,
        "selfLink": f"{where}/operations/{identity}",
    }
    if not where.endswith("/global"):
        body["region" if "/regions/" in where else "zone"] = where
    answer = cloud.operations.begin(
        f"compute/{where}/operations/{identity}",
        seconds=seconds,
        pending={**body, "status": "RUNNING", "progress": 0},
        finished={**body, "status": "DONE", "progress": 100, "endTime": ended},
    )
    return linked(call, answer)


def linked(call: Call, body: JsonObject) -> JsonObject:
    """The body with its relative links made absolute."""
    return {key: _linked(call, key, value) for key, value in body.items()}


def _linked(call: Call, key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return linked(call, value)
    if isinstance(value, list):
        return [_linked(call, key, item) for item in value]
    # A NAT names its subnetworks by a link in `name`.
    if isinstance(value, str) and value.startswith("projects/") and (key in _LINK_FIELDS or key == "name"):
        return call.base + value
    return value


def shown(call: Call, held: Resource, kind: str) -> JsonObject:
    """A resource as it is answered. kind: `compute#network`."""
    common = {"kind": kind, "id": str(held.uid), "creationTimestamp": timestamp(held.created), "selfLink": held.name}
    where = held.name.rpartition("/")[0].rpartition("/")[0]
    if "/regions/" in where:
        common["region"] = where
    return linked(call, {**common, **held.body})


def serve_reads(
    collection: str,
    kind: str,
    variable: str,
    show: Callable[[Call, Resource], JsonObject],
    prepare: Callable[[Call], None] = lambda _: None,
) -> None:
    """Register get and list of a collection (`networks`) whose id stands in a path variable (`network`).

    prepare: what must have happened before the first read of a project.
    """

    @handles(f"compute.{collection}.get")
    def get_one(call: Call) -> JsonObject:
        prepare(call)
        return show(call, find(call, kind, f"{scope(call)}/{collection}/{call.ids[variable]}"))

    @handles(f"compute.{collection}.list")
    def get_all(call: Call) -> JsonObject:
        prepare(call)
        prefix = f"{scope(call)}/{collection}/"
        items = [show(call, held) for held in call.cloud.store.each(kind, prefix)]
        return listed(call, f"compute#{variable}List", prefix, items)


def listed(call: Call, kind: str, prefix: str, items: Iterable[JsonObject]) -> JsonObject:
    """A list answer of Compute Engine."""
    head: JsonObject = {"kind": kind, "id": prefix.rstrip("/"), "selfLink": call.base + prefix.rstrip("/")}
    return {**head, **page(call, "items", items)}
