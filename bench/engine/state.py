"""One resource as the state has it, and its form in Pulumi's checkpoint, version 3.

Owns the fields and their encoding, secrets included. Fields that this engine does not act on (a stack trace, say) are
kept as they are. Does not own files, order or the journal. Source of the fields: sdk/go/common/apitype/core.go of
pulumi/pulumi, ResourceV3, read 2026-11-21.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from bench.engine.values import RefusedError, resealed, secret_places, with_secrets
from infra.model.errors import EngineError
from infra.model.secret_values import SECRET_SIGNATURE, SIGNATURE, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.engine.provider import Provider
    from bench.engine.secrets import Vault


_INPUTS: Final = "__inputs"
"""Where providers for Kubernetes keep them."""


@dataclass(slots=True, kw_only=True)
class ResourceState:
    """A resource's state. Property values are in memory form: plain, with `Secret` where secret.

    delete: replaced already, and still to be deleted.
    external: read, not managed.
    pending_replacement: deleted already, and still to be created again.
    timeouts: seconds by `create`.
    provider: `<urn>::<id>` of the provider resource.
    other: fields that this engine only keeps.
    """

    urn: str
    type: str
    custom: bool
    id: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    parent: str = ""
    provider: str = ""
    dependencies: tuple[str, ...] = ()
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    delete: bool = False
    external: bool = False
    protect: bool = False
    retain_on_delete: bool = False
    pending_replacement: bool = False
    init_errors: tuple[str, ...] = ()
    secret_outputs: tuple[str, ...] = ()
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    replace_with: tuple[str, ...] = ()
    timeouts: Mapping[str, float] = field(default_factory=dict)
    created: str = ""
    modified: str = ""
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What tells it from every other entry: replaced ones share their URN with what replaced them."""
        return f"{self.urn}::{self.id}" if self.delete else self.urn

    @property
    def provider_urn(self) -> str:
        return self.provider.rpartition("::")[0]

    def showing(self, outputs: dict[str, Any], provider: Provider, **fields: Any) -> ResourceState:
        """This state with a provider's plain outputs, secret where they are to be, and with these fields.

        Secret is what the provider says, what the program names (`additional_secret_outputs`), and whatever stands
        where an input is secret; of a provider that keeps its inputs among the outputs, there too.
        """
        names = {*self.secret_outputs, *provider.secret_outputs(self.type)}
        hidden = [*secret_places(self.inputs), *((name,) for name in sorted(names) if name in outputs)]
        if _INPUTS in outputs and _INPUTS not in names:
            hidden += [(_INPUTS, *place) for place in secret_places(self.inputs)]
        shown = resealed(with_secrets(outputs, hidden), self.outputs) if hidden else outputs
        return replace(self, outputs=shown, **fields)

    def references(self) -> Iterator[str]:
        """URNs of everything that must exist before it and go after it."""
        if self.parent:
            yield self.parent
        if self.provider:
            yield self.provider_urn
        yield from self.dependencies
        for urns in self.property_dependencies.values():
            yield from urns
        yield from self.replace_with


_FIELDS: tuple[tuple[str, str], ...] = (
    ("delete", "delete"),
    ("id", "id"),
    ("parent", "parent"),
    ("protect", "protect"),
    ("external", "external"),
    ("dependencies", "dependencies"),
    ("initErrors", "init_errors"),
    ("provider", "provider"),
    ("propertyDependencies", "property_dependencies"),
    ("pendingReplacement", "pending_replacement"),
    ("additionalSecretOutputs", "secret_outputs"),
    ("customTimeouts", "timeouts"),
    ("retainOnDelete", "retain_on_delete"),
    ("replaceWith", "replace_with"),
    ("created", "created"),
    ("modified", "modified"),
    ("ignoreChanges", "ignore_changes"),
    ("replaceOnChanges", "replace_on_changes"),
)
"""Checkpoint name and attribute of every field that is written only where it is not empty."""
_KNOWN = {name for name, _ in _FIELDS} | {"urn", "custom", "type", "inputs", "outputs"}
_TUPLES = {
    "dependencies",
    "init_errors",
    "replace_with",
    "secret_outputs",
    "ignore_changes",
    "replace_on_changes",
}
_REFUSED = {
    "viewOf": "a view of another resource",
    "extensionRef": "a resource of an extension package",
    "resourceHooks": "resource hooks",
    "taint": "a taint",
    "deletedWith": "a deletion with another resource",
}


class Codec:
    """Between `ResourceState` and a checkpoint's resource object, under one vault. met_secrets: it has decoded any."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self.met_secrets = False

    def encode(self, state: ResourceState) -> dict[str, Any]:
        """A resource object of a checkpoint; no secret in clear."""
        entry: dict[str, Any] = {"urn": state.urn, "custom": state.custom}
        for name, attribute in _FIELDS:
            value = getattr(state, attribute)
            if value:
                entry[name] = value
            if name == "id":
                entry["type"] = state.type
                if state.inputs:
                    entry["inputs"] = self.encode_value(state.inputs)
                if state.outputs:
                    entry["outputs"] = self.encode_value(state.outputs)
        return {**entry, **state.other}

    def decode(self, entry: Mapping[str, Any]) -> ResourceState:
        """The state of a checkpoint's resource object; refuses by name what this engine would get wrong."""
        for name, what in _REFUSED.items():
            if entry.get(name):
                raise RefusedError(
                    f"{entry.get('urn')} has {what} in the state, which the embedded engine does not support: "
                    "use --engine pulumi for this stack"
                )
        fields: dict[str, Any] = {}
        for name, attribute in _FIELDS:
            if (value := entry.get(name)) is not None:
                fields[attribute] = tuple(value) if attribute in _TUPLES else value
        if "property_dependencies" in fields:
            fields["property_dependencies"] = {
                name: tuple(urns or ()) for name, urns in fields["property_dependencies"].items()
            }
        return ResourceState(
            urn=entry["urn"],
            type=entry["type"],
            custom=entry["custom"],
            inputs=self.decode_value(entry.get("inputs") or {}),
            outputs=self.decode_value(entry.get("outputs") or {}),
            other={name: value for name, value in entry.items() if name not in _KNOWN},
            **fields,
        )

    def encode_value(self, value: Any) -> Any:
        """A property value for a checkpoint."""
        if isinstance(value, Secret):
            return {SIGNATURE: SECRET_SIGNATURE, "ciphertext": value.sealed_by(self._vault)}
        if isinstance(value, dict):
            return {key: self.encode_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.encode_value(item) for item in value]
        return value

    def decode_value(self, value: Any) -> Any:
        """A property value from a checkpoint. Secrets stay sealed until they are looked at."""
        if isinstance(value, dict):
            if SIGNATURE not in value:
                return {key: self.decode_value(item) for key, item in value.items()}
            if value[SIGNATURE] != SECRET_SIGNATURE:
                raise RefusedError(
                    f"the state holds a value with signature {value[SIGNATURE]}, which the embedded engine does not "
                    "support: use --engine pulumi for this stack"
                )
            return self._decode_secret(value)
        if isinstance(value, list):
            return [self.decode_value(item) for item in value]
        return value

    def _decode_secret(self, value: Mapping[str, Any]) -> Secret:
        with suppress(TypeError, ValueError):
            if "plaintext" in value:
                return Secret(json.loads(value["plaintext"]))
        ciphertext = value.get("ciphertext")
        if not isinstance(ciphertext, str):
            raise EngineError("the state holds a secret without readable text. Fix: restore the state from a backup")
        self.met_secrets = True
        return Secret.sealed(ciphertext, self._vault)
