"""What a plan changes of a fleet's records, as sentences: labels, repositories that are served, limits, the bundle.

Owns the comparison of what the records' component shows (`infra.model.manifest.told`) before and after. What VMs come
and go is told as resources, and not here again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from infra.model.json_shape import JsonShape
from infra.model.plan import Op, Plan, Step
from infra.model.planned_capacity import VM_TYPE

RECORDS_TYPE: Final = "tidepool:fleet_records:FleetRecords"
OBJECT_TYPE: Final = "gcp:storage/bucketObject:BucketObject"

_LISTS: Final = {
    "runner_labels": "runner labels of pool {} change",
    "serves": "repositories that pool {} serves change",
    "fallbacks": "fallbacks of pool {} change",
}
_CONTENT: Final = "content"
_NAMED: Final = ("pools", "limits", "freezes")
_SECTIONS: Final = (*_NAMED, "controller", "registries")

Section: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange(JsonShape):
    """One change. subject: what it is of, as `pool tpu-ci runner_labels`; before, after: None where it is not there."""

    subject: str
    says: str
    before: Any = None
    after: Any = None


def is_record(step: Step) -> bool:
    """Whether a step is of the fleet's records, whose own differences are no reading for people."""
    return step.type in (RECORDS_TYPE, OBJECT_TYPE)


def record_changes(plan: Plan) -> tuple[RecordChange, ...]:
    """What the plan changes of the fleet's records; nothing where that follows from VMs that come and go."""
    records = [step for step in plan.steps if is_record(step) and step.op is not Op.SAME]
    component = next((step for step in records if step.type == RECORDS_TYPE), None)
    if component is not None and component.op is Op.CREATE:
        return (RecordChange(subject="records", says="manifest and start-up bundle are published by the program"),)
    found = list(_of_component(component)) if component is not None and component.op is Op.UPDATE else []
    if component is None:
        found += _of_objects(records, explained=any(_moves_vm(step) for step in plan.steps))
    return tuple(found)


def _moves_vm(step: Step) -> bool:
    return step.type == VM_TYPE and step.changes


def _of_objects(steps: list[Step], *, explained: bool) -> Iterator[RecordChange]:
    """Objects that change though nothing of the declared fleet does, but for its VMs."""
    for step in steps:
        if step.op is Op.CREATE:
            yield RecordChange(subject=step.name, says=f"{step.name} is not in the fleet bucket: it is written again")
        elif step.op is Op.UPDATE and _CONTENT not in step.diff:
            yield RecordChange(subject=step.name, says=f"{step.name} was changed by others: it is written again")
        elif step.op is Op.UPDATE and not explained:
            yield RecordChange(subject=step.name, says=f"{step.name} changes, and the plan cannot say what in it")


def _of_component(step: Step) -> Iterator[RecordChange]:
    before, after = _fleet(step.old_inputs), _fleet(step.new_inputs)
    if before is None or after is None:
        yield RecordChange(
            subject="records", says="the fleet's records change; what changes in them cannot be read here"
        )
        return
    yield from _bundle(before.get("bundle"), after.get("bundle"))
    yield from _broker(before.get("broker"), after.get("broker"))
    for pool in sorted(_section(before, "pools").keys() & _section(after, "pools").keys()):
        yield from _pool(pool, before["pools"][pool], after["pools"][pool])
    yield from _values("controller", _section(before, "controller"), _section(after, "controller"))
    for kind, section in (("limit", "limits"), ("freeze", "freezes")):
        yield from _named(kind, _section(before, section), _section(after, section))
    old, new = (sorted(_section(side, "registries")) for side in (before, after))
    if old != new:
        says = f"repositories to pull from change: {_moved(old, new)}"
        yield RecordChange(subject="registries", says=says, before=old, after=new)


def _fleet(inputs: Mapping[str, Any] | None) -> Section | None:
    """What the component shows; None where that has another shape, as from a program of another version."""
    fleet = (inputs or {}).get("fleet")
    if not isinstance(fleet, Mapping):
        return None
    parts = [fleet.get(name, {}) for name in _SECTIONS]
    named = [each for name in _NAMED for each in _values_of(fleet.get(name))]
    return fleet if all(isinstance(each, Mapping) for each in (*parts, *named)) else None


def _values_of(section: Any) -> tuple[Any, ...]:
    return tuple(section.values()) if isinstance(section, Mapping) else ()


def _section(side: Section, name: str) -> Section:
    return side.get(name) or {}


def _bundle(before: Any, after: Any) -> Iterator[RecordChange]:
    if before != after:
        says = "start-up bundle changes: VMs take it by rollout"
        yield RecordChange(subject="bundle", says=says, before=before, after=after)


def _broker(before: Any, after: Any) -> Iterator[RecordChange]:
    if before != after:
        says = f"VMs reach the broker at {after}" if after else "VMs have no broker any more"
        yield RecordChange(subject="broker", says=says, before=before, after=after)


def _pool(pool: str, before: Section, after: Section) -> Iterator[RecordChange]:
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if key in _LISTS and isinstance(old, list) and isinstance(new, list):
            says = f"{_LISTS[key].format(pool)}: {_moved(old, new)}"
        else:
            says = f"{key} of pool {pool} changes: {_shown(old)} -> {_shown(new)}"
        yield RecordChange(subject=f"pool {pool} {key}", says=says, before=old, after=new)


def _named(kind: str, before: Section, after: Section) -> Iterator[RecordChange]:
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield RecordChange(subject=f"{kind} {name}", says=f"{kind} {name} goes", before=before[name])
        elif name not in before:
            yield RecordChange(subject=f"{kind} {name}", says=f"{kind} {name} is new", after=after[name])
        else:
            yield from _values(f"{kind} {name}", before[name], after[name])


def _values(subject: str, before: Section, after: Section) -> Iterator[RecordChange]:
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old != new:
            says = f"{subject}: {key} {_shown(old)} -> {_shown(new)}"
            yield RecordChange(subject=f"{subject} {key}", says=says, before=old, after=new)


def _moved(before: list[Any], after: list[Any]) -> str:
    """`added a, b; removed c`, and where only their order differs, that."""
    added = [str(each) for each in after if each not in before]
    removed = [str(each) for each in before if each not in after]
    parts = [f"{word} {', '.join(each)}" for word, each in (("added", added), ("removed", removed)) if each]
    return "; ".join(parts) or f"now in the order {', '.join(map(str, after))}"


def _shown(value: Any) -> str:
    return "none" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
