"""What a run came to, for a terminal: counts, each pool that is not as planned, what the cloud has otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from infra.model.plan import Op, Plan, Status, Step
from infra.model.planned_capacity import outcomes
from infra.preview.plan_lines import STYLES, remark
from infra.preview.words import SIGNS, WORDS, change_lines, short_type


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


def step_line(step: Step) -> Text:
    """What became of one resource."""
    what = f"{step.name} ({short_type(step.type)})"
    if step.status is Status.SKIPPED:
        return Text(f"  skipped {what}: {step.error or 'not begun'}")
    took = "" if step.seconds is None else f" in {step.seconds:.1f} s"
    return Text(f"{SIGNS[step.op]} {WORDS[step.op][1]} {what}{took}")
