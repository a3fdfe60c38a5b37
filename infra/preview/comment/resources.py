"""The resources of a plan, folded: lists by what happens to them, and which properties change.

Owns the grouping: resources of one type stand together, and so do those whose properties change alike. VMs come first.
Much that is new is told by kind with counts, and by name below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.model.plan import Op, Plan, PropertyChange, Step
from infra.model.planned_records import is_record, record_changes
from infra.preview.document import Fold, Items, Rank
from infra.preview.folds import FOLDED, code_name, folded, listed, of, runs
from infra.preview.headline import touched
from infra.preview.markup import masked_value
from infra.preview.sentences import plural
from infra.preview.toned import Part, Tone, TonedLine, toned
from infra.preview.words import by_name, grouped, short_type, shown

_TITLES: Final = {
    Op.DELETE: "Deleted",
    Op.REPLACE: "Replaced",
    Op.RETAIN: "No longer declared, and kept in the cloud",
    Op.UPDATE: "Updated",
    Op.CREATE: "Created",
    Op.ADOPT: "Adopted: in the cloud as declared, and new to the state",
}


def resources(plan: Plan) -> Iterator[Fold]:
    """Folds of the resources, of the properties that differ, and of names; none of it where nothing changes."""
    if not touched(plan):
        return
    lists, names = list[Items](), list[Step]()
    for op, title in _TITLES.items():
        named, folds = folded(of(plan, op), every=op not in FOLDED)
        lines = [*listed(named), *map(str, folds)]
        lists += [Items(title=title, lines=lines)] if lines else []
        names += [step for fold in folds for step in fold.steps]
    if records := record_changes(plan):
        lists.append(Items(title="Fleet records", lines=[change.says for change in records]))
    yield Fold(rank=Rank.CHANGES, what="lines of resources", summary=_counts(plan), parts=lists)
    for op, summary in ((Op.REPLACE, "What forces the replacements"), (Op.UPDATE, "Changed properties")):
        steps = [step for step in of(plan, op) if (step.diff or step.replace_reasons) and not is_record(step)]
        yield from _fold(summary, "changed properties", steps, list(_properties(steps)))
    yield from _fold("Names", "names", names, list(listed(names)))


def _counts(plan: Plan) -> str:
    counts = plan.summary
    changing = (Op.CREATE, Op.ADOPT, Op.UPDATE, Op.REPLACE, Op.DELETE, Op.RETAIN)
    told = [f"{counts[op.value]:,} to {op.value}" for op in changing if counts[op.value]]
    return f"Resources: {', '.join([*told, f'{counts[Op.SAME.value]:,} unchanged'])}"


def _fold(summary: str, what: str, steps: Sequence[Step], lines: Sequence[TonedLine]) -> Iterator[Fold]:
    if lines:
        yield Fold(summary=f"{summary} ({plural(len(steps), 'resource')})", what=what, parts=[Items(lines=lines)])


def _properties(steps: Sequence[Step]) -> Iterator[TonedLine]:
    """What differs in each resource, the same difference once."""
    for (token, *changes), group in grouped(steps, lambda step: (step.type, *_changes(step))):
        first, *more = runs(group)
        yield toned(code_name(short_type(token)), " ", first, f" and {len(more):,} more lines of names" if more else "")
        yield from (TonedLine(change, indent=2) for change in changes)


def _changes(step: Step) -> list[tuple[tuple[str, Tone], ...]]:
    paths = sorted(step.diff, key=lambda path: (not step.diff[path].replaces, path))
    said = [_change(path, by_name(step, path), step.diff[path]).parts for path in paths]
    return said or [toned(code_name(path), " forces it").parts for path in step.replace_reasons]


def _change(path: str, told: str, change: PropertyChange) -> TonedLine:
    """told: the path as people read it."""
    before, after = ((shown(masked_value(value, path)), Tone.NAME) for value in (change.before, change.after))
    forces: Part = toned(" ", ("forces the replacement", Tone.HEADING)) if change.replaces else ""
    match change.kind:
        case "add":
            return toned(code_name(told), ": ", after, " added", forces)
        case "delete":
            return toned(code_name(told), ": ", before, " removed", forces)
        case "update":
            said = toned(before, " → ", after) if before != after else "changed"
            return toned(code_name(told), ": ", said, forces)
