"""The resources of a plan: what goes, so loud that nobody merges it unread; lists by what happens to them; and folded
below, which properties change.

Owns the grouping: resources of one type stand together, and so do those whose properties change alike. VMs come first.
Much that is new is told by kind with counts, and by name below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.model.plan import Op, Plan, PropertyChange, Step
from infra.model.planned_capacity import NODE_POOL_TYPE, VM_TYPE, chips_of, holds_slices
from infra.model.planned_records import is_record, record_changes
from infra.preview.blocks import Block, Rank
from infra.preview.comment.headline import touched
from infra.preview.folds import FOLDED, folded
from infra.preview.markup import code, html, masked_value, name, prose
from infra.preview.sentences import plural
from infra.preview.words import by_name, counted, grouped, ranges, short_type, shown

NAMES_A_LINE: Final = 24
_TITLES: Final = {
    Op.DELETE: ("Deleted", Rank.LOSSES, "deleted resources"),
    Op.REPLACE: ("Replaced", Rank.LOSSES, "replaced resources"),
    Op.RETAIN: ("No longer declared, and kept in the cloud", Rank.CHANGES, "retained resources"),
    Op.UPDATE: ("Updated", Rank.CHANGES, "updated resources"),
    Op.CREATE: ("Created", Rank.CHANGES, "created resources"),
    Op.ADOPT: ("Adopted: in the cloud as declared, and new to the state", Rank.CHANGES, "adopted resources"),
}


def blocks(plan: Plan) -> Iterator[Block]:
    """Counts, a list for each thing that happens, the folded properties; none of it where nothing does."""
    if touched(plan):
        yield Block(rank=Rank.SUMMARY, lines=[_counts(plan)], what="counts")
    unfolded: list[Block] = []
    for op, (title, rank, what) in _TITLES.items():
        steps = of(plan, op)
        if steps:
            named, folds = folded(steps, every=op not in FOLDED)
            lines = [f"- {line}" for line in (*listed(named), *(prose(str(fold)) for fold in folds))]
            yield Block(rank=rank, opening=f"**{title}**\n", lines=lines, what=f"lines of {what}")
            if folds:
                unfolded.append(_unfolded(f"Names of {what}", [step for fold in folds for step in fold.steps]))
    if told := record_changes(plan):
        lines = [f"- {prose(change.says)}" for change in told]
        yield Block(
            rank=Rank.CHANGES, opening="**Fleet records**\n", lines=lines, what="changes of the fleet's records"
        )
    yield from _properties(plan)
    yield from unfolded


def of(plan: Plan, op: Op) -> list[Step]:
    """The plan's steps of one kind, by name."""
    return sorted((step for step in plan.steps if step.op is op), key=lambda step: (step.name, step.urn))


def runs(steps: Sequence[Step]) -> Iterator[str]:
    """Names in code font, those with neighbouring indexes as one, a few on a line."""
    names = ranges(step.name for step in steps)
    for start in range(0, len(names), NAMES_A_LINE):
        yield ", ".join(map(name, names[start : start + NAMES_A_LINE]))


def listed(steps: Sequence[Step]) -> Iterator[str]:
    """`3 tpu.V2Vm: names` for each type; more names than a line holds go on in further ones."""
    for token, group in grouped(steps, lambda step: step.type):
        for index, names in enumerate(runs(group)):
            yield f"{len(group):,} {name(short_type(token))}: {names}" if index == 0 else names


def _counts(plan: Plan) -> str:
    counts = plan.summary
    changing = (Op.CREATE, Op.ADOPT, Op.UPDATE, Op.REPLACE, Op.DELETE, Op.RETAIN)
    told = [f"{counts[op.value]:,} to {op.value}" for op in changing if counts[op.value]]
    return f"### Resources: {', '.join([*told, f'{counts[Op.SAME.value]:,} unchanged'])}"


def _properties(plan: Plan) -> Iterator[Block]:
    """What differs in each resource that is replaced or updated, the same difference once."""
    for op, summary in ((Op.REPLACE, "What forces the replacements"), (Op.UPDATE, "Changed properties")):
        steps = [step for step in of(plan, op) if (step.diff or step.replace_reasons) and not is_record(step)]
        lines = [
            line
            for (token, *changes), group in grouped(steps, lambda step: (step.type, *_changes(step)))
            for line in _entry(token, changes, group)
        ]
        if lines:
            yield _details(summary, len(steps), lines, "changed properties")


def _unfolded(summary: str, steps: Sequence[Step]) -> Block:
    """The names behind counts."""
    return _details(summary, len(steps), [f"- {line}" for line in listed(steps)], "lines of names")


def _details(summary: str, count: int, lines: Sequence[str], what: str) -> Block:
    """Lines that a reader opens."""
    opening = f"<details><summary>{html(summary)} ({plural(count, 'resource')})</summary>\n"
    return Block(rank=Rank.DETAILS, opening=opening, lines=lines, closing="\n</details>", what=what)


def _entry(token: str, changes: Sequence[str], group: Sequence[Step]) -> Iterator[str]:
    first, *more = runs(group)
    yield f"- {name(short_type(token))} {first}{f' and {len(more):,} more lines of names' if more else ''}"
    for change in changes:
        yield f"  - {change}"


def _changes(step: Step) -> list[str]:
    paths = sorted(step.diff, key=lambda path: (not step.diff[path].replaces, path))
    said = [_change(path, by_name(step, path), step.diff[path]) for path in paths]
    return said or [f"{name(path)} forces it" for path in step.replace_reasons]


def _change(path: str, told: str, change: PropertyChange) -> str:
    """told: the path as people read it."""
    before, after = (code(shown(masked_value(value, path))) for value in (change.before, change.after))
    forces = " **forces the replacement**" if change.replaces else ""
    match change.kind:
        case "add":
            return f"{name(told)}: {after} added{forces}"
        case "delete":
            return f"{name(told)}: {before} removed{forces}"
        case "update":
            said = f"{before} → {after}" if before != after else "changed"
            return f"{name(told)}: {said}{forces}"


def losses(plan: Plan) -> Iterator[Block]:
    """A heading that counts them and a red box that names every VM; nothing where nothing goes."""
    deleted, replaced = of(plan, Op.DELETE), of(plan, Op.REPLACE)
    if not (deleted or replaced):
        return
    parts = [_counted(op, steps) for op, steps in (("deletes", deleted), ("replaces", replaced)) if steps]
    yield Block(rank=Rank.SUMMARY, lines=[f"### ⚠️ This {' and '.join(parts)}"], what="warnings")
    vms = [(op, _vms(steps)) for op, steps in (("Deleted", deleted), ("Replaced", replaced))]
    lines = [f"> **{op}:** {line}  " for op, steps in vms for line in runs(steps)]
    if not lines:
        return
    yield Block(
        rank=Rank.LOSSES,
        opening=f"> [!CAUTION]\n> A job that runs on one of these {_called(vms)} is lost.{_anew(vms[1][1])}\n>",
        lines=lines,
        what="lines of VMs that go",
    )


def _called(lost: Sequence[tuple[str, Sequence[Step]]]) -> str:
    types = {step.type for _, steps in lost for step in steps}
    return " and ".join(noun for token, noun in ((VM_TYPE, "VMs"), (NODE_POOL_TYPE, "node pools")) if token in types)


def _anew(replaced: Sequence[Step]) -> str:
    return " A replaced VM is deleted before its successor of the same name is made." if replaced else ""


def _counted(verb: str, steps: Sequence[Step]) -> str:
    vms, others = _vms(steps), len(steps) - len(_vms(steps))
    chips = sum(map(chips_of, vms))
    parts = [f"{counted([step.name for step in vms])} ({plural(chips, 'chip')})"] if vms else []
    if others:
        parts.append(plural(others, "other resource" if vms else "resource"))
    return f"{verb} {' and '.join(parts)}"


def _vms(steps: Sequence[Step]) -> list[Step]:
    """TPU VMs, and node pools of slices."""
    return [step for step in steps if holds_slices(step)]
