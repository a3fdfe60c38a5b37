"""One resource as the state has it, and its form in Pulumi's checkpoint, version 3.

Owns the fields and their encoding, secrets included. Fields that this engine does not act on (a stack trace, say) are
kept as they are. Does not own files, order or the journal. Source of the fields: sdk/go/common/apitype/core.go of
pulumi/pulumi, ResourceV3, read 2026-11-21.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic.alias_generators import to_camel

from bench.engine.values import RefusedError, rebuilt, secret_places, with_secrets
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
    custom_timeouts: seconds by `create`.
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
    additional_secret_outputs: tuple[str, ...] = ()
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    replace_with: tuple[str, ...] = ()
    custom_timeouts: Mapping[str, float] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What tells it from every other entry: replaced ones share their URN with what replaced them."""
        return f"{self.urn}::{self.id}" if self.delete else self.urn

    def showing(self, outputs: dict[str, Any], provider: Provider, **changed: Any) -> ResourceState:
        """This state with a provider's plain outputs, secret where they are to be, and with these fields.

        Secret is what the provider says, what the program names (`additional_secret_outputs`), and whatever stands
        where an input is secret; of a provider that keeps its inputs among the outputs, there too.
        """
        names = {*self.additional_secret_outputs, *provider.secret_outputs(self.type)}
        places = [*secret_places(self.inputs)]
        hidden = [*places, *((_INPUTS, *place) for place in places), *((name,) for name in names)]
        return replace(self, outputs=with_secrets(outputs, hidden), **changed)

    def references(self) -> Iterator[str]:
        """URNs of everything that must exist before it and go after it."""
        if self.parent:
            yield self.parent
        if self.provider:
            yield self.provider.rpartition("::")[0]
        yield from self.dependencies
        for urns in self.property_dependencies.values():
            yield from urns
        yield from self.replace_with


_FIELDS: Final = {to_camel(each.name): each.name for each in fields(ResourceState) if each.name != "other"}
_REFUSED: Final = {
    "viewOf": "a view of another resource",
    "extensionRef": "a resource of an extension package",
    "resourceHooks": "resource hooks",
    "taint": "a taint",
    "deletedWith": "a deletion with another resource",
}


def encode(state: ResourceState, vault: Vault) -> dict[str, Any]:
    """A resource object of a checkpoint; no secret in clear."""

    def sealed(value: Any) -> Any:
        if isinstance(value, Secret):
            return {SIGNATURE: SECRET_SIGNATURE, "ciphertext": value.sealed_by(vault)}
        return value

    values = {name: rebuilt(getattr(state, attribute), sealed) for name, attribute in _FIELDS.items()}
    return {**{name: value for name, value in values.items() if value or name == "custom"}, **state.other}


def decode(entry: Mapping[str, Any], vault: Vault) -> ResourceState:
    """The state of a checkpoint's resource object; refuses by name what this engine would get wrong.

    Secrets stay sealed until they are looked at.
    """
    for name, what in _REFUSED.items():
        if entry.get(name):
            raise RefusedError(
                f"{entry.get('urn')} has {what} in the state, which the embedded engine does not support: "
                "use --engine pulumi for this stack"
            )

    def opened(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        ciphertext = value.get("ciphertext")
        if value[SIGNATURE] != SECRET_SIGNATURE or not isinstance(ciphertext, str):
            raise EngineError(
                f"{entry.get('urn')} has a value in the state that is neither plain nor a secret. "
                "Fix: use --engine pulumi for this stack, or restore the state from a backup"
            )
        vault.met_secrets = True
        return Secret.sealed(ciphertext, vault)

    known: dict[str, Any] = {
        _FIELDS[name]: tuple(value) if isinstance(value, list) else rebuilt(value, opened)
        for name, value in entry.items()
        if name in _FIELDS and value is not None
    }
    ons = known.get("property_dependencies", {})
    known["property_dependencies"] = {name: tuple(urns or ()) for name, urns in ons.items()}
    known["other"] = {name: value for name, value in entry.items() if name not in _FIELDS}
    return ResourceState(**known)
