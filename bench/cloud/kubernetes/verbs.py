"""What a cluster answers to a request for objects: get, list, create, update, patch and apply.

Owns the order of a write (read, merge, admit, own, store) and dry runs, which do all of it and keep nothing. Leaves
paths to `api`, deletes to `deletes`, and watches, which answer more than once, to `watching`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from bench.cloud.clock import whole_seconds
from bench.cloud.cloud import Cloud
from bench.cloud.kubernetes import admission, kinds, ownership, patches, selectors, shapes
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.lifecycle import Lifecycle, established
from bench.cloud.kubernetes.ownership import Manager
from bench.cloud.kubernetes.status import StatusError, bad_request, unknown_format
from infra.model.facts import read_yaml

JsonObject = dict[str, Any]

APPLY: Final = ("application/apply-patch+yaml", "application/apply-patch+cbor")
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
STEPS: Final = "application/json-patch+json"


@dataclass(frozen=True, slots=True)
class KubernetesCall:
    """One request for objects of a kind.

    subresource: `status`, or empty. query: what follows the path. agent: how the client calls itself. warnings: what it
    is told beside the answer.
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
    warnings: list[str] = field(default_factory=list)

    @property
    def now(self) -> str:
        return whole_seconds(self.cloud.now)

    @property
    def lifecycle(self) -> Lifecycle:
        return Lifecycle(self.keyspace, self.now)

    @property
    def dry(self) -> bool:
        """Raises 400 for another value than All."""
        said = self.query.get("dryRun", "")
        if said not in ("", "All"):
            raise bad_request(f'invalid dryRun: Unsupported value: "{said}": supported values: "All"')
        return said == "All"

    def number(self, name: str) -> int | None:
        """A number of the query, None where it is not said. Raises 400 for what is no whole number from 0."""
        said = self.query.get(name, "")
        if said and not said.isdecimal():
            raise bad_request(f'invalid {name}: "{said}": must be a whole number from 0')
        return int(said) if said else None

    def manager(self, operation: Any) -> Manager:
        name = self.query.get("fieldManager") or self.agent.partition("/")[0] or "unknown"
        return Manager(name[:128], operation, self.kind.api_version, self.subresource)

    def body(self) -> Any:
        """Raises 400 for what is neither JSON nor YAML, and 415 where the client says that it is neither."""
        if "protobuf" in self.content_type or "cbor" in self.content_type:
            raise unknown_format("application/json", "application/yaml")
        try:
            if "yaml" in self.content_type:
                return read_yaml(self.data)
            return json.loads(self.data) if self.data else None
        except (ValueError, yaml.YAMLError) as error:
            raise bad_request(f"the object provided is unrecognized: {error}") from error

    def admitted(self, entity: Any) -> JsonObject:
        strictness = self.query.get("fieldValidation") or "Warn"
        if self.content_type in APPLY and strictness != "Strict":
            self._insist_known(entity)
        return admission.read(self.kind, entity, strictness=strictness, warn=self.warnings.append)

    def _insist_known(self, entity: Any) -> None:
        """An apply of an unknown field is refused as the real server does it (1.36.3), with its 500."""
        unknown = next(shapes.unknown(self.kind.shape, entity), None)
        if unknown is not None:
            of = f"{self.namespace}/{self.name}; {self.kind.api_version}, Kind={self.kind.kind}"
            said = f"failed to create typed patch object ({of}): .{unknown}: field not declared in schema"
            raise StatusError(500, said, reason="")

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
    """Those that the selectors choose, in pages where `limit` asks for them."""
    found = list(chosen(call))
    limit, after = call.number("limit") or 0, call.query.get("continue", "")
    if after:
        found = [each for each in found if _place(each) > after]
    page, rest = (found[:limit], found[limit:]) if limit else (found, [])
    metadata: JsonObject = {"resourceVersion": str(call.keyspace.revision)}
    if rest:
        metadata |= {"continue": _place(page[-1]), "remainingItemCount": len(rest)}
    kind = call.kind
    return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata, "items": page}


def chosen(call: KubernetesCall) -> Iterator[JsonObject]:
    """Every object of the kind and namespace that the selectors of the request fit."""
    fits = fitting(call.query)
    return (seen(call, each) for each in call.keyspace.each(call.kind, call.namespace) if fits(each))


def fitting(query: Mapping[str, str]) -> selectors.Test:
    by_label = selectors.labelled(query.get("labelSelector", ""))
    by_field = selectors.fielded(query.get("fieldSelector", ""))
    return lambda entity: by_label(entity) and by_field(entity)


def _place(entity: JsonObject) -> str:
    return f"{entity['metadata'].get('namespace', '')}/{entity['metadata']['name']}"


def create(call: KubernetesCall) -> JsonObject:
    """Raises 400, 403, 404, 409 and 422."""
    entity = call.admitted(call.body())
    namespace = call.namespace or str(entity["metadata"].get("namespace", ""))
    return _made(call, entity, namespace, call.manager("Update"))


def _made(call: KubernetesCall, entity: JsonObject, namespace: str, manager: Manager) -> JsonObject:
    kind = call.kind
    if kind.namespaced:
        call.lifecycle.insist_on_namespace(namespace, kind)
    number = call.keyspace.revision + 1
    made = admission.born(kind, entity, namespace=namespace, now=call.now, number=lambda: number)
    name = made["metadata"]["name"]
    if call.keyspace.find(kind, namespace if kind.namespaced else "", name):
        said = f'{kind.resource} "{name}" already exists'
        raise StatusError(409, said, reason="AlreadyExists", about=kind.about(name))
    if manager.operation == "Apply":
        empty: JsonObject = {"metadata": {}}
        owned = ownership.applied(kind.shape, empty, entity, manager, force=True, now=call.now)
    else:
        owned = ownership.updated(kind.shape, {"metadata": {}}, made, manager, now=call.now)
    made["metadata"]["managedFields"] = owned["metadata"].get("managedFields", [])
    if kind.kind == kinds.DEFINITIONS:
        made = established(made, call.now)
    return seen(call, call.keyspace.put(kind, made, None))


def update(call: KubernetesCall) -> JsonObject:
    """Raises 400, 404, 409 and 422."""
    live, entity = call.live(), call.admitted(call.body())
    if entity["metadata"].get("name", call.name) != call.name:
        raise bad_request(f"the name of the object ({entity['metadata']['name']}) does not match the name on the URL")
    return _replaced(call, live, entity)


def _replaced(call: KubernetesCall, live: JsonObject, entity: JsonObject) -> JsonObject:
    status = call.subresource == "status"
    new = admission.changed(call.kind, live, entity, status=status)
    new = ownership.updated(call.kind.shape, live, new, call.manager("Update"), now=call.now)
    return _written(call, live, new)


def _written(call: KubernetesCall, live: JsonObject, new: JsonObject) -> JsonObject:
    """What changes nothing writes nothing; what takes the last finalizer away lets the object go."""
    kind = call.kind
    if kind.kind == kinds.DEFINITIONS and not call.subresource:
        new = {**established(new, call.now), "status": live["status"]}
    if {**new, "apiVersion": ""} == {**live, "apiVersion": ""}:
        return seen(call, live)
    written, _ = call.lifecycle.settle(kind, call.keyspace.put(kind, new, live))
    return seen(call, written)


def patch(call: KubernetesCall) -> JsonObject:
    """Raises 400, 404, 409, 415 and 422."""
    if call.content_type in APPLY:
        return _applied(call)
    live, body = call.live(), call.body()
    old = seen(call, live)
    if call.content_type == STEPS:
        entity = patches.json_patch(old, body)
    elif call.content_type == MERGE:
        entity = patches.merge(old, body)
    elif call.content_type == STRATEGIC and call.kind.schema is None:
        entity = patches.strategic(call.kind.shape, old, body)
    else:
        served = [STEPS, MERGE, *([] if call.kind.schema else [STRATEGIC]), APPLY[0]]
        raise unknown_format(*served)
    return _replaced(call, live, call.admitted(entity))


def _applied(call: KubernetesCall) -> JsonObject:
    """Server-side apply, which makes what is not there."""
    kind, force = call.kind, call.query.get("force") == "true"
    if not call.query.get("fieldManager"):
        raise bad_request(
            "PatchOptions.meta.k8s.io is invalid: fieldManager: Required value: is required for apply patch"
        )
    body = call.body()
    if isinstance(body, dict) and (body.get("metadata") or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    config = call.admitted(body)
    metadata = config["metadata"]
    if metadata.get("name", call.name) != call.name:
        raise bad_request(f"name in URL does not match name in PATCH request: {call.name} and {metadata['name']}")
    metadata["name"] = call.name
    if kind.namespaced:
        metadata["namespace"] = call.namespace
    status = call.subresource == "status"
    left_out = _left_out(kind, status=status)
    config = {name: each for name, each in config.items() if name not in left_out}
    live = call.keyspace.find(kind, call.namespace, call.name)
    if live is None:
        if status:
            raise missing(kind, call.name)
        return _made(call, config, call.namespace, call.manager("Apply"))
    if kind.kind == "Secret":
        config = admission.encoded(config)
    new = ownership.applied(kind.shape, live, config, call.manager("Apply"), force=force, now=call.now)
    managed = new["metadata"].get("managedFields", [])
    changed = admission.changed(kind, live, new, status=status)
    changed["metadata"]["managedFields"] = managed
    return _written(call, live, changed)


def _left_out(kind: Kind, *, status: bool) -> tuple[str, ...]:
    """What an apply says in vain: status where it has a path of its own, and there all but status."""
    if status:
        return tuple(name for name in kind.shape.fields if name not in ("apiVersion", "kind", "metadata", "status"))
    return ("status",) if kind.status else ()
