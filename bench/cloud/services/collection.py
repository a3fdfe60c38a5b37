"""Collections of resources, as services declare them: what one says of itself is all that its methods need.

Owns create, get, list, patch and delete of whatever is kept by a full name: where a call's resource is, the form of an
id, etags, update masks, pages, operations, policies, and the order of the checks. A client may say and change whatever
the message has. A service says what differs, and overrides a step where Google's service does something of its own.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject, aborted, already_exists, invalid, not_found
from bench.cloud.services import bodies, policies
from bench.cloud.services.listings import page
from bench.cloud.store import Resource


def numbered(cloud: Cloud, name: str) -> str:
    """A full name with the project's number in place of its id."""
    head, project, rest = name.split("/", 2)
    return f"{head}/{cloud.project(project).number}/{rest}"


_ID = re.compile(r"[\w.@-]+")


class Collection:
    """One collection of an API. Making it registers its methods.

    api: discovery prefix of its methods, by which its resources are named: those of `run.projects.locations.jobs` are
        `projects/P/locations/L/jobs/J`.
    kind: of its rows in the store. methods: those that it has.
    above: the collection whose resource must be there. locations: those in which it is; None for any.
    new_id: query parameter with the id of what is created.
    inside: method -> the field of its body that has the resource, where that is not the body itself.
    mask: what an update without a mask changes: whatever was `sent`, or the `whole` resource.
    key: the field of a list's answer that has the items. identity: a field in which no two items are alike.
    adds: what the service shows of its own: `createTime`, `updateTime`, `etag`.
    seconds: realistic durations of the methods that begin an operation. message: type of what these answer.
    labelled: the field that has labels. has_policy: whether it has the three methods of IAM.
    by_number: names are answered with the project's number.
    """

    api: str
    kind: str
    methods: str = "create get list patch delete"
    above: Collection | None = None
    locations: Container[str] | None = None
    new_id: str = ""
    inside: Mapping[str, str] = MappingProxyType({})
    mask: Literal["sent", "whole"] = "sent"
    key: str = ""
    identity: str = "name"
    adds: tuple[str, ...] = ()
    seconds: Mapping[str, float] = MappingProxyType({})
    message: str = ""
    labelled: str = "labels"
    has_policy: bool = False
    by_number: bool = False

    def __init__(self) -> None:
        *_, self.collection = self.api.split(".")
        for method in self.methods.split():
            handles(f"{self.api}.{method}")(getattr(self, method))
        if self.has_policy:
            policies.serve(self.api, lambda call: ((held := self.found(call)).name, held.name.split("/")[1]))

    # Methods

    def create(self, call: ApiCall) -> JsonObject:
        cloud, name = call.cloud, self.new_name(call)
        if self.find(cloud, name):
            raise already_exists(self.public(cloud, name))
        body = self.kept(self.sent(call))
        bodies.check_labels(body.get(self.labelled, {}))
        return self.answer(call, "create", self.made(cloud, name, self.checked(cloud, name, body)))

    def get(self, call: ApiCall) -> JsonObject:
        return self.shown(call.cloud, self.found(call))

    def list(self, call: ApiCall) -> JsonObject:
        shown = [self.shown(call.cloud, held) for held in self.listed(call)]
        return page(call, self.key or self.collection, shown, identity=self.identity)

    def patch(self, call: ApiCall) -> JsonObject:
        held = self.found(call)
        self.check_etag(call, held)
        body = self.merged(call, held)
        bodies.check_labels(body.get(self.labelled, {}))
        body = self.checked(call.cloud, held.name, body)
        return self.answer(call, "patch", call.cloud.store.replace(held, body, now=call.cloud.now))

    def delete(self, call: ApiCall) -> JsonObject:
        held = self.found(call)
        self.check_etag(call, held)
        self.clear(call, held)
        call.cloud.store.delete(self.kind, held.name)
        policies.forget(call.cloud, held.name)
        return self.answer(call, "delete", held)

    # Where things are

    def parent(self, call: ApiCall) -> str:
        """What a call's resource stands below, with the project's id. Raises 404."""
        if self.above is not None:
            return self.above.found(call).name
        project = f"projects/{call.cloud.project(call.ids['projectsId']).id}"
        return f"{project}/{self.location(call.ids['locationsId'])}" if "locationsId" in call.ids else project

    def location(self, asked: str) -> str:
        """Raises 404 for one that the service is not in."""
        if self.locations is not None and asked not in self.locations:
            raise not_found(f"locations/{asked}")
        return f"locations/{asked}"

    def prefix(self, call: ApiCall) -> str:
        return f"{self.parent(call)}/{self.collection}/"

    def asked_id(self, call: ApiCall) -> str:
        """The id of what is to be created."""
        return call.params.get(self.new_id, "") if self.new_id else self.id_of(call)

    def id_of(self, call: ApiCall) -> str:
        return call.ids[f"{self.collection}Id"]

    def new_name(self, call: ApiCall) -> str:
        """Of what is to be created. Raises 400 for an id that cannot be one."""
        if not _ID.fullmatch(identity := self.asked_id(call)):
            raise invalid(f"Invalid id '{identity}' in [{self.collection}].")
        return self.prefix(call) + identity

    def find(self, cloud: Cloud, name: str) -> Resource | None:
        return cloud.store.find(self.kind, name)

    def named(self, cloud: Cloud, name: str) -> Resource:
        """Raises 404."""
        held = self.find(cloud, name)
        if held is None:
            raise self.missing(cloud, name)
        return held

    def found(self, call: ApiCall) -> Resource:
        """The resource that a call names. Raises 404."""
        return self.named(call.cloud, self.prefix(call) + self.id_of(call))

    def listed(self, call: ApiCall) -> Iterable[Resource]:
        return list(call.cloud.store.each(self.kind, self.prefix(call)))

    # What is said, kept and answered

    def sent(self, call: ApiCall) -> JsonObject:
        """The resource in a call's body."""
        field = self.inside.get(call.method.rpartition(".")[2])
        return call.body.get(field) or {} if field else call.body

    def kept(self, sent: JsonObject) -> JsonObject:
        """What of a body is kept, without what is unset."""
        return bodies.without_unset({key: value for key, value in sent.items() if key not in ("name", "etag")})

    def merged(self, call: ApiCall, held: Resource) -> JsonObject:
        """The resource as an update makes it."""
        mask = call.params.get("updateMask") or call.body.get("updateMask") or ("*" if self.mask == "whole" else None)
        return bodies.masked(held.body, self.kept(self.sent(call)), mask)

    def checked(self, cloud: Cloud, name: str, body: JsonObject) -> JsonObject:
        """The body as it is kept, of a resource of this name. Raises what the service refuses."""
        return body

    def check_etag(self, call: ApiCall, held: Resource) -> None:
        """Raises 409 for one that is not the current one; none is taken as consent."""
        sent = call.params.get("etag") or self.sent(call).get("etag")
        if sent and sent.strip('"') != held.etag:
            name = self.public(call.cloud, held.name)
            raise aborted(f"There were concurrent changes: '{name}' has the etag '{held.etag}', not '{sent}'.")

    def made(self, cloud: Cloud, name: str, body: JsonObject) -> Resource:
        return cloud.store.insert(self.kind, name, body, now=cloud.now)

    def clear(self, call: ApiCall, held: Resource) -> None:
        """Take away what goes with a resource that is deleted. Raises where something keeps it."""

    def shown(self, cloud: Cloud, held: Resource) -> JsonObject:
        """A resource as the service shows it."""
        own = {"createTime": timestamp(held.created), "updateTime": timestamp(held.updated), "etag": held.etag}
        return {**held.body, "name": self.public(cloud, held.name), **{key: own[key] for key in self.adds}}

    def answer(self, call: ApiCall, method: str, held: Resource) -> JsonObject:
        """Of a method that changes something: the resource or nothing, or the operation that ends with it."""
        if method in self.seconds:
            return self.operation(call, method, held.name, self.response(call.cloud, method, held))
        return {} if method == "delete" else self.shown(call.cloud, held)

    def response(self, cloud: Cloud, method: str, held: Resource) -> JsonObject | None:
        """What the operation of a method ends with; None for nothing."""
        return None if method == "delete" else {"@type": self.message, **self.shown(cloud, held)}

    def operation(self, call: ApiCall, method: str, name: str, response: JsonObject | None) -> JsonObject:
        place = "/".join(name.split("/")[:4])
        metadata = self.metadata(method, name)
        return call.cloud.operations.lro(place, seconds=self.seconds[method], metadata=metadata, response=response)

    def metadata(self, method: str, name: str) -> JsonObject | None:
        """Of the operation of a method on a resource of this name, with its `@type`."""

    def missing(self, cloud: Cloud, name: str) -> ApiError:
        return not_found(self.public(cloud, name))

    def public(self, cloud: Cloud, name: str) -> str:
        """A full name as the service says it."""
        return numbered(cloud, name) if self.by_number else name
