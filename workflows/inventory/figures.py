"""The figures of before and after, each with the sum that gives it, and the targets they are held against. Pure.

Owns the arithmetic. A wait here is what is expected where nobody else asks for the pool; the most that it can be is
`infra.model.waits`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from posixpath import basename
from typing import Any

from infra.model.demand import Code, Demand, Demands
from infra.model.offers import Offers
from infra.model.schema import StackConfig
from infra.model.waits import Wait, waits
from workflows.generate import Generated
from workflows.inventory.before import Before
from workflows.inventory.triggered import started_a_week
from workflows.spec import Spec
from workflows.spec.model import Priority, Suite

MOST_FILES = 14
LONGEST_START = 1.0
SHORTER_BY = 0.2
JAX_VERSIONS = 3
PREEMPTIBLE_DAYS = 7
"""A preemptible VM lives for a day at most: so often a week it is made again, at the most."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line. met: whether the target is, None where there is none. sums: how before and after come about."""

    what: str
    before: str
    after: str
    target: str = ""
    met: bool | None = None
    sums: tuple[str, ...] = ()


def figures(
    spec: Spec, before: Before, files: Sequence[Generated], demands: Demands, stacks: Sequence[StackConfig]
) -> tuple[Figure, ...]:
    """All of them. files: what is generated of the specification. demands: of every workflow."""
    mine = tuple(each for each in demands.demands if each.repository == spec.declared.repository)
    return (
        *_counts(spec, before, files),
        _machines(before, mine, stacks, files),
        *_times(before, mine, demands, stacks),
        _jax(spec, before),
        _first(spec, demands, stacks),
    )


def _counts(spec: Spec, before: Before, files: Sequence[Generated]) -> Iterator[Figure]:
    kept, gone = len(spec.declared.kept), [old for old in before.files if old.becomes]
    after = len(files) + kept
    sums = (f"after = {len(files)} generated + {kept} that stay as they are; stale.yml stands outside",)
    yield Figure("workflow files", str(len(before.files)), str(after), f"<= {MOST_FILES}", after <= MOST_FILES, sums)
    data = [file.workflow.plain() for file in files]
    yield _of_files("jobs in them", gone, "jobs", sum(len(each["jobs"]) for each in data))
    yield _of_files("lines in them", gone, "lines", sum(len(file.text.splitlines()) for file in files))
    written = max(spec.lines.values(), default=0)
    sums = (f"after = {spec.file}; all else is derived",)
    yield Figure("lines that people write", _of_files("", gone, "lines", 0).before, str(written), sums=sums)
    steps = [step for each in data for job in each["jobs"].values() for step in job.get("steps", ())]
    yield _of_files("steps in them", gone, "steps", len(steps))
    again = f"after: {_repeats(steps)} steps of generated files are the words of another, each written in one place"
    sums = ("before = of the files that were read, in the words of one before", again)
    known = sum(old.repeated or 0 for old in gone)
    yield Figure("steps written again", str(known), "0", "0", met=True, sums=sums)


def _of_files(what: str, gone: Sequence[Any], key: str, after: int) -> Figure:
    """A sum over the files that are replaced, with how many of them are not known."""
    known = [value for old in gone if (value := getattr(old, key)) is not None]
    missing = len(gone) - len(known)
    said = f"{sum(known)}" + (f" + {missing} files" if missing else "")
    return Figure(
        what,
        said,
        str(after),
        sums=(f"before = of {len(known)} of the {len(gone)} files that are replaced, which were read",),
    )


def _repeats(steps: Iterable[Mapping[str, Any]]) -> int:
    """Steps that stand in the same words before."""
    words = Counter(json.dumps([step.get(key) for key in ("uses", "run", "with")], sort_keys=True) for step in steps)
    return sum(count - 1 for count in words.values())


def _machines(
    before: Before, mine: Sequence[Demand], stacks: Sequence[StackConfig], files: Sequence[Generated]
) -> Figure:
    assumed = before.assumed
    runs, builds = _runs(before), assumed.image_builds_a_week.value
    was = before.pull_request.vms * runs + len(before.vm_runs) * builds
    vms = Counter(basename(file) for file, _ in {(demand.file, demand.job) for demand in mine if demand.vm})
    causes = started_a_week(files, assumed.merged_a_week.value)
    started = [(file, count, cause) for file, count in sorted(vms.items()) for cause in causes.get(file, ())]
    tested = sum(start.legs for demand in mine if demand.vm for start in demand.starts if _pulled(start.event))
    now = tested * runs + sum(count * cause.times for _, count, cause in started)
    standing = _standing(mine, stacks)
    sums = (
        f"before = {before.pull_request.vms} x {runs:g} runs + {len(before.vm_runs)} jobs x {builds:g} image build",
        f"runs = {assumed.merged_a_week.value:g} merged a week x {assumed.runs_each.value:g} each",
        f"merged: {assumed.merged_a_week.why}; each (assumed): {assumed.runs_each.why}",
        f"after = {tested} x {runs:g} runs, and by the triggers of the files:",
        *(f"{count} x {cause.times:g} of {file} ({cause.why})" for file, count, cause in started),
        f"beside it, {standing} VMs of pools, made again {standing * PREEMPTIBLE_DAYS} times at most (a day each)",
    )
    return Figure("VMs made for runs, a week", f"{was:g}", f"{now:g}", sums=sums)


def _times(before: Before, mine: Sequence[Demand], demands: Demands, stacks: Sequence[StackConfig]) -> Iterator[Figure]:
    """Of the TPU legs that took the place of VMs, on a pull request; GitHub's runners do the same as before."""
    assumed = before.assumed
    made, start, test = (
        each.value for each in (assumed.vm_start_minutes, assumed.runner_start_minutes, assumed.test_minutes)
    )
    replaced = {old.becomes for old in before.files if old.becomes and "tpu" in old.file}
    legs, at_once = _legs(mine, replaced)
    waves = ceil(legs / at_once) if at_once else 0
    starts = [start + (leg // at_once) * test for leg in range(legs)] if at_once else [made]
    mean, vms = sum(starts) / len(starts), before.pull_request.vms
    last = max(starts)
    said = (
        f"before = {made:g} min for a new VM ({assumed.vm_start_minutes.why})",
        f"after = {start:g} min for an idle runner ({assumed.runner_start_minutes.why})",
    )
    yield Figure("a TPU test starts after", f"{made:g} min", f"{start:g} min", "< 1 min", start < LONGEST_START, said)
    sums = (
        f"after = mean over {legs} legs, {at_once} at once: {', '.join(f'{each:g}' for each in starts)} min",
        f"a leg tests for {test:g} min (assumed: {assumed.test_minutes.why})",
        *(f"at the most, with all limits used: {each}" for each in _longest(demands, stacks, mine, replaced)),
    )
    yield Figure("waiting of a leg, a pull request", f"{made:g} min", f"{mean:.1f} min", sums=sums)
    was, now = vms * (made + test), legs * (start + test)
    less = 1 - now / was
    sums = (
        f"before = {vms} legs x ({made:g} + {test:g}) min",
        f"after = {legs} legs x ({start:g} + {test:g}) min; the other accelerators run on main",
    )
    target, met = f"{SHORTER_BY:.0%} less", less >= SHORTER_BY
    yield Figure("TPU job time, a pull request", f"{was:g} min", f"{now:g} min ({less:.0%} less)", target, met, sums)
    sums = (
        f"before = {made:g} + {test:g} min, all VMs at once",
        f"after = {start:g} + {waves} x {test:g} min, {at_once} legs at once",
    )
    yield Figure("until the last TPU leg ends", f"{made + test:g} min", f"{last + test:g} min", sums=sums)


def _legs(mine: Iterable[Demand], files: set[str]) -> tuple[int, int]:
    """Legs of a pull request on pools, and how many run at once."""
    for demand in mine:
        if demand.file.rpartition("/")[2] in files and not demand.hosted and not demand.vm:
            legs = sum(start.legs for start in demand.starts if _pulled(start.event) and start.code is Code.BRANCH)
            if legs:
                return legs, min(legs, demand.max_parallel or legs)
    return 0, 0


def _longest(demands: Demands, stacks: Sequence[StackConfig], mine: Sequence[Demand], files: set[str]) -> Iterator[str]:
    for wait in waits(demands, Offers.of(stacks)):
        if wait.demand in mine and wait.demand.file.rpartition("/")[2] in files:
            yield str(wait)


def _jax(spec: Spec, before: Before) -> Figure:
    suites = [suite for suite in _suites(spec) if suite.jax]
    least = min((len(suite.jax) for suite in suites), default=0)
    sums = (f"of {len(suites)} suites with jax versions: {', '.join(suites[0].jax) if suites else 'none'}",)
    was = str(before.pull_request.jax_versions)
    return Figure("jax versions tested", was, str(least), str(JAX_VERSIONS), least >= JAX_VERSIONS, sums)


def _first(spec: Spec, demands: Demands, stacks: Sequence[StackConfig]) -> Figure:
    """Whether the first on a pool takes all it wants, and one run of whoever shares it leaves it that."""
    on_pools = {
        (tests.file, suite.job): suite
        for tests in spec.declared.tests
        for suite in tests.suites
        if not suite.where.hosted
    }
    first = [suite for suite in on_pools.values() if suite.priority is Priority.FIRST]
    shared = {key for key, suite in on_pools.items() if suite.priority is not Priority.FIRST}
    pools = {pool for suite in first for pool in suite.where.every}
    met = bool(first) and all(suite.package == "marin" for suite in first) and bool(shared)
    sums = (
        *_left(shared, pools, waits(demands, Offers.of(stacks))),
        "that holds of one run; several at once can fill a pool, and then the first leg to end makes room",
    )
    said = ", ".join(dict.fromkeys(suite.package for suite in first)) or "nobody"
    return Figure("first where both wait", "who asked first", said, "marin", met, sums)


def _left(jobs: Collection[tuple[str, str]], pools: Collection[str], found: Iterable[Wait]) -> Iterator[str]:
    """What a pull request's run of each job that is not first leaves free of the pools that it shares."""
    for wait in found:
        file, job = wait.demand.file.rpartition("/")[2], wait.demand.job
        if (file, job) in jobs and _pulled(wait.event) and set(pools) & set(wait.pools):
            left = f"{wait.vms - wait.at_once} of {wait.vms} VMs"
            yield f"{', '.join(wait.pools)}: {wait.at_once} legs of {file} {job} at once leave {left} free"


def _suites(spec: Spec) -> tuple[Suite, ...]:
    return tuple(suite for tests in spec.declared.tests for suite in tests.suites)


def _runs(before: Before) -> float:
    return before.assumed.merged_a_week.value * before.assumed.runs_each.value


def _pulled(event: str) -> bool:
    return event.startswith("pull_request")


def _standing(mine: Sequence[Demand], stacks: Sequence[StackConfig]) -> int:
    """VMs of pools that these workflows' repository has."""
    repositories = {demand.repository for demand in mine}
    return sum(pool.slices for stack in stacks for pool in stack.pools if repositories & set(pool.serves))
