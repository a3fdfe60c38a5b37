"""What all Compute Engine collections share: names, links, operations, and the wording of refusals.

Resources are kept with links relative to the API (`projects/P/global/networks/N`) and shown with the base the client
used, so that an answer in `beta` links to `beta` and a restart on another port leaves no dead link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject, condition_not_met, invalid
from bench.cloud.services import places
from bench.cloud.services.collection import Collection
from bench.cloud.services.listings import page
from bench.cloud.store import Resource

_LINK = re.compile(
    r"(?:https?://[^/]+/(?:compute/)?(?:[a-z0-9]+/)?)?(?:projects/([^/]+)/)?((?:global|regions/[^/]+)/.+)"
)
_LINK_FIELDS = frozenset(
    {"instanceGroup", "network", "region", "zone", "zones", "selfLink", "selfLinkWithId", "targetLink", "subnetworks"}
)
_CREATE_SECONDS = 11.0
_OPERATIONS = ("globalOperations", "regionOperations")


class OfCompute(Collection):
    """A collection of Compute Engine: its ids stand in the bodies, and whatever changes it begins an operation.

    mutable: what a patch may change; all of a new resource is kept. defaults: what nobody has to say.
    """

    methods = "insert get list patch delete"
    id_form = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
    id_rule = "at most 63 lowercase letters, digits and dashes, a letter first, no dash last"
    seconds = MappingProxyType({"insert": _CREATE_SECONDS, "delete": 9.0})
    absent = "The resource '{name}' was not found"
    present = "The resource '{name}' already exists"
    defaults: Mapping[str, Any] = MappingProxyType({})

    noun = ""

    def __init__(self) -> None:
        super().__init__()
        self.noun = self.noun or self.collection.removesuffix("s")

    def insert(self, call: ApiCall) -> JsonObject:
        return self.create(call)

    def get(self, call: ApiCall) -> JsonObject:
        return linked(call, super().get(call))

    def list(self, call: ApiCall) -> JsonObject:
        items = [linked(call, self.shown(call.cloud, held)) for held in self.listed(call)]
        return listed(call, f"compute#{self.noun}List", self.prefix(call), items)

    def parent(self, call: ApiCall) -> str:
        return scope(call)

    def asked_id(self, call: ApiCall) -> str:
        return call.body.get("name", "")

    def id_of(self, call: ApiCall) -> str:
        return call.ids[self.noun] if self.noun in call.ids else call.ids["resource"]

    def kept(self, sent: JsonObject) -> JsonObject:
        return {**self.defaults, **{key: value for key, value in sent.items() if key != "region"}}

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        """The body with the mutable fields that were sent."""
        return {**held.body, **{field: value for field, value in call.body.items() if field in self.mutable}}

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """Empty text and empty lists are dropped; false and 0 are kept, since Compute Engine shows them."""
        return {key: value for key, value in body.items() if value not in ("", []) and key != "fingerprint"}

    def check_etag(self, call: ApiCall, held: Resource) -> None:
        """Raises 412 for a fingerprint that is not the current one; none is taken as consent."""
        sent = call.body.get("fingerprint") or call.body.get("labelFingerprint") or held.etag
        if sent != held.etag:
            raise condition_not_met(f"Invalid fingerprint: the current one of '{held.name}' is {held.etag}.")

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        made = {"id": str(held.uid), "creationTimestamp": timestamp(held.created), "selfLink": held.name}
        where = held.name.rpartition("/")[0].rpartition("/")[0]
        region = {"region": where} if "/regions/" in where else {}
        return {"kind": f"compute#{self.noun}", **made, **region, **held.body}

    def replaced(self, call: ApiCall, changes: JsonObject) -> JsonObject:
        """The operation of a method that sets fields of a resource in its own way."""
        held = self.found(call)
        self.check_etag(call, held)
        changed = call.cloud.store.replace(held, {**held.body, **changes}, now=call.cloud.now)
        return self.answer(call, call.method.rpartition(".")[2], changed)

    def answer(self, call: ApiCall, method: str, held: Resource) -> JsonObject:
        """Begin an operation in the scope of the call and answer it."""
        cloud, where = call.cloud, scope(call)
        verb = call.method.rpartition(".")[2]
        identity, seconds = cloud.operations.new_id(), self.seconds.get(verb, 5.0)
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
            body["region"] = where
        begun = cloud.operations.begin(
            f"compute/{where}/operations/{identity}",
            seconds=seconds,
            pending={**body, "status": "RUNNING", "progress": 0},
            finished={**body, "status": "DONE", "progress": 100, "endTime": ended},
        )
        return linked(call, begun)


@handles(*(f"compute.{collection}.{verb}" for collection in _OPERATIONS for verb in ("get", "wait")))
def get_operation(call: ApiCall) -> JsonObject:
    """`wait` answers at once, as the service may: clients ask again until the status is DONE."""
    return linked(call, call.cloud.operations.get(f"compute/{scope(call)}/operations/{call.ids['operation']}"))


@handles("compute.projects.get")
def get_project(call: ApiCall) -> JsonObject:
    """A new bucket asks for its project by the number alone."""
    project = call.cloud.project(call.ids["project"])
    return {"kind": "compute#project", "id": str(project.number), "name": project.id}


def scope(call: ApiCall) -> str:
    """`projects/P/global`, `projects/P/regions/R` or `projects/P/zones/Z`. Raises 404 for a region or zone unknown."""
    head = f"projects/{call.cloud.project(call.ids['project']).id}"
    for key, known in (("region", places.REGIONS), ("zone", places.ZONES)):
        if key in call.ids:
            if call.ids[key] not in known:
                raise ApiError(404, OfCompute.absent.format(name=f"{head}/{key}s/{call.ids[key]}"))
            return f"{head}/{key}s/{call.ids[key]}"
    return f"{head}/global"


def bad_value(field: str, value: object, rule: str) -> ApiError:
    return invalid(f"Invalid value for field 'resource.{field}': '{value}'. {rule}")


def in_use(name: str, user: str) -> ApiError:
    noun = name.split("/")[-2].removesuffix("s")
    return ApiError(
        400, f"The {noun} resource '{name}' is already being used by '{user}'", reason="resourceInUseByAnotherResource"
    )


def relative(cloud: Cloud, name: str, link: str, *, field: str) -> str:
    """A link of any form clients send, relative to the API; a partial one is of the project of `name`. Raises 400."""
    hit = _LINK.fullmatch(link)
    if hit is None:
        raise bad_value(field, link, "The URL is malformed.")
    return f"projects/{cloud.project(hit[1] or name.split('/')[1]).id}/{hit[2]}"


def ready(cloud: Cloud, held: Resource) -> None:
    """Raises 400 resourceNotReady while the operation that creates a resource has not ended."""
    if cloud.now < held.created + cloud.compressed(_CREATE_SECONDS):
        raise ApiError(400, f"The resource '{held.name}' is not ready", reason="resourceNotReady")


def linked(call: ApiCall, body: JsonObject) -> JsonObject:
    """The body with its relative links made absolute."""
    return {key: _linked(call, key, value) for key, value in body.items()}


def _linked(call: ApiCall, key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return linked(call, value)
    if isinstance(value, list):
        return [_linked(call, key, item) for item in value]
    # A NAT names its subnetworks by a link in `name`.
    if isinstance(value, str) and value.startswith("projects/") and (key in _LINK_FIELDS or key == "name"):
        return call.base + value
    return value


def listed(call: ApiCall, kind: str, prefix: str, items: Iterable[JsonObject]) -> JsonObject:
    """A list answer of Compute Engine."""
    head: JsonObject = {"kind": kind, "id": prefix.rstrip("/"), "selfLink": call.base + prefix.rstrip("/")}
    return {**head, **page(call, "items", items)}
