"""A VM is quiet when nothing runs on it and nothing will; until then it is said what is waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from infra.fleet import draining
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.keys import FindingKey, SourceKind, SourceName
from infra.fleet.controller.memory import EMPTY, Memory, VmMemory
from infra.fleet.controller.observed import KNOWN, Observed, unknown
from infra.fleet.draining import DrainState, VmStanding
from infra.fleet.github_lists import RunningJob
from infra.fleet.operator_requests import DrainRequest, OperatorRequests
from infra.fleet.reports import Phase, ReportSeen
from tests.fleet.controller.given_fleet import AWAY, HOME, START, fleet, minutes, node, nodes, place, runner, seen

VM = f"tpu-ci-{HOME}-0"


NEVER: dict[str, ReportSeen | None] = {}


def standing(
    *,
    settled: bool = False,
    said: dict[str, ReportSeen | None] = NEVER,
    running: dict[str, RunningJob] | None = None,
    **given: Any,
) -> VmStanding:
    desired = fleet(1)
    observed = seen(desired, **given)
    silent = draining.silent_zones(VM, desired, observed, EMPTY, START)
    return draining.standing(VM, observed, said, settled, running or {}, silent)


def says(phase: Phase, job: str = "", at: Any = START) -> dict[str, ReportSeen | None]:
    return {VM: ReportSeen(vm=VM, pool="tpu-ci", phase=phase, job=job, at=at)}


def test_a_running_job_is_named_so_that_it_is_found_at_github() -> None:
    busy = (runner(VM, busy=True),)
    job = RunningJob(repository="lab/code", name="tests", runner=busy[0].name, url="https://github.com/x/1")
    told = standing(runners=busy, said=says(Phase.BUSY, "its own word"), running={job.runner: job})
    assert (told.standing, told.why) == (DrainState.BUSY, "job tests of lab/code, https://github.com/x/1")
    bare = standing(runners=busy, running={job.runner: replace(job, url="")})
    assert bare.why == f"job tests of lab/code, on runner {VM}-000001"


def test_an_idle_vm_is_quiet_once_its_supervisor_says_that_it_takes_no_job() -> None:
    assert standing(said=says(Phase.IDLE)).standing is DrainState.SETTLING
    assert standing(runners=(), said=says(Phase.REGISTERING)).standing is DrainState.SETTLING
    assert standing(runners=(), said=says(Phase.DRAINING)).standing is DrainState.QUIET
    assert standing(said=says(Phase.IDLE), settled=True).standing is DrainState.QUIET


def test_a_vm_that_was_taken_away_runs_nothing_and_one_that_nobody_can_see_is_not_known() -> None:
    desired = fleet(1)
    busy = (runner(VM, busy=True),)
    assert standing(nodes=nodes(desired, s0="PREEMPTED"), runners=busy).standing is DrainState.QUIET
    assert standing(nodes=()).standing is DrainState.QUIET
    assert standing(nodes=(), zones={HOME: unknown("503")}).standing is DrainState.UNKNOWN


def test_a_vm_that_stands_nowhere_is_doubted_for_its_own_zones_alone_and_not_for_one_that_was_given_up() -> None:
    desired = fleet(1)
    dark = seen(desired, nodes=(), zones={HOME: KNOWN, AWAY: unknown("503")})
    nothing = VmMemory(seen=START)
    listed = decide(desired, seen(desired, nodes=(node(VM, zone=AWAY),)), EMPTY, START).memory

    def silent(observed: Observed, memory: Memory, fleet: Desired = desired) -> tuple[str, ...]:
        return draining.silent_zones(VM, fleet, observed, memory, START + minutes(10))

    assert silent(dark, replace(EMPTY, vms={VM: nothing})) == ()
    tried = replace(nothing, tried={AWAY: START})
    asked_for = replace(EMPTY, vms={VM: tried})
    assert silent(dark, asked_for) == (AWAY,)
    assert silent(dark, listed) == (AWAY,)
    assert silent(dark, EMPTY, fleet(1, fallbacks=(place(AWAY),))) == (AWAY,)
    given_up = replace(dark, requests=OperatorRequests(lost={AWAY: "ada"}))
    for memory in (asked_for, listed):
        assert silent(given_up, memory) == (AWAY,), "it may be silent for a moment alone"
        assert (
            silent(given_up, replace(memory, reported={FindingKey.unknown(SourceName(SourceKind.ZONE, AWAY)): START}))
            == ()
        )


class _Watch:
    """Looks that find what was given, one after another, a minute apart."""

    def __init__(self, *looks: DrainState) -> None:
        self.now, self.looks, self.told, self.settled = START, list(looks), [], []

    def __call__(self, settled: bool) -> Sequence[VmStanding]:
        self.settled.append(settled)
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        return [VmStanding(vm=VM, standing=found, why="job tests")]

    def wait(self, limit: float) -> tuple[VmStanding, ...]:
        def pause() -> None:
            self.now += minutes(1)

        return draining.wait(
            self, clock=lambda: self.now, pause=pause, limit=minutes(limit), tell=lambda left: self.told.append(left)
        )


def test_what_is_waited_for_is_told_once_until_it_changes() -> None:
    watch = _Watch(DrainState.BUSY, DrainState.BUSY, DrainState.SETTLING, DrainState.QUIET)
    assert watch.wait(60) == ()
    assert [[each.standing for each in told] for told in watch.told] == [[DrainState.BUSY], [DrainState.SETTLING]]


def test_a_job_that_outlasts_the_limit_is_left_and_told() -> None:
    (left,) = _Watch(DrainState.BUSY).wait(5)
    assert left.why == "job tests"
    assert _Watch(DrainState.BUSY).wait(0) == (left,)


def test_supervisors_have_three_minutes_to_read_their_orders() -> None:
    watch = _Watch(DrainState.SETTLING)
    watch.wait(5)
    assert watch.settled == [False, False, False, True, True, True]


@pytest.mark.parametrize(
    ("other", "drained", "free"),
    [(None, None, True), ("tpu-ci", None, False), (None, START - minutes(5), False), (None, START + minutes(1), True)],
)
def test_an_ended_drain_frees_a_vm_unless_it_was_drained_for_another_reason(
    other: str | None, drained: Any, free: bool
) -> None:
    drains = [DrainRequest(subject=subject, by="ada", since=START, minutes=5) for subject in (VM, other) if subject]
    memory = replace(EMPTY, vms={VM: VmMemory(drained=drained, seen=START)})
    assert draining.released([VM], {VM: "tpu-ci"}, drains, VM, memory) == ((VM,) if free else ())


def test_without_github_a_vm_is_quiet_only_by_a_word_that_is_its_own() -> None:
    """A report that another wrote, or that nobody understands, does not say that no job runs."""
    silent: Any = {"github": unknown("502"), "runners": (), "settled": True}
    told = standing(said={VM: None}, **silent)
    assert (told.standing, "no report of its own" in told.why) == (DrainState.UNKNOWN, True)
    assert standing(said=says(Phase.DRAINING), **silent).standing is DrainState.QUIET
    assert standing(said={}, **silent).standing is DrainState.QUIET, "who never reported has no supervisor"
