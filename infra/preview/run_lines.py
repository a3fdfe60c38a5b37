"""What a run does and came to, for a terminal: kinds that are done, each pool that is not as planned, what differs.

Owns what of a run that goes on is folded: what is made, by service and, of VMs, by pool and zone. What is replaced or
deleted has a line each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from rich.text import Text

from infra.model.plan import Op, PhaseBegun, Plan, Status, Step
from infra.model.planned_capacity import holds_slices, outcomes
from infra.preview.folds import Fold, service
from infra.preview.plan_lines import STYLES, remark
from infra.preview.words import SIGNS, WORDS, change_lines, ranges, short_type, span

SURE_AFTER: Final = 5.0
"""Seconds before which nothing is said of the time left: what is quick comes first."""

FEW: Final = 3
"""So many resources of a service are told by their names."""
_NAMED_OPS: Final = frozenset((Op.REPLACE, Op.DELETE, Op.RETAIN))


def outcome(run: Plan, seconds: float) -> Iterator[Text]:
    """The lines that end an operation. Single failures were told when they came; here they are counted by pool."""
    steps = [step for step in run.steps if step.changes]
    done = Counter(step.op for step in steps if step.status is Status.DONE)
    statuses = Counter(step.status for step in steps)
    line = Text(f"{run.stack}: ", style="bold")
    if not steps:
        line.append("nothing changed", style="green")
    else:
        parts = [Text(f"{done[op]} {WORDS[op][1]}", style=STYLES[op]) for op in Op if done[op]]
        parts += [
            Text(f"{statuses[status]} {status.value}", style="bold red")
            for status in (Status.FAILED, Status.SKIPPED)
            if statuses[status]
        ]
        line.append_text(Text(", ").join(parts))
    unchanged = sum(step.op is Op.SAME for step in run.steps)
    yield line.append(f", {unchanged} unchanged, in {seconds:.1f} s")
    yield from _by_pool(run)
    yield from _errors(run)
    if run.failed:
        yield Text("What is done stays done: mend the cause and run the same command again.", style="yellow")


def drift(run: Plan, seconds: float) -> Iterator[Text]:
    """The lines that end a refresh: what the cloud has otherwise than the state had, and what is gone."""
    gone = [step for step in run.steps if step.op is Op.DELETE]
    differing = [step for step in run.steps if step.op is Op.UPDATE]
    for step in sorted((*gone, *differing), key=lambda step: (step.type, step.name)):
        what = f"{step.name} ({short_type(step.type)})"
        if step.op is Op.DELETE:
            yield Text(f"- {what} is gone", style=STYLES[Op.DELETE])
        else:
            yield Text(f"~ {what}", style=STYLES[Op.UPDATE])
            yield from (Text(f"    {line}") for line in change_lines(step))
    recorded = len(run.steps) - len(gone) - len(differing)
    counts = f"{len(differing)} differ, {len(gone)} gone, {recorded} as recorded, in {seconds:.1f} s"
    yield Text.assemble((f"{run.stack}: ", "bold"), counts)
    yield from _errors(run)


def destroy_lines(kept: Sequence[str], jobs: Sequence[object], unknown: str) -> Iterator[str]:
    """What a destroy leaves, and which jobs it ends. unknown: why these are not known; empty where they are."""
    if kept:
        yield f"kept, with what they need: {', '.join(kept)}"
    if jobs:
        yield f"{len(jobs)} {'job that has' if len(jobs) == 1 else 'jobs that have'} not ended would end:"
        yield from (f"  {job}" for job in jobs)
    if unknown:
        yield f"jobs in the cluster are not known, and would end: {unknown}"


def _errors(run: Plan) -> Iterator[Text]:
    """Errors that no failed resource has told already."""
    told = {step.urn for step in run.steps if step.status is Status.FAILED}
    for said in run.diagnostics:
        if said.severity == "error" and said.urn not in told:
            yield remark(said)


def _by_pool(run: Plan) -> Iterator[Text]:
    """`tpu-ci us-west4-a: 1 of 3 VMs not done`, and where any is not, also each pool and zone that is."""
    pools = outcomes(run)
    if not any(pool.missing for pool in pools):
        return
    for pool in pools:
        noun = "node pool" if pool.in_cluster else "VM"
        said = (
            f"{pool.missing} of {pool.planned} {noun}s not done" if pool.missing else f"{_all(pool.planned, noun)} done"
        )
        yield Text(f"  {pool.pool} {pool.zone}: {said}", style="red" if pool.missing else "green")


def _all(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"all {count} {noun}s"


class Counts:
    """How far a run is, and each of its phases. total: the resources that it works on, None where that is not known."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._ended: Counter[Status] = Counter()
        self._phase: tuple[str, float, Counter[Status]] | None = None

    def end(self, step: Step) -> None:
        self._ended[step.status] += 1

    def said(self, seconds: float, working: int | None = None) -> Text:
        """`120/224 done, 12 at work, 1:05, about 2 min left, 1 failed  phase 1 of 2, shrink`; seconds: since its begin.

        working: how many are at work, None where that is not told.
        """
        line = Text(f"{self._ended[Status.DONE]}{'' if self._total is None else f'/{self._total}'} done", style="bold")
        parts = ([] if working is None else [f"{working} at work"]) + [_minutes(seconds), *self._left(seconds)]
        line.append(f", {', '.join(parts)}", style="not bold")
        if failed := self._ended[Status.FAILED]:
            line.append(f", {failed} failed", style="bold red")
        return line.append(f"  {self._phase[0]}", style="dim not bold") if self._phase else line

    def begin(self, phase: PhaseBegun, seconds: float) -> Iterator[Text]:
        """The line that ends the phase before, if there was one."""
        yield from self.end_phase(seconds)
        self._phase = phase.message.partition(":")[0], seconds, Counter(self._ended)

    def end_phase(self, seconds: float) -> Iterator[Text]:
        """One line of what the phase came to, and of what is left of the run."""
        if self._phase is not None:
            phase, since, before = self._phase
            self._phase = None
            done = [f"{count} {status.value}" for status, count in sorted((self._ended - before).items())]
            parts = (*(done or ["nothing to do"]), f"in {_minutes(seconds - since)}", *self._left(seconds))
            yield Text(f"{phase}: {', '.join(parts)}", style="bold")

    def _left(self, seconds: float) -> list[str]:
        """`about 2 min left`, by what was done in these seconds; nothing where that says too little."""
        ended = sum(self._ended.values())
        if self._total is None or not 0 < ended < self._total or seconds < SURE_AFTER:
            return []
        return [f"about {span(timedelta(seconds=seconds / ended * (self._total - ended)))} left"]


def _minutes(seconds: float) -> str:
    """`1:05`."""
    whole, rest = divmod(int(seconds), 60)
    return f"{whole}:{rest:02d}"


class Tally:
    """Tells what is done, once the last resource of a kind is. plan: which resources there are of each.

    What it has none of is told at once, by its name.
    """

    def __init__(self, plan: Plan | None) -> None:
        self._left = Counter(_kind(step) for step in plan.steps if step.changes) if plan else Counter()
        self._done: defaultdict[tuple[Op, str], list[Step]] = defaultdict(list)

    def told(self, step: Step, counts: Text) -> Iterator[Text]:
        """What there is to say now that a step has ended. counts: how far all of it is."""
        kind = _kind(step)
        if step.status is Status.SKIPPED:
            yield Text(f"  skipped {_what(step)}: {step.error or 'not begun'}")
        elif step.status is Status.DONE and (step.op in _NAMED_OPS or self._left[kind] < 1):
            took = "" if step.seconds is None else f" in {step.seconds:.1f} s"
            yield Text(f"{SIGNS[step.op]} {WORDS[step.op][1]} {_what(step)}{took}")
        elif step.status is Status.DONE:
            self._done[kind].append(step)
        self._left[kind] -= 1
        if self._left[kind] == 0:
            yield from _kind_done(step.op, self._done.pop(kind, []), f"  ({counts})")

    def rest(self) -> Iterator[Text]:
        """What was done of kinds that are not done as a whole."""
        for (op, _), steps in self._done.items():
            yield from _kind_done(op, steps)
        self._done.clear()


def _kind(step: Step) -> tuple[Op, str]:
    """VMs go by pool and zone, which their names begin with."""
    return step.op, step.name.rpartition("-")[0] if holds_slices(step) else service(step)


def _kind_done(op: Op, steps: Sequence[Step], counts: str = "") -> Iterator[Text]:
    if not steps:
        return
    if len(steps) == 1 or (len(steps) <= FEW and not holds_slices(steps[0])):
        what = ", ".join(map(_what, steps))
    elif holds_slices(steps[0]):
        what = f"{len(steps):,} {short_type(steps[0].type)}: {', '.join(ranges(step.name for step in steps))}"
    else:
        what = str(Fold(service(steps[0]), tuple(steps)))
    yield Text(f"{SIGNS[op]} {WORDS[op][1]} {what}{counts}")


def _what(step: Step) -> str:
    return f"{step.name} ({short_type(step.type)})"
