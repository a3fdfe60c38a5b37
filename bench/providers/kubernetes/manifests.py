"""Objects as the program writes them and as the cluster shows them: kinds, names, ids, and what the state keeps.

Owns the annotations by which a program steers the official provider (`pulumi.com/...`), generated names, and the
properties that the provider adds to what the API server answers.
"""

from __future__ import annotations

import base64
import copy
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench.engine.provider import UNKNOWN
from bench.providers.kubernetes import quantities

JsonObject = dict[str, Any]

AUTONAMED: Final = "pulumi.com/autonamed"
FORCED: Final = "pulumi.com/patchForce"
MANAGER: Final = "pulumi.com/patchFieldManager"
NOT_AWAITED: Final = "pulumi.com/skipAwait"
PROPAGATION: Final = "pulumi.com/deletionPropagationPolicy"
SECONDS: Final = "pulumi.com/timeoutSeconds"
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
    """`apiVersion` and `kind` of a resource: `kubernetes:core/v1:PodPatch` is a `v1` `Pod`."""
    _, module, name = token.split(":")
    version = module.removeprefix("core/")
    return str(inputs.get("apiVersion") or version), str(inputs.get("kind") or name)


def is_patch(token: str, inputs: Mapping[str, Any]) -> bool:
    """Whether a resource changes some fields of an object that others own."""
    return token.endswith("Patch") and not kind_of(token, inputs)[1].endswith("Patch")


def served_token(token: object) -> bool:
    """Whether a type is one object of a cluster, or a Helm release."""
    if not isinstance(token, str) or token.count(":") != 2:
        return False
    package, module, kind = token.split(":")
    if package != "kubernetes" or token == RELEASE:
        return token == RELEASE
    several = ("yaml", "kustomize", "helm.sh", "index")
    return module.partition("/")[0] not in several and not kind.endswith("List")


def annotation(inputs: Mapping[str, Any], name: str) -> str:
    """The value of an annotation, empty where there is none or it is not known."""
    annotations = _metadata(inputs).get("annotations")
    found = annotations.get(name) if isinstance(annotations, dict) else None
    return found if isinstance(found, str) else ""


def named(token: str, inputs: Mapping[str, Any], namespace: str) -> ObjectName:
    """The object that inputs or outputs describe. namespace: where none is said; empty for cluster-wide kinds."""
    metadata, (api_version, kind) = _metadata(inputs), kind_of(token, inputs)
    return ObjectName(api_version, kind, str(metadata.get("namespace") or namespace), str(metadata["name"]))


def filled(inputs: JsonObject, name: str, urn: str, old: Mapping[str, Any] | None) -> JsonObject:
    """With a name where the program gives none: the one that the resource had, else one made from its URN."""
    metadata = dict(_metadata(inputs))
    if metadata.get("name") is not None:
        return inputs
    kept = _metadata(old or {}).get("name") if old and annotation(old, AUTONAMED) == "true" else None
    metadata["name"] = kept or f"{name}-{hashlib.sha256(urn.encode()).hexdigest()[:8]}"
    marked = metadata.get("annotations")
    metadata["annotations"] = {**(marked if isinstance(marked, dict) else {}), AUTONAMED: "true"}
    return {**inputs, "metadata": metadata}


def normal(token: str, inputs: JsonObject) -> JsonObject:
    """With the quantities of Kubernetes' own kinds as the API server writes them; definitions leave others as said."""
    group = kind_of(token, inputs)[0].rpartition("/")[0]
    own = "." not in group or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))
    return quantities.canonical_everywhere(inputs) if own else inputs


def encoded(token: str, inputs: JsonObject) -> JsonObject:
    """A Secret's plain texts as the server keeps them: among its data, in base64. Other kinds stay as they are."""
    texts = inputs.get("stringData")
    if texts is None or kind_of(token, inputs) != ("v1", "Secret"):
        return inputs
    data = {**(inputs.get("data") or {}), **_each(texts, _encoded)} if isinstance(texts, dict) else UNKNOWN
    return {**{name: each for name, each in inputs.items() if name != "stringData"}, "data": data}


def decoded(token: str, seen: JsonObject, inputs: Mapping[str, Any]) -> JsonObject:
    """What is seen of a Secret, its data where the program says them: those that it says plain as plain texts."""
    texts = inputs.get("stringData")
    if not isinstance(texts, dict) or kind_of(token, inputs) != ("v1", "Secret"):
        return seen
    found = seen.get("data", {})
    data = {name: each for name, each in found.items() if name not in texts}
    kept = {name: each for name, each in seen.items() if name != "data"}
    plain = _each({name: each for name, each in found.items() if name in texts}, _decoded)
    return {**kept, **({"data": data} if "data" in inputs else {}), "stringData": plain}


def _each(values: Mapping[str, Any], changed: Callable[[str], str]) -> JsonObject:
    return {name: changed(each) if isinstance(each, str) else each for name, each in values.items()}


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode(errors="replace")


def manager_of(token: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None, stack: str) -> str:
    """Who owns the fields that are applied: as the state has it, as the program says, else by stack and object.

    So that another stack of the same object is another's, and a create of ours whose answer was lost is not.
    """
    said = annotation(inputs, MANAGER) or (outputs or {}).get("__fieldManager")
    metadata = _metadata(inputs)
    seed = f"{stack} {token} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
    return str(said) if said else f"{_PREFIX}{hashlib.sha256(seed.encode()).hexdigest()[:8]}"


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


def as_imported(live: JsonObject) -> JsonObject:
    """What a program would write to declare an object that stands."""
    inputs = {name: value for name, value in live.items() if name != "status"}
    inputs["metadata"] = {name: value for name, value in live["metadata"].items() if name not in _SERVERS}
    return inputs


def foreseen(inputs: JsonObject, shown: JsonObject) -> JsonObject:
    """The outputs of a preview by what a dry run shows: what only the real write says stays unknown."""
    metadata = {name: value for name, value in shown["metadata"].items() if name not in _SERVERS}
    return {**copy.deepcopy(shown), "metadata": {**metadata, **_unknown(_SERVERS)}, **_unknown(["status"])} | {
        name: value for name, value in inputs.items() if name not in ("metadata", "spec", "status")
    }


def _unknown(names: Any) -> JsonObject:
    return dict.fromkeys(names, UNKNOWN)


def _metadata(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    found = inputs.get("metadata")
    return found if isinstance(found, dict) else {}
