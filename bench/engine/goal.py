"""What a program asks for one resource, read from the protocol's request, and what it is told.

Owns the reading of RegisterResource and ReadResource, and the refusal by name of what this engine does not do. Does not
own what follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bench.engine.values import RefusedError, from_struct
from infra.model import urns

if TYPE_CHECKING:
    from pulumi.runtime.proto import resource_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One resource as the program wants it. Lists are sorted where their order means nothing.

    provider: `<urn>::<id>`, empty for the default one of `version`.
    custom_timeouts: seconds by `create`.
    delete_before_replace: None leaves it to the provider.
    """

    urn: str
    type: str
    name: str
    custom: bool = True
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
    additional_secret_outputs: tuple[str, ...] = ()
    custom_timeouts: Mapping[str, float] = field(default_factory=dict)

    def needs(self) -> set[str]:
        """URNs without which it cannot be."""
        found = {*self.dependencies, self.parent, self.provider.rpartition("::")[0]}
        return found.union(*self.property_dependencies.values()) - {""}


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
    asked = [_REFUSED[each.name] for each, _ in request.ListFields() if each.name in _REFUSED]
    if any(
        each.urn or [said for field, said in each.spec.ListFields() if said and field.name != "type"]
        for each in request.aliases
    ):
        asked.append("aliases")
    if "*" in "".join(request.ignoreChanges):
        asked.append("ignore_changes with a wildcard")
    if request.customTimeouts.update or request.customTimeouts.delete:
        asked.append("timeouts of updates or deletes")
    ons = {name: tuple(sorted(said.urns)) for name, said in sorted(request.propertyDependencies.items()) if said.urns}
    return Goal(
        urn=_checked_urn(request, stack, project, asked),
        type=request.type,
        name=request.name,
        custom=request.custom,
        parent=request.parent,
        inputs=from_struct(request.object),
        dependencies=tuple(sorted(request.dependencies)),
        property_dependencies=ons,
        provider=request.provider,
        version=request.version,
        protect=request.protect,
        retain_on_delete=request.retainOnDelete,
        delete_before_replace=request.deleteBeforeReplace if request.deleteBeforeReplaceDefined else None,
        ignore_changes=tuple(request.ignoreChanges),
        replace_on_changes=tuple(request.replaceOnChanges),
        replace_with=tuple(sorted(request.replace_with)),
        additional_secret_outputs=tuple(request.additionalSecretOutputs),
        custom_timeouts=_timeouts(request.customTimeouts.create),
    )


def read(request: resource_pb2.ReadResourceRequest, stack: str, project: str) -> Goal:
    """The goal of a ReadResource request, which is a stack reference."""
    asked = [] if request.type == urns.STACK_REFERENCE_TYPE else [f"the look-up of a {request.type}"]
    return Goal(
        urn=_checked_urn(request, stack, project, asked),
        type=request.type,
        name=request.name,
        parent=request.parent,
        inputs=from_struct(request.properties),
        dependencies=tuple(sorted(request.dependencies)),
        version=request.version,
    )


_REFUSED: Final = {
    "remote": "a remote component",
    "replacement_trigger": "a replacement trigger",
    "deletedWith": "a deletion with another resource",
    "importId": "an import",
}
"""Members of a RegisterResource request, as a person calls them. The SDK itself refuses what no feature announces."""


def _checked_urn(request: Any, stack: str, project: str, asked: Iterable[str]) -> str:
    """The URN of what a request is about; RefusedError where it asks for what is not supported."""
    urn = urns.make(stack, project, request.parent, request.type, request.name)
    if refused := ", ".join(asked):
        raise RefusedError(f"{urn} asks for {refused}, which the embedded engine does not support: use --engine pulumi")
    return urn


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def _timeouts(text: str) -> dict[str, float]:
    """Of a create, from its duration (`90m`); none for an empty text."""
    if not text:
        return {}
    if (found := re.fullmatch(r"(\d+)([smh])", text)) is None:
        raise RefusedError(f"a custom timeout is {text!r}: write a duration of one unit, such as 30s, 20m or 1h")
    return {"create": int(found[1]) * _UNITS[found[2]]}
