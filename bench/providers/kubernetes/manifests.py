"""Objects as the program writes them and as the cluster shows them: kinds, names, ids, and what the state keeps."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench.engine.provider import UNKNOWN
from bench.providers.kubernetes import quantities

JsonObject = dict[str, Any]

PROPAGATION: Final = "pulumi.com/deletionPropagationPolicy"
"""Annotation by which a program says how dependents of an object go."""
RELEASE: Final = "kubernetes:helm.sh/v3:Release"

_PREFIX: Final = "pulumi-kubernetes-"
"""How names of field managers begin, the official provider's too."""
INPUTS: Final = "__inputs"
"""Where outputs have what the program said: the official provider compares with nothing else."""
_OURS: Final = (INPUTS, "__fieldManager", "__initialApiVersion")
_SERVERS: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


@dataclass(frozen=True, slots=True)
class ObjectName:
    """Which object of a kind. namespace: empty where none is said."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind} {self.id}"


def kind_of(token: str, inputs: Mapping[str, Any]) -> tuple[str, str]:
    """`apiVersion` and `kind` of a resource: `kubernetes:core/v1:Pod` is a `v1` `Pod`."""
    _, module, name = token.split(":")
    return str(inputs.get("apiVersion") or module.removeprefix("core/")), str(inputs.get("kind") or name)


_SERVED: Final = re.compile(r"kubernetes:(?!yaml|kustomize|helm\.sh|index)[^:]+:(?!.*(?:List|Patch)$)[^:]+")


def served_token(token: object) -> bool:
    """Whether a type is one object of a cluster, or a Helm release."""
    return isinstance(token, str) and (token == RELEASE or _SERVED.fullmatch(token) is not None)


def named(token: str, inputs: Mapping[str, Any], namespace: str) -> ObjectName:
    """The object that inputs or outputs describe. namespace: where none is said; empty for cluster-wide kinds."""
    metadata, (api_version, kind) = inputs["metadata"], kind_of(token, inputs)
    return ObjectName(api_version, kind, str(metadata.get("namespace") or namespace), str(metadata["name"]))


def normal(token: str, inputs: JsonObject) -> JsonObject:
    """With the quantities of Kubernetes' own kinds as the API server writes them; definitions leave others as said."""
    group = kind_of(token, inputs)[0].rpartition("/")[0]
    own = "." not in group or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))
    return quantities.canonical_everywhere(inputs) if own else inputs


def manager_of(token: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None, stack: str) -> str:
    """Who owns the fields that are applied: as the state has it, else by stack and object.

    So that another stack of the same object is another's, and a create of ours whose answer was lost is not.
    """
    if kept := (outputs or {}).get("__fieldManager"):
        return str(kept)
    metadata = inputs["metadata"]
    seed = f"{stack} {token} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
    return f"{_PREFIX}{hashlib.sha256(seed.encode()).hexdigest()[:8]}"


def standing_manager(live: JsonObject, ours: str) -> str:
    """Under which name an object of the state was applied: the official provider gives each a name by chance, and
    takes fields that are not under it for unsaid."""
    entries = live["metadata"].get("managedFields") or ()
    appliers = [each["manager"] for each in entries if each.get("operation") == "Apply"]
    known = [each for each in appliers if each.startswith(_PREFIX)]
    return known[0] if known and ours not in known else ours


def outputs_of(live: JsonObject, inputs: JsonObject, manager: str, initial: str) -> JsonObject:
    """What the state keeps of an object."""
    return {**live, INPUTS: inputs, "__fieldManager": manager, "__initialApiVersion": initial}


def live_of(outputs: Mapping[str, Any]) -> JsonObject:
    """The object as the state last saw it."""
    return {name: value for name, value in outputs.items() if name not in _OURS}


def foreseen(inputs: JsonObject, shown: JsonObject) -> JsonObject:
    """The outputs of a preview by what a dry run shows: what only the real write says stays unknown."""
    metadata = {**shown["metadata"], **dict.fromkeys(_SERVERS, UNKNOWN)}
    said = {name: value for name, value in inputs.items() if name not in ("metadata", "spec", "status")}
    return {**shown, "metadata": metadata, "status": UNKNOWN, **said}
