"""What a program asks for one resource, read from the protocol's request, and what it is told.

Owns the reading of RegisterResource and ReadResource, and the refusal by name of what this engine does not do. Does not
own what follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.engine.values import RefusedError, from_struct
from infra.model import urns

if TYPE_CHECKING:
    from pulumi.runtime.proto import alias_pb2, resource_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One resource as the program wants it. Lists are sorted where their order means nothing.

    provider: `<urn>::<id>`, empty for the default one of `version`.
    timeouts: seconds by `create`.
    delete_before_replace: None leaves it to the provider.
    """

    urn: str
    type: str
    name: str
    custom: bool
    parent: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    provider: str = ""
    version: str = ""
    protect: bool = False
    retain_on_delete: bool = False
    delete_before_replace: bool | None = None
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    replace_with: tuple[str, ...] = ()
    secret_outputs: tuple[str, ...] = ()
    timeouts: Mapping[str, float] = field(default_factory=dict)

    def needs(self) -> set[str]:
        """URNs without which it cannot be."""
        found = set(self.dependencies)
        found.update(*self.property_dependencies.values())
        if self.parent:
            found.add(self.parent)
        if self.provider:
            found.add(self.provider.rpartition("::")[0])
        return found


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """What a program is told of a resource. unknown: nothing was made, and its outputs stay unknown."""

    urn: str
    id: str = ""
    outputs: dict[str, Any] = field(default_factory=dict)
    failed: bool = False
    unknown: bool = False


def registered(request: resource_pb2.RegisterResourceRequest, stack: str, project: str) -> Goal:
    """The goal of a RegisterResource request. Aliases of the type alone are the SDK's own, and of no interest here."""
    urn = urns.make(stack, project, request.parent, request.type, request.name)
    _refuse(
        urn,
        {
            **{field.name: True for field, _ in request.ListFields() if field.name in _REFUSED},
            "hooks": bool(request.hooks.ListFields()),
            "aliases": any(each.urn or _moves(each.spec) for each in request.aliases),
            "timeouts of updates or deletes": bool(request.customTimeouts.update or request.customTimeouts.delete),
        },
    )
    return Goal(
        urn=urn,
        type=request.type,
        name=request.name,
        custom=request.custom,
        parent=request.parent,
        inputs=from_struct(request.object),
        dependencies=tuple(sorted(request.dependencies)),
        property_dependencies={
            name: tuple(sorted(said.urns)) for name, said in sorted(request.propertyDependencies.items()) if said.urns
        },
        provider=request.provider,
        version=request.version,
        protect=request.protect,
        retain_on_delete=request.retainOnDelete,
        delete_before_replace=request.deleteBeforeReplace if request.deleteBeforeReplaceDefined else None,
        ignore_changes=tuple(request.ignoreChanges),
        replace_on_changes=tuple(request.replaceOnChanges),
        replace_with=tuple(sorted(request.replace_with)),
        secret_outputs=tuple(request.additionalSecretOutputs),
        timeouts={"create": seconds} if (seconds := _seconds(request.customTimeouts.create, urn)) else {},
    )


def read(request: resource_pb2.ReadResourceRequest, stack: str, project: str) -> Goal:
    """The goal of a ReadResource request, which is a stack reference."""
    urn = urns.make(stack, project, request.parent, request.type, request.name)
    _refuse(urn, {f"the look-up of a {request.type}": request.type != urns.STACK_REFERENCE_TYPE})
    return Goal(
        urn=urn,
        type=request.type,
        name=request.name,
        custom=True,
        parent=request.parent,
        inputs=from_struct(request.properties),
        dependencies=tuple(sorted(request.dependencies)),
        provider=request.provider,
        version=request.version,
    )


_REFUSED = {
    "remote", "packageRef", "transforms", "state_migrations", "envVarMappings", "replacement_trigger", "deletedWith",
    "importId", "hideDiffs",
}  # fmt: skip
"""Of a RegisterResource request."""


def _moves(spec: alias_pb2.Alias.Spec) -> bool:
    return bool(spec.name or spec.noParent or spec.parentUrn or spec.stack or spec.project)


def _refuse(urn: str, asked: Mapping[str, bool]) -> None:
    unknown = [what for what, is_asked in asked.items() if is_asked]
    if unknown:
        raise RefusedError(
            f"{urn} asks for {', '.join(unknown)}, which the embedded engine does not support: use --engine pulumi"
        )


_UNITS = {"s": 1, "m": 60, "h": 3600}


def _seconds(text: str, urn: str) -> float:
    """Seconds of a duration (`1h30m`); 0 for none."""
    parts = re.findall(r"(\d+)([smh])", text)
    if "".join(number + unit for number, unit in parts) != text:
        raise RefusedError(f"{urn} has a custom timeout {text!r}: write it as a duration such as 30s, 20m or 1h30m")
    return float(sum(int(number) * _UNITS[unit] for number, unit in parts))
