"""What a program asks for one resource, read from the protocol's request, and what it is told.

Owns the reading of RegisterResource and ReadResource, and the refusal by name of what this engine does not do. Does not
own what follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.engine.values import RefusedError, from_struct, from_value
from infra.model import urns

if TYPE_CHECKING:
    from pulumi.runtime.proto import alias_pb2, resource_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One resource as the program wants it. Lists are sorted where their order means nothing.

    provider: `<urn>::<id>`, empty for the default one of `version`.
    timeouts: seconds by `create`, `update`, `delete`.
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
    aliases: tuple[str, ...] = ()
    protect: bool = False
    retain_on_delete: bool = False
    delete_before_replace: bool | None = None
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    replace_with: tuple[str, ...] = ()
    replacement_trigger: Any = None
    secret_outputs: tuple[str, ...] = ()
    deleted_with: str = ""
    import_id: str = ""
    timeouts: Mapping[str, float] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)

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
    """The goal of a RegisterResource request, aliases not resolved yet."""
    urn = urns.make(stack, project, request.parent, request.type, request.name)
    _refuse(
        urn,
        {
            "a component served by a plugin (remote)": request.remote,
            "a parameterized package": bool(request.packageRef),
            "transforms": bool(request.transforms),
            "state migrations": bool(request.state_migrations),
            "resource hooks": bool(request.hooks.ListFields()),
            "environment variable mappings": bool(request.envVarMappings),
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
        replacement_trigger=from_value(request.replacement_trigger)
        if request.HasField("replacement_trigger")
        else None,
        secret_outputs=tuple(request.additionalSecretOutputs),
        deleted_with=request.deletedWith,
        import_id=request.importId,
        timeouts={
            name: seconds
            for name in ("create", "update", "delete")
            if (seconds := _seconds(getattr(request.customTimeouts, name), urn))
        },
        other={"hideDiff": list(request.hideDiffs)} if request.hideDiffs else {},
    )


def read(request: resource_pb2.ReadResourceRequest, stack: str, project: str) -> Goal:
    """The goal of a ReadResource request; its id is `import_id`."""
    urn = urns.make(stack, project, request.parent, request.type, request.name)
    _refuse(urn, {"a parameterized package": bool(request.packageRef)})
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
        secret_outputs=tuple(request.additionalSecretOutputs),
        import_id=request.id,
    )


def _refuse(urn: str, asked: Mapping[str, bool]) -> None:
    unknown = [what for what, is_asked in asked.items() if is_asked]
    if unknown:
        raise RefusedError(
            f"{urn} asks for {', '.join(unknown)}, which the embedded engine does not support: use --engine pulumi"
        )


def alias_urns(
    goal: Goal, asked: Iterable[alias_pb2.Alias], parents: Iterable[str], stack: str, project: str
) -> tuple[str, ...]:
    """Every URN that the resource may have in the state besides its own.

    parents: URNs that its parent has or had. A child of a parent that had another name or type is found under it, and
    a child named after its parent under the parent's old name.
    """
    parents = tuple(parents)
    current = goal.parent
    found: dict[str, None] = {}
    specs = [(goal.name, goal.type)]
    for alias in asked:
        if alias.WhichOneof("alias") == "urn":
            found[alias.urn] = None
            continue
        spec = alias.spec
        name, token = spec.name or goal.name, spec.type or goal.type
        of_stack, of_project = spec.stack or stack, spec.project or project
        if spec.noParent:
            found[urns.make(of_stack, of_project, "", token, name)] = None
        elif spec.parentUrn:
            found[urns.make(of_stack, of_project, spec.parentUrn, token, name)] = None
        else:
            found[urns.make(of_stack, of_project, current, token, name)] = None
            specs.append((name, token))
    for old_parent in parents:
        for name, token in specs:
            inherited = name
            if current and name.startswith(urns.name_of(current)):
                inherited = urns.name_of(old_parent) + name[len(urns.name_of(current)) :]
            found[urns.make(stack, project, old_parent, token, inherited)] = None
    found.pop(goal.urn, None)
    return tuple(found)


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(text: str, urn: str) -> float:
    """Seconds of a duration as Go writes it (`1h30m`); 0 for none."""
    if not text:
        return 0.0
    parts = _DURATION.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        raise RefusedError(f"{urn} has a custom timeout {text!r}: write it as a duration such as 30s, 20m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
