"""A plan for a terminal: what is made, changed, replaced and deleted and why, what that means, its phases and findings.

Resources that change in the same way share one entry, and much that is new is folded by kind (`folds`). Whatever ends a
VM is loud and names each VM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from textwrap import wrap

from rich.text import Text

from infra.model.phases import Phase, Phases, Work
from infra.model.plan import UNCHANGING, Diagnostic, Op, Plan, Step
from infra.model.planned_capacity import VM_TYPE, capacity, chips_of, holds_slices
from infra.model.planned_records import record_changes
from infra.preview.folds import folded
from infra.preview.renames import renamed_in
from infra.preview.sentences import plural
from infra.preview.words import (
    SIGNS,
    change_lines,
    counted,
    grouped,
    ranges,
    short_type,
    told,
    told_once,
    vms,
    why_phases,
)
from infra.rules.finding import Finding, Level

STYLES = {
    Op.CREATE: "green",
    Op.ADOPT: "cyan",
    Op.UPDATE: "yellow",
    Op.REPLACE: "bold red",
    Op.DELETE: "bold red",
    Op.RETAIN: "yellow",
    Op.READ: "cyan",
    Op.SAME: "dim",
}
CHANGING = tuple(op for op in STYLES if op not in UNCHANGING)
_LEVELS = {Level.STOP: "bold red", Level.WARN: "yellow"}
SHOWN_NAMES = 8
SHOWN_CHANGES = 6
_TOLD = ("info", "warning", "error")


class Detail(StrEnum):
    """How much of a plan is told. QUIET: what is lost, and the counts. EVERY: each name."""

    QUIET = "quiet"
    FOLDED = "folded"
    EVERY = "every"


def describe(plan: Plan, width: int, detail: Detail = Detail.FOLDED) -> Iterator[Text]:
    """The lines of a plan, for a terminal of `width` columns. One that could not be made has its errors alone."""
    quiet, every = detail is Detail.QUIET, detail is Detail.EVERY
    said = [each for each in plan.diagnostics if each.severity in (("error",) if quiet else _TOLD)]
    remarks = [(each, told(each)) for each in said] if every else list(told_once(said))
    repeated = [] if every else [each for each, _ in remarks if each.severity == "warning" and each.repeats]
    yield from (_remarked(each.severity, text) for each, text in remarks if each not in repeated)
    if repeated:
        yield Text(f"{plural(len(repeated), 'warning')} that every run repeats (--all shows more)", style="yellow")
    if plan.failed:
        yield Text(f"{plan.stack}: the plan is incomplete and is not shown; nothing was changed", style="bold red")
        return
    by_op = {op: [step for step in plan.steps if step.op is op] for op in Op}
    if not quiet:
        yield from _made(Op.CREATE, by_op[Op.CREATE], width, every=every)
        adopted = "in the cloud as declared; the state takes it over"
        yield from _made(Op.ADOPT, by_op[Op.ADOPT], width, adopted, every=every)
        yield from _changed(Op.UPDATE, by_op[Op.UPDATE], width, every=every)
    yield from _changed(Op.REPLACE, by_op[Op.REPLACE], width)
    yield from _deleted(by_op[Op.DELETE])
    if not quiet:
        yield from _retained(by_op[Op.RETAIN])
        yield from _records(plan)
        yield from _capacity(plan)
    yield headline(plan)


def headline(plan: Plan) -> Text:
    """`ci: 1 to create, 98 unchanged`, or that there is nothing to do."""
    counts = plan.summary
    changes = [(counts[op.value], op) for op in CHANGING if counts[op.value]]
    line = Text(f"{plan.stack}: ", style="bold")
    if not changes:
        return line.append(f"nothing to change, {counts['same']} unchanged", style="green")
    for count, op in changes:
        line.append(f"{count} to {op.value}", style=STYLES[op]).append(", ")
    return line.append(f"{counts['same']} unchanged")


def _made(op: Op, steps: Sequence[Step], width: int, meaning: str = "", *, every: bool) -> Iterator[Text]:
    """What is new in the state."""
    if not steps:
        return
    yield _heading(op, len(steps), meaning)
    named, folds = folded(steps, every=every)
    for token, group in grouped(named, lambda step: step.type):
        yield Text(f"  {short_type(token)} ({len(group)})")
        yield from _names(group, width, every=every)
    for fold in folds:
        yield from map(Text, wrap(str(fold), width, initial_indent="  ", subsequent_indent="      "))
    if folds:
        yield Text("  (--all names each)", style="dim")
    yield Text()


def _changed(op: Op, steps: Sequence[Step], width: int, *, every: bool = False) -> Iterator[Text]:
    """Updates and replacements, those with the same changes under one entry."""
    if not steps:
        return
    yield _heading(op, len(steps), _what_replacing_means(steps) if op is Op.REPLACE else "")
    for (token, *changes), group in grouped(steps, lambda step: (step.type, *change_lines(step))):
        yield Text(f"  {short_type(token)} ({len(group)})")
        shown = changes if every else changes[:SHOWN_CHANGES]
        for line in shown:
            yield Text(f"    {line}", style="yellow" if op is Op.UPDATE else "red")
        if len(changes) > len(shown):
            yield Text(f"    and {len(changes) - len(shown)} more changed properties")
        yield from _each(group) if op is Op.REPLACE else _names(group, width, every=every)
    yield Text()


def _deleted(steps: Sequence[Step]) -> Iterator[Text]:
    if not steps:
        return
    yield _heading(Op.DELETE, len(steps), _with_chips("gone for good", steps))
    for token, group in grouped(steps, lambda step: step.type):
        yield Text(f"  {short_type(token)} ({len(group)})")
        yield from _each(group)
    yield Text()


def _retained(steps: Sequence[Step]) -> Iterator[Text]:
    if not steps:
        return
    yield _heading(Op.RETAIN, len(steps), "the state lets go of it, and the cloud keeps it")
    for token, group in grouped(steps, lambda step: step.type):
        yield Text(f"  {short_type(token)} ({len(group)})")
        yield from _each(group)
    yield Text()


def _records(plan: Plan) -> Iterator[Text]:
    """What changes of the desired fleet beside its VMs, which are told as resources."""
    changes = record_changes(plan)
    if not changes:
        return
    yield Text("Fleet records", style="bold")
    yield from (Text(f"  {change.says}", style="yellow") for change in changes)
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
    yield from (Text(f"  {said}", style="yellow") for said in renamed_in(plan))
    yield Text()


def _heading(op: Op, count: int, meaning: str = "") -> Text:
    word = op.value.upper() if op in {Op.REPLACE, Op.DELETE} else op.value
    said = Text(f"{SIGNS[op]} {word} {count}", style=STYLES[op])
    return said.append(f": {meaning}") if meaning else said


def _what_replacing_means(steps: Sequence[Step]) -> str:
    waits = "; `up` waits for running jobs unless --no-drain" if any(step.type == VM_TYPE for step in steps) else ""
    return _with_chips(f"each is deleted and created again{waits}", steps)


def _with_chips(meaning: str, steps: Sequence[Step]) -> str:
    vms = [step for step in steps if holds_slices(step)]
    if not vms:
        return meaning
    return f"{meaning} ({counted([step.name for step in vms])}, {sum(map(chips_of, vms))} chips)"


def _each(steps: Sequence[Step]) -> Iterator[Text]:
    for step in sorted(steps, key=lambda step: step.name):
        yield Text(f"      {step.name}", style="bold" if step.type == VM_TYPE else "")


def _names(steps: Sequence[Step], width: int, *, every: bool) -> Iterator[Text]:
    names = ranges(step.name for step in steps)
    shown = names if every or steps[0].type == VM_TYPE else names[:SHOWN_NAMES]
    text = ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")
    lines = wrap(text, max(width - 6, 40), break_long_words=False, break_on_hyphens=False)
    yield from (Text(f"      {line}", style="dim") for line in lines)


def remark(diagnostic: Diagnostic) -> Text:
    """What an engine or a program said."""
    return _remarked(diagnostic.severity, told(diagnostic))


def _remarked(severity: str, text: str) -> Text:
    if severity == "error":
        return Text(f"error: {text}", style="red")
    if severity == "warning":
        return Text(f"warning: {text}", style="yellow")
    return Text(text, style="dim")


def describe_phases(phases: Phases) -> Iterator[Text]:
    """Nothing where one pass is safe and everything has room."""
    if phases.needed:
        yield Text(f"Order: {len(phases.order)} phases, {why_phases(phases)}", style="bold")
        yield from (Text(f"  {load.why}") for load in phases.reasons)
        yield from (Text(f"  {number}. {_phase(phase)}") for number, phase in enumerate(phases.order, start=1))
    for load in phases.exceeded:
        yield Text(f"over the limit: {load.why}", style="bold red")
    if phases.held:
        yield Text(f"no room for {vms(phases.held)}: held back", style="bold red")


def _phase(phase: Phase) -> str:
    done = {
        "deletes": phase.deleted,
        "replaces": phase.replaced,
        "makes": phase.created,
        "resizes": phase.resized,
    }
    said = "; ".join(f"{verb} {vms(names)}" for verb, names in done.items() if names)
    if phase.work is Work.RETIRE:
        return f"{phase.work.value}: once what is new serves and their jobs are done, {said}"
    return f"{phase.work.value}: {said}" + (", and nothing else" if phase.work is Work.SHRINK else ", and all else")


def describe_findings(findings: Iterable[Finding]) -> Iterator[Text]:
    """A line for each finding and one for what to write, those that stop first."""
    for finding in sorted(findings, key=lambda finding: (not finding.stops, finding)):
        line = Text(f"{finding.level}: ", style=_LEVELS[finding.level])
        yield line.append(f"{finding.subject}: {finding.reason}  [{finding.rule}]", style="default not bold")
        yield Text(f"    write: {finding.fix}", style="dim")
