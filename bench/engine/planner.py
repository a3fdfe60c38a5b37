"""What is to become of one resource: same, create, update or replace.

Owns that decision and its reasons, in the terms of a plan. Touches neither state nor cloud; asks a provider only to
check and to compare, which need no API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from bench.engine.goal import Goal
from bench.engine.provider import PropertyDiff
from bench.engine.state import ResourceState
from bench.engine.values import DEFAULTS, UNKNOWN, masked, secret_places, with_secrets
from infra.model import property_paths as paths
from infra.model import urns
from infra.model.plan import Op, PropertyChange, Step
from infra.model.secret_values import reveal

if TYPE_CHECKING:
    from bench.engine.provider import Provider

REPLACE_WITH = "replaceWith"


class CheckFailedError(Exception):
    """A provider refuses the inputs, with every reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is to become of one resource, and the state it is to have; outputs are those of before until it is done."""

    op: Op
    new: ResourceState
    old: ResourceState | None
    detailed: Mapping[str, PropertyDiff] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    delete_first: bool = False

    def step(self) -> Step:
        """As a plan shows it; secrets masked."""
        new, old = self.new, self.old if self.op is not Op.CREATE else None
        diff = changes(self.detailed, old, new) if old is not None else {}
        step = step_of(new, self.op, old=old, new=new.inputs, protect=new.protect)
        return replace(step, diff=diff, replace_reasons=self.reasons)


def step_of(
    what: Goal | ResourceState,
    op: Op,
    *,
    old: ResourceState | None = None,
    new: Mapping[str, Any] | None = None,
    protect: bool = False,
) -> Step:
    """A resource's step with its inputs before and after, secrets masked."""
    name = urns.name_of(what.urn)
    before = None if old is None else masked(old.inputs)
    after = None if new is None else masked(new)
    return Step(op=op, urn=what.urn, type=what.type, name=name, old_inputs=before, new_inputs=after, protect=protect)


def changes(detailed: Mapping[str, PropertyDiff], old: ResourceState, new: ResourceState) -> dict[str, PropertyChange]:
    """What stands at each differing path before and after; a value that only the cloud has comes from the outputs."""
    shown = {}
    for path, how in paths.of_the_program(detailed, old.inputs, new.inputs).items():
        place = paths.parse(path)
        before = paths.get(old.inputs, place)
        if before is paths.ABSENT and how.kind != "add":
            before = paths.get(old.outputs, place)
        after = paths.get(new.inputs, place)
        shown[path] = PropertyChange(
            kind=how.kind,
            before=None if before is paths.ABSENT else masked(before),
            after=None if after is paths.ABSENT else masked(after),
            replaces=how.replaces,
        )
    return shown


def plain_diff(old: dict[str, Any], new: dict[str, Any]) -> dict[str, PropertyDiff]:
    """Every path at which two property trees differ, for resources that no provider compares."""
    found = {}
    for place, before, after in paths.differences(old, new):
        if place and place[0] != DEFAULTS:
            kind = "add" if before is paths.ABSENT else "delete" if after is paths.ABSENT else "update"
            found[paths.render(place)] = PropertyDiff(kind)
    return found


def goal_state(goal: Goal, inputs: dict[str, Any], provider: str, old: ResourceState | None) -> ResourceState:
    """The state that a resource is to have, with the outputs that it had."""
    given: dict[str, Any] = {name: getattr(goal, name) for name in _ASKED}
    if old is not None:
        given |= {name: getattr(old, name) for name in ("id", "outputs", "other")}
    given |= {"inputs": inputs, "provider": provider}
    return ResourceState(**given)


_ASKED = {each.name for each in fields(Goal)} & {each.name for each in fields(ResourceState)}
"""What a state takes over from a program."""


def undecided(goal: Goal, old: ResourceState | None) -> Step:
    """The step of a resource for which nothing could be decided."""
    op = Op.CREATE if old is None else Op.UPDATE
    return step_of(goal, op, old=old, new=goal.inputs, protect=goal.protect)


def decide_component(goal: Goal, old: ResourceState | None) -> Decision:
    """A component has no provider: it is created, or its inputs are taken over."""
    new = goal_state(goal, goal.inputs, "", old)
    if old is None:
        return Decision(op=Op.CREATE, new=new, old=None)
    detailed = plain_diff(old.inputs, new.inputs)
    return Decision(op=Op.UPDATE if detailed else Op.SAME, new=new, old=old, detailed=detailed)


def checked_inputs(goal: Goal, provider: Provider, old: ResourceState | None) -> dict[str, Any]:
    """The program's inputs with the provider's defaults, secrets still secret; CheckFailedError says what is wrong."""
    inputs = goal.inputs if old is None else _ignoring(goal.ignore_changes, goal.inputs, old.inputs)
    result = provider.check(goal.type, reveal(inputs))
    if result.failures:
        raise CheckFailedError(
            "; ".join(f"{fault.path}: {fault.reason}" if fault.path else fault.reason for fault in result.failures)
        )
    return with_secrets(result.inputs, secret_places(inputs))


def _ignoring(patterns: tuple[str, ...], properties: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Properties with what the patterns name as the others have it."""
    found: Any = properties
    for pattern in patterns:
        found = paths.put(found, paths.parse(pattern), paths.get(others, paths.parse(pattern)))
    return found


def agreed(read: Mapping[str, Any], declared: ResourceState) -> dict[str, Any]:
    """What the cloud has, with what `ignore_changes` names as the program's inputs have it.

    A provider is told of these names and finds no difference below them, whatever was read.
    """
    return _ignoring(declared.ignore_changes, read, declared.inputs)


def decide(
    goal: Goal,
    old: ResourceState | None,
    provider: Provider,
    reference: str,
    *,
    forced: tuple[str, ...] = (),
    deleted_for: tuple[str, ...] = (),
) -> Decision:
    """What is to become of a resource that a provider serves. Nothing is taken over of an old one that is gone already.

    forced: reasons to replace it that no provider sees. deleted_for: why this very run deleted it ahead of time.
    """
    if old is None or old.pending_replacement:
        new = goal_state(goal, checked_inputs(goal, provider, None), reference, None)
        op = Op.REPLACE if old is not None and deleted_for else Op.CREATE
        return Decision(op=op, new=new, old=old, reasons=deleted_for)
    new = goal_state(goal, checked_inputs(goal, provider, old), reference, old)
    outputs = agreed(old.outputs, new)
    result = provider.diff(goal.type, old.id, reveal(old.inputs), reveal(outputs), reveal(new.inputs))
    detailed = {path: _forced(path, how, goal.replace_on_changes) for path, how in result.detailed.items()}
    reasons = forced + tuple(sorted(path for path, how in detailed.items() if how.replaces))
    if reasons:
        fresh = goal_state(goal, checked_inputs(goal, provider, None), reference, None)
        first = result.delete_before_replace if goal.delete_before_replace is None else goal.delete_before_replace
        return Decision(op=Op.REPLACE, new=fresh, old=old, detailed=detailed, reasons=reasons, delete_first=first)
    op = Op.UPDATE if detailed or old.init_errors else Op.SAME
    return Decision(op=op, new=new, old=old, detailed=detailed)


def _forced(path: str, how: PropertyDiff, patterns: tuple[str, ...]) -> PropertyDiff:
    place = paths.parse(path)
    if how.replaces or not any(paths.covers(paths.parse(pattern), place) for pattern in patterns):
        return how
    return PropertyDiff(how.kind, replaces=True)


def replaced_by_unknown(state: ResourceState, provider: Provider, names: frozenset[str]) -> bool:
    """Whether a resource must be replaced once these inputs of it may change."""
    inputs = reveal(state.inputs)
    unknown = {name: UNKNOWN if name in names else value for name, value in inputs.items()}
    result = provider.diff(state.type, state.id, inputs, reveal(state.outputs), unknown)
    return any(_forced(path, how, state.replace_on_changes).replaces for path, how in result.detailed.items())
