"""What all Compute Engine collections share: names, links, operations, and that what is in use stays.

Resources are kept with links relative to the API (`projects/P/global/networks/N`) and shown with the base the client
used, so that an answer in `beta` links to `beta` and a restart on another port leaves no dead link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject, condition_not_met, not_found
from bench.cloud.services import places
from bench.cloud.services.collection import Collection
from bench.cloud.services.listings import page
from bench.cloud.store import Resource

_LINK_FIELDS = frozenset(
    {"instanceGroup", "name", "network", "region", "zone", "zones", "selfLink", "selfLinkWithId", "targetLink",
     "subnetworks"}
)  # fmt: skip
_OPERATIONS = ("globalOperations", "regionOperations")


class OfCompute(Collection):
    """A collection of Compute Engine: its ids stand in the bodies, and whatever changes it begins an operation.

    defaults: what nobody has to say.
    """

    methods = "insert get list patch delete"
    seconds = MappingProxyType({"insert": 11.0, "delete": 9.0})
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
        return {**held.body, **call.body, "name": held.body["name"]}

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """Empty text and empty lists are dropped; false and 0 are kept, since Compute Engine shows them."""
        return {key: value for key, value in body.items() if value not in ("", []) and key != "fingerprint"}

    def check_etag(self, call: ApiCall, held: Resource) -> None:
        """Raises 412 for a fingerprint that is not the current one; none is taken as consent."""
        if call.body.get("fingerprint", held.etag) != held.etag:
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
        identity = cloud.operations.new_id()
        body: JsonObject = {
            "kind": "compute#operation",
            "name": identity,
            "operationType": verb,
            "targetLink": held.name,
            "selfLink": f"{where}/operations/{identity}",
            **({} if where.endswith("/global") else {"region": where}),
        }
        begun = cloud.operations.begin(
            f"compute/{where}/operations/{identity}",
            seconds=self.seconds.get(verb, 5.0),
            pending={**body, "status": "RUNNING"},
            finished={**body, "status": "DONE"},
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
        if place := call.ids.get(key):
            if place not in known:
                raise not_found(f"{head}/{key}s/{place}")
            return f"{head}/{key}s/{place}"
    return f"{head}/global"


def check_unused(cloud: Cloud, held: Resource, kinds: Iterable[str]) -> None:
    """Raises 400 for what a resource of these kinds and of the same project names."""
    for user in (each for kind in kinds for each in cloud.store.each(kind, held.name[: held.name.index("/", 9) + 1])):
        if f"{held.name}'" in repr(user.body):
            text = f"The resource '{held.name}' is already being used by '{user.name}'"
            raise ApiError(400, text, reason="resourceInUseByAnotherResource")


def relative(name: str, link: str) -> str:
    """A link of any form clients send, relative to the API; a partial one is of the project of `name`."""
    _, projects, rest = link.rpartition("projects/")
    return projects + rest if projects else f"projects/{name.split('/')[1]}/{rest}"


def linked(call: ApiCall, body: JsonObject) -> JsonObject:
    """The body with its relative links made absolute. A NAT names its subnetworks by a link in `name`."""
    return absolute(body, dict.fromkeys(_LINK_FIELDS, call.base))


def absolute(value: Any, bases: Mapping[str, str], base: str = "") -> Any:
    """A body in whose fields of these names relative links become absolute. bases: what each then begins with."""
    if isinstance(value, dict):
        return {key: absolute(inner, bases, bases.get(key, "")) for key, inner in value.items()}
    if isinstance(value, list):
        return [absolute(item, bases, base) for item in value]
    return base + value if base and isinstance(value, str) and value.startswith("projects/") else value


def listed(call: ApiCall, kind: str, prefix: str, items: Iterable[JsonObject]) -> JsonObject:
    """A list answer of Compute Engine."""
    head: JsonObject = {"kind": kind, "id": prefix.rstrip("/"), "selfLink": call.base + prefix.rstrip("/")}
    return {**head, **page(call, "items", items)}
