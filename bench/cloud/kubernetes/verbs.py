"""What a cluster answers to a request for objects: get, list, create, update, patch, apply and delete.

Owns the order of a write (read, merge, admit, own, store). Leaves paths and dry runs to `api`, and watches, which
answer more than once, to `watching`. Objects end at once: a namespace with all that is in it, a definition with its
objects. Nothing waits for a finalizer or goes with its owner, since those are the work of controllers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench.cloud.clock import whole_seconds
from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import admission, clusters, kinds, ownership
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.ownership import Manager
from bench.cloud.kubernetes.schemas import ANY, merged
from bench.cloud.kubernetes.status import StatusError, bad_request, conflict, missing
from bench.cloud.wire import HttpRequest

APPLY: Final = "application/apply-patch+yaml"
_SELECTOR: Final = re.compile(r"\s*([^\s=!,()]+)\s*(?:(==?|!=)\s*([^\s,()]*)\s*)?")


@dataclass(frozen=True, slots=True)
class KubernetesCall:
    """One request for objects of a kind. subresource: `log`, or empty. query: what follows the path."""

    cloud: Cloud
    keyspace: Keyspace
    kind: Kind
    namespace: str
    name: str
    subresource: str
    query: Mapping[str, str]
    request: HttpRequest

    @property
    def content_type(self) -> str:
        return self.request.headers.get("content-type", "").partition(";")[0]

    def number(self, name: str) -> int:
        """A number of the query, 0 where it is not said."""
        return int(self.query.get(name) or 0)

    def manager(self, operation: str) -> Manager:
        agent = self.request.headers.get("user-agent", "unknown").partition("/")[0]
        return (self.query.get("fieldManager") or agent, operation, self.kind.api_version)

    def body(self) -> Any:
        """Raises 400 for what is no JSON."""
        try:
            return json.loads(self.request.data or b"null")
        except ValueError as error:
            raise bad_request(f"the object provided is no JSON, which is served here: {error}") from error

    def admitted(self, entity: Any) -> JsonObject:
        """What a client sent, as an object of the kind and name. Raises 400."""
        found = admission.read(self.kind, entity, strict=self.query.get("fieldValidation") == "Strict")
        if self.name and found["metadata"].setdefault("name", self.name) != self.name:
            said = found["metadata"]["name"]
            raise bad_request(f"the name of the object ({said}) does not match the name on the URL ({self.name})")
        return found

    def live(self) -> JsonObject:
        """Raises 404."""
        found = self.keyspace.find(self.kind, self.namespace, self.name)
        if found is None:
            raise missing(self.kind.resource, self.name)
        return found


def listed(call: KubernetesCall) -> JsonObject:
    """Those that the selectors choose, all at once whatever `limit` asks for."""
    kind, metadata = call.kind, {"resourceVersion": str(call.keyspace.revision)}
    items = list(chosen(call))
    return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata, "items": items}


def chosen(call: KubernetesCall) -> Iterator[JsonObject]:
    """Every object of the kind and namespace that the selectors of the request fit."""
    return filter(fitting(call.query), call.keyspace.each(call.kind, call.namespace))


def fitting(query: Mapping[str, str]) -> Callable[[JsonObject], bool]:
    """Whether an object has the labels and fields of the selectors, of which equality is served. Raises 400."""
    labels, values = _requirements(query.get("labelSelector", "")), _requirements(query.get("fieldSelector", ""))

    def fits(entity: JsonObject) -> bool:
        had = entity["metadata"].get("labels") or {}
        return all((had.get(key) == value) == equal for key, equal, value in labels) and all(
            (str(admission.value_at(entity, path) or "") == value) == equal for path, equal, value in values
        )

    return fits


def _requirements(selector: str) -> list[tuple[str, bool, str | None]]:
    """What is to be had, whether it or anything else is, and its value: any but None for a KEY alone."""
    found = []
    for part in filter(None, selector.split(",")):
        match = _SELECTOR.fullmatch(part)
        if match is None:
            raise bad_request(f"invalid selector: {part!r}. KEY, KEY=VALUE and KEY!=VALUE are served here")
        found.append((match[1], match[2] in ("=", "=="), match[3]))
    return found


def create(call: KubernetesCall) -> JsonObject:
    """Raises 400, 404, 409 and 422."""
    return _made(call, call.admitted(call.body()), call.manager("Update"))


def _made(call: KubernetesCall, entity: JsonObject, manager: Manager) -> JsonObject:
    kind, namespaces = call.kind, kinds.of_kind("Namespace")
    if kind.namespaced and call.keyspace.find(namespaces, "", call.namespace) is None:
        raise missing(namespaces.resource, call.namespace)
    made = admission.born(kind, entity, namespace=call.namespace, now=whole_seconds(call.cloud.now))
    name = made["metadata"]["name"]
    if call.keyspace.find(kind, call.namespace, name):
        raise StatusError(409, f'{kind.resource} "{name}" already exists', reason="AlreadyExists")
    return call.keyspace.put(kind, ownership.made(kind.schema, made, entity, manager), None)


def update(call: KubernetesCall) -> JsonObject:
    """Raises 400, 404, 409 and 422."""
    return _replaced(call, call.live(), call.body())


def _replaced(call: KubernetesCall, live: JsonObject, entity: JsonObject) -> JsonObject:
    new = admission.changed(call.kind, live, call.admitted(entity))
    return _written(call, live, ownership.updated(call.kind.schema, live, new, call.manager("Update")))


def _written(call: KubernetesCall, live: JsonObject, new: JsonObject) -> JsonObject:
    """What changes nothing writes nothing."""
    return live if new == live else call.keyspace.put(call.kind, new, live)


def patch(call: KubernetesCall) -> JsonObject:
    """Raises 400, 404, 409, 415 and 422."""
    if call.content_type == APPLY:
        return _applied(call)
    merging = {"application/merge-patch+json": ANY, "application/strategic-merge-patch+json": call.kind.schema}
    if call.content_type not in merging:
        raise StatusError(415, f"a patch is one of {', '.join((*merging, APPLY))}")
    live = call.live()
    return _replaced(call, live, merged(merging[call.content_type], live, call.body()))


def _applied(call: KubernetesCall) -> JsonObject:
    """Server-side apply, which makes what is not there."""
    kind, config, manager = call.kind, call.admitted(call.body()), call.manager("Apply")
    live = call.keyspace.find(kind, call.namespace, call.name)
    if live is None:
        return _made(call, config, manager)
    new = ownership.applied(kind.schema, live, config, manager, force=call.query.get("force") == "true")
    return _written(call, live, admission.changed(kind, live, new))


def delete(call: KubernetesCall) -> JsonObject:
    """Raises 404 and 409."""
    live, keyspace = call.live(), call.keyspace
    uid, due = live["metadata"]["uid"], (call.body() or {}).get("preconditions", {}).get("uid")
    if due not in (None, uid):
        raise conflict(call.kind.resource, call.name, f"Precondition failed: UID {due} is not {uid}")
    for kind, entity in list(_inside(keyspace, call.kind, live)):
        keyspace.remove(kind, entity)
    keyspace.remove(call.kind, live)
    if admission.shown_when_deleted(call.kind):
        return live
    details = {"group": call.kind.group, "kind": call.kind.plural, "name": call.name, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _inside(keyspace: Keyspace, kind: Kind, entity: JsonObject) -> Iterator[tuple[Kind, JsonObject]]:
    """What goes with a namespace, or with a definition; of a kind with several versions in one."""
    served = keyspace.kinds() if kind.kind == "Namespace" else ()
    of = kinds.of_definition(entity) if kind.kind == kinds.DEFINITIONS else (e for e in served if e.namespaced)
    namespace = entity["metadata"]["name"] if kind.kind == "Namespace" else ""
    for each in {each.resource: each for each in of}.values():
        yield from ((each, inner) for inner in keyspace.each(each, namespace))


def log(call: KubernetesCall) -> bytes:
    """The lines that people let a pod print. Raises 404."""
    call.live()
    lines = clusters.printed(call.cloud, call.keyspace.cluster, call.namespace, call.name).splitlines(keepends=True)
    return "".join(lines[-call.number("tailLines") :]).encode()
