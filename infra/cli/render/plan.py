"""A plan for people: what is made, changed, replaced and deleted and why, and what that means in capacity.

Resources that change in the same way share one entry. Whatever ends a VM is loud and names each VM.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import wrap
from typing import Any

from rich.text import Text

from infra.engines.capacity import VM_TYPE, capacity, chips_of
from infra.model.plan import Diagnostic, Op, Plan, PropertyChange, Step

STYLES = {
    Op.CREATE: "green",
    Op.UPDATE: "yellow",
    Op.REPLACE: "bold red",
    Op.DELETE: "bold red",
    Op.READ: "cyan",
    Op.SAME: "dim",
}
SIGNS = {Op.CREATE: "+", Op.UPDATE: "~", Op.REPLACE: "!", Op.DELETE: "-", Op.READ: ">", Op.SAME: "="}
UNCHANGING = frozenset((Op.SAME, Op.READ))
"""What changes nothing anywhere: not counted and not told."""
SHOWN_NAMES = 12
SHOWN_CHANGES = 6
MAX_VALUE = 48
_INDEXED = re.compile(r"(.*-)(\d+)")


def describe(plan: Plan, width: int) -> Iterator[Text]:
    """The lines of a plan, for a terminal of `width` columns. One that could not be made has its errors alone."""
    yield from _diagnostics(plan)
    if plan.failed:
        yield Text(f"{plan.stack}: no plan could be made; nothing was changed", style="bold red")
        return
    by_op = {op: [step for step in plan.steps if step.op is op] for op in Op}
    yield from _created(by_op[Op.CREATE], width)
    yield from _changed(Op.UPDATE, by_op[Op.UPDATE], width)
    yield from _changed(Op.REPLACE, by_op[Op.REPLACE], width)
    yield from _deleted(by_op[Op.DELETE])
    yield from _capacity(plan)
    yield headline(plan)


def headline(plan: Plan) -> Text:
    """`ci: 1 to create, 98 unchanged`, or that there is nothing to do."""
    counts = plan.summary
    changes = [(counts[op.value], op) for op in (Op.CREATE, Op.UPDATE, Op.REPLACE, Op.DELETE) if counts[op.value]]
    line = Text(f"{plan.stack}: ", style="bold")
    if not changes:
        return line.append(f"nothing to change, {counts['same']} unchanged", style="green")
    for count, op in changes:
        line.append(f"{count} to {op.value}", style=STYLES[op]).append(", ")
    return line.append(f"{counts['same']} unchanged")


def short_type(token: str) -> str:
    """`gcp:tpu/v2Vm:V2Vm` -> `tpu.V2Vm`; a component keeps its room: `tidepool:runners:Pool` -> `runners.Pool`."""
    package, _, rest = token.partition(":")
    module, _, name = rest.partition(":")
    if package == "pulumi":
        return f"{module}.{name}" if module == "providers" else "stack"
    return f"{module.partition('/')[0]}.{name}"


def ranges(names: Iterable[str]) -> list[str]:
    """Names with neighbouring indexes as one: `tpu-ci-us-west4-a-0`, `-1`, `-2` -> `tpu-ci-us-west4-a-{0..2}`."""
    indexed: defaultdict[str, list[int]] = defaultdict(list)
    plain: list[str] = []
    for name in names:
        found = _INDEXED.fullmatch(name)
        if found:
            indexed[found[1]].append(int(found[2]))
        else:
            plain.append(name)
    runs = [(stem, run) for stem, indexes in indexed.items() for run in _runs(indexes)]
    return sorted(plain + [f"{stem}{low}" if low == high else f"{stem}{{{low}..{high}}}" for stem, (low, high) in runs])


def _runs(indexes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Unbroken runs of indexes as (lowest, highest)."""
    for _, run in groupby(enumerate(sorted(indexes)), key=lambda pair: pair[1] - pair[0]):
        members = [index for _, index in run]
        yield members[0], members[-1]


def _created(steps: Sequence[Step], width: int) -> Iterator[Text]:
    if not steps:
        return
    yield _heading(Op.CREATE, len(steps))
    for token, group in _grouped(steps, lambda step: step.type):
        yield Text(f"  {short_type(token)} ({len(group)})")
        yield from _names(group, width)
    yield Text()


def _changed(op: Op, steps: Sequence[Step], width: int) -> Iterator[Text]:
    """Updates and replacements, those with the same changes under one entry."""
    if not steps:
        return
    yield _heading(op, len(steps), _what_replacing_means(steps) if op is Op.REPLACE else "")
    for (token, *changes), group in _grouped(steps, lambda step: (step.type, *change_lines(step))):
        yield Text(f"  {short_type(token)} ({len(group)})")
        for line in changes[:SHOWN_CHANGES]:
            yield Text(f"    {line}", style="yellow" if op is Op.UPDATE else "red")
        if len(changes) > SHOWN_CHANGES:
            yield Text(f"    and {len(changes) - SHOWN_CHANGES} more changed properties")
        yield from _each(group) if op is Op.REPLACE else _names(group, width)
    yield Text()


def _deleted(steps: Sequence[Step]) -> Iterator[Text]:
    if not steps:
        return
    yield _heading(Op.DELETE, len(steps), _with_chips("gone for good", steps))
    for token, group in _grouped(steps, lambda step: step.type):
        yield Text(f"  {short_type(token)} ({len(group)})")
        yield from _each(group)
    yield Text()


def _capacity(plan: Plan) -> Iterator[Text]:
    changes = [change for change in capacity(plan) if change.before != change.after]
    if not changes:
        return
    rows = Counter((change.place.pool, change.place.zone) for change in changes)
    yield Text("Capacity", style="bold")
    for change in changes:
        place = change.place
        kind = f" ({place.accelerator}, {place.capacity})" if rows[place.pool, place.zone] > 1 else ""
        style = "green" if change.after > change.before else "red"
        yield Text(f"  {place.pool} {place.zone}{kind}: {change.counts}", style=style)
    yield Text()


def _heading(op: Op, count: int, meaning: str = "") -> Text:
    word = op.value.upper() if op in {Op.REPLACE, Op.DELETE} else op.value
    said = Text(f"{SIGNS[op]} {word} {count}", style=STYLES[op])
    return said.append(f": {meaning}") if meaning else said


def _what_replacing_means(steps: Sequence[Step]) -> str:
    return _with_chips("each is deleted and made anew, its work is lost", steps)


def _with_chips(meaning: str, steps: Sequence[Step]) -> str:
    vms = [step for step in steps if step.type == VM_TYPE]
    if not vms:
        return meaning
    return f"{meaning} ({len(vms)} {'VM' if len(vms) == 1 else 'VMs'}, {sum(map(chips_of, vms))} chips)"


def _grouped(steps: Sequence[Step], key: Any) -> list[tuple[Any, list[Step]]]:
    """Steps by key, TPU VMs first, then by type."""
    groups: defaultdict[Any, list[Step]] = defaultdict(list)
    for step in steps:
        groups[key(step)].append(step)
    return sorted(groups.items(), key=lambda group: (group[1][0].type != VM_TYPE, group[0]))


def _each(steps: Sequence[Step]) -> Iterator[Text]:
    for step in sorted(steps, key=lambda step: step.name):
        yield Text(f"      {step.name}", style="bold" if step.type == VM_TYPE else "")


def _names(steps: Sequence[Step], width: int) -> Iterator[Text]:
    names = ranges(step.name for step in steps)
    shown = names if steps[0].type == VM_TYPE else names[:SHOWN_NAMES]
    text = ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")
    lines = wrap(text, max(width - 6, 40), break_long_words=False, break_on_hyphens=False)
    yield from (Text(f"      {line}", style="dim") for line in lines)


def change_lines(step: Step) -> list[str]:
    """A line for each property that differs, those that force a replacement first."""
    paths = sorted(step.diff, key=lambda path: (not step.diff[path].replaces, path))
    said = [_change(path, step.diff[path]) for path in paths]
    return said or [f"{path} forces it" for path in step.replace_reasons]


def _change(path: str, change: PropertyChange) -> str:
    forces = "  (forces the replacement)" if change.replaces else ""
    if change.kind == "add":
        return f"{path}: added {_value(change.after)}{forces}"
    if change.kind == "delete":
        return f"{path}: {_value(change.before)} removed{forces}"
    before, after = _value(change.before), _value(change.after)
    if before == after:
        return f"{path}: changed{forces}"
    return f"{path}: {before} -> {after}{forces}"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    text = " ".join(text.split()) or '""'
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 16]}... ({len(text):,} characters)"


def remark(diagnostic: Diagnostic) -> Text:
    """What an engine or a program said."""
    if diagnostic.severity == "error":
        return Text(f"error: {diagnostic.message}", style="red")
    if diagnostic.severity == "warning":
        return Text(f"warning: {diagnostic.message}", style="yellow")
    return Text(diagnostic.message, style="dim")


def _diagnostics(plan: Plan) -> Iterator[Text]:
    yield from (remark(each) for each in plan.diagnostics if each.severity != "debug")
