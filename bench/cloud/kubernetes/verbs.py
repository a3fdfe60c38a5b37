"""What a cluster answers to a request for objects: get, list, create, update, patch, apply and delete.

Owns the order of a write (read, merge, admit, own, store) and dry runs, which do all of it and keep nothing. Leaves
paths to `api`, how an object ends to `lifecycle`, and watches, which answer more than once, to `watching`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import yaml

from bench.cloud.clock import whole_seconds
from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes import admission, clusters, kinds, lifecycle, ownership, patches
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.ownership import Manager
from bench.cloud.kubernetes.shapes import ANY
from bench.cloud.kubernetes.status import StatusError, bad_request
from infra.model.facts import read_yaml

APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
_EQUAL: Final = re.compile(r"\s*([^\s=!,()]+)\s*(?:(==|=|!=)\s*([^\s,()]*)\s*)?")


@dataclass(frozen=True, slots=True)
class KubernetesCall:
    """One request for objects of a kind.

    subresource: `log`, or empty. query: what follows the path. agent: how the client calls itself.
    """

    cloud: Cloud
    keyspace: Keyspace
    kind: Kind
    namespace: str
    name: str
    subresource: str
    query: Mapping[str, str]
    data: bytes
    content_type: str
    agent: str

    @property
    def now(self) -> str:
        return whole_seconds(self.cloud.now)

    def number(self, name: str) -> int | None:
        """A number of the query, None where it is not said."""
        said = self.query.get(name)
        return int(said) if said else None

    def manager(self, operation: Literal["Apply", "Update"]) -> Manager:
        name = self.query.get("fieldManager") or self.agent.partition("/")[0] or "unknown"
        return Manager(name[:128], operation, self.kind.api_version)

    def body(self) -> Any:
        """Raises 400 for what is neither JSON nor YAML."""
        try:
            if "yaml" in self.content_type:
                return read_yaml(self.data)
            return json.loads(self.data) if self.data else None
        except (ValueError, yaml.YAMLError) as error:
            raise bad_request(f"the object provided is unrecognized: {error}") from error

    def admitted(self, entity: Any) -> JsonObject:
        strict = self.query.get("fieldValidation") == "Strict"
        found = admission.read(self.kind, entity, strict=strict, applied=self.content_type == APPLY)
        if self.name and found["metadata"].setdefault("name", self.name) != self.name:
            said = found["metadata"]["name"]
            raise bad_request(f"the name of the object ({said}) does not match the name on the URL ({self.name})")
        return found

    def live(self) -> JsonObject:
        """Raises 404."""
        found = self.keyspace.find(self.kind, self.namespace, self.name)
        if found is None:
            raise missing(self.kind, self.name)
        return found


def missing(kind: Kind, name: str) -> StatusError:
    return StatusError(404, f'{kind.resource} "{name}" not found', about=kind.about(name))


def seen(call: KubernetesCall, entity: JsonObject) -> JsonObject:
    """An object in the version that was asked for."""
    return {**entity, "apiVersion": call.kind.api_version}


def get(call: KubernetesCall) -> JsonObject:
    return seen(call, call.live())


def listed(call: KubernetesCall) -> JsonObject:
    """Those that the selectors choose, all at once whatever `limit` asks for."""
    kind, metadata = call.kind, {"resourceVersion": str(call.keyspace.revision)}
    items = list(chosen(call))
    return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata, "items": items}


def chosen(call: KubernetesCall) -> Iterator[JsonObject]:
    """Every object of the kind and namespace that the selectors of the request fit."""
    fits = fitting(call.query)
    return (seen(call, each) for each in call.keyspace.each(call.kind, call.namespace) if fits(each))


def fitting(query: Mapping[str, str]) -> Callable[[JsonObject], bool]:
    """Whether an object has the labels and fields of the selectors, of which equality is served. Raises 400."""
    labels = _requirements(query.get("labelSelector", ""), alone=True)
    values = _requirements(query.get("fieldSelector", ""))

    def fits(entity: JsonObject) -> bool:
        had = entity["metadata"].get("labels") or {}
        return all((had.get(key) == value) == equal for key, equal, value in labels) and all(
            (str(admission.value_at(entity, path) or "") == value) == equal for path, equal, value in values
        )

    return fits


def _requirements(selector: str, *, alone: bool = False) -> list[tuple[str, bool, str | None]]:
    """What is to be had, whether it or anything else is, and its value: any but None for a KEY alone, of labels."""
    found = []
    for part in filter(None, selector.split(",")):
        match = _EQUAL.fullmatch(part)
        if match is None or (match[3] is None and not alone):
            raise bad_request(f"invalid selector: {part!r}. KEY, KEY=VALUE and KEY!=VALUE are served here")
        found.append((match[1], match[2] in ("=", "=="), match[3]))
    return found


def create(call: KubernetesCall) -> JsonObject:
    """Raises 400, 403, 404, 409 and 422."""
    return _made(call, call.admitted(call.body()), call.manager("Update"))


def _made(call: KubernetesCall, entity: JsonObject, manager: Manager) -> JsonObject:
    kind, namespace = call.kind, call.namespace
    if kind.namespaced and call.keyspace.find(kinds.of_kind("Namespace"), "", namespace) is None:
        raise missing(kinds.of_kind("Namespace"), namespace)
    made = admission.born(kind, entity, namespace=namespace, now=call.now)
    name, empty = made["metadata"]["name"], {"metadata": {}}
    if call.keyspace.find(kind, namespace if kind.namespaced else "", name):
        said = f'{kind.resource} "{name}" already exists'
        raise StatusError(409, said, reason="AlreadyExists", about=kind.about(name))
    if manager.operation == "Apply":
        owned = ownership.applied(kind.shape, empty, entity, manager, force=True, now=call.now)
    else:
        owned = ownership.updated(kind.shape, empty, made, manager, now=call.now)
    made["metadata"]["managedFields"] = owned["metadata"].get("managedFields", [])
    if kind.kind == kinds.DEFINITIONS:
        made = lifecycle.established(made, call.now)
    return seen(call, call.keyspace.put(kind, made, None))


def update(call: KubernetesCall) -> JsonObject:
    """Raises 400, 404, 409 and 422."""
    return _replaced(call, call.live(), call.body())


def _replaced(call: KubernetesCall, live: JsonObject, entity: JsonObject) -> JsonObject:
    new = admission.changed(call.kind, live, call.admitted(entity))
    new = ownership.updated(call.kind.shape, live, new, call.manager("Update"), now=call.now)
    return _written(call, live, new)


def _written(call: KubernetesCall, live: JsonObject, new: JsonObject) -> JsonObject:
    """What changes nothing writes nothing."""
    kind = call.kind
    if kind.kind == kinds.DEFINITIONS:
        new = {**lifecycle.established(new, call.now), "status": live["status"]}
    if {**new, "apiVersion": ""} == {**live, "apiVersion": ""}:
        return seen(call, live)
    return seen(call, call.keyspace.put(kind, new, live))


def patch(call: KubernetesCall) -> JsonObject:
    """Raises 400, 404, 409, 415 and 422."""
    if call.content_type == APPLY:
        return _applied(call)
    shapes = {MERGE: ANY} | ({} if call.kind.schema else {STRATEGIC: call.kind.shape})
    if call.content_type not in shapes:
        raise StatusError(415, f"a patch is one of {', '.join((*shapes, APPLY))}")
    live = call.live()
    return _replaced(call, live, patches.strategic(shapes[call.content_type], seen(call, live), call.body()))


def _applied(call: KubernetesCall) -> JsonObject:
    """Server-side apply, which makes what is not there."""
    kind, config = call.kind, call.admitted(call.body())
    if kind.namespaced:
        config["metadata"]["namespace"] = call.namespace
    if kind.status:
        config.pop("status", None)
    live = call.keyspace.find(kind, call.namespace, call.name)
    if live is None:
        return _made(call, config, call.manager("Apply"))
    if kind.kind == "Secret":
        config = admission.encoded(config)
    force = call.query.get("force") == "true"
    new = ownership.applied(kind.shape, live, config, call.manager("Apply"), force=force, now=call.now)
    changed = admission.changed(kind, live, new)
    changed["metadata"]["managedFields"] = new["metadata"].get("managedFields", [])
    return _written(call, live, changed)


def delete(call: KubernetesCall) -> JsonObject:
    """Raises 404 and 409."""
    live, options = call.live(), call.body() or {}
    uid, due = live["metadata"]["uid"], (options.get("preconditions") or {}).get("uid")
    if due not in (None, uid):
        said = f"Precondition failed: UID in precondition: {due}, UID in object meta: {uid}"
        raise admission.not_fulfilled(call.kind, call.name, said)
    gone = lifecycle.delete(call.keyspace, call.kind, live, call.now)
    if call.kind.shown_when_deleted:
        return seen(call, gone)
    details = {**call.kind.about(call.name), "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def log(call: KubernetesCall) -> bytes:
    """The lines that people let a pod print. Raises 404."""
    call.live()
    lines = clusters.printed(call.cloud, call.keyspace.cluster, call.namespace, call.name).splitlines(keepends=True)
    tail = call.number("tailLines")
    return "".join(lines if tail is None else lines[max(len(lines) - tail, 0) :]).encode()
