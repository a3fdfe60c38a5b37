"""Repositories that are served no more: their runners are looked for until none can have a job, and doubt is local."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from infra.fleet.controller.actions import Decision, Delete
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import Result
from infra.fleet.controller.github import GitHubError
from infra.fleet.controller.memory import EMPTY, Memory, ScopeMemory
from infra.fleet.controller.observed import KNOWN, Observed, RunnerSeen, unknown
from infra.fleet.draining import DrainState, standing
from infra.fleet.google import clients
from infra.fleet.reports import Phase, ReportSeen
from infra.model import bucket_names
from infra.model.manifest import emptied
from tests.fleet.controller.given_fleet import (
    HOME,
    START,
    SWEEP,
    doing,
    first,
    fleet,
    labels,
    minutes,
    node,
    remembered,
    seen,
    slot,
)
from tests.fleet.controller.swept_lab import REPOSITORY, VMS, Lab, did
from tests.model.given import parse, pool, stack_text

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

OLD = "repos/a-lab/old"
POOLS = pool(name="tpu-ci", zones="{us-west4-a: 3}", capacity="preemptible", serves=f"[{REPOSITORY}]")
OLD_POOL = pool(name="old", zones="{us-west4-a: 1}", capacity="preemptible", serves="[a-lab/old]")
OLD_VM = "old-us-west4-a-0"


@pytest.fixture
def lab(ticking_cloud: TestCloud) -> Iterator[Lab]:
    config = parse(stack_text(pools=POOLS + OLD_POOL))
    with clients(config.project, ticking_cloud.url) as google:
        made = Lab(ticking_cloud, config, google)
        made.github.add_repository("a-lab/old")
        made.add_node(OLD_VM, **labels(pool="old"))
        yield made


def shrink(lab: Lab, *, left: int) -> None:
    """Declare the first `left` slots of the first pool alone."""

    def without(body: object) -> dict[str, object]:
        assert isinstance(body, dict)
        slots = [each for each in body["slots"] if each["name"] in VMS[:left]]
        return {**body, "slots": slots} if slots else emptied(body, "a test")

    lab.records.update(bucket_names.manifest_object("ci"), without)


@pytest.mark.parametrize("left", [3, 0], ids=["others are served", "nothing is served any more"])
def test_a_busy_vm_outlives_the_last_slot_that_serves_its_repository(lab: Lab, left: int) -> None:
    lab.github.add_runner("a-lab/old", f"{OLD_VM}-00abcd", status="online", busy=True, labels=["old"])
    lab.sweep()
    shrink(lab, left=left)
    for _ in range(20):
        swept = lab.sweep(5)
        assert ("delete", OLD_VM, "done") not in did(swept)
        assert swept.observed.left[OLD] == KNOWN
    assert OLD_VM in lab.nodes()
    lab.github.lose_runner("a-lab/old", f"{OLD_VM}-00abcd")
    for _ in range(8):
        lab.sweep(31)
    assert OLD_VM not in lab.nodes()


# Decisions


ORPHAN = node(f"old-{HOME}-0", labels=labels(pool="old"))


def since(desired: Desired, observed: Observed, memory: Memory, count: int) -> list[Decision]:
    """Sweeps that all see the same, after the one that remembered the old pool."""
    decisions: list[Decision] = []
    for index in range(1, count + 1):
        now = START + index * SWEEP
        decisions.append(decide(desired, observed, memory, now))
        memory = remembered(decisions[-1], desired, now)
    return decisions


@pytest.fixture
def both() -> tuple[Desired, Memory]:
    """A fleet that serves no more what its memory says that it served."""
    desired = fleet(3)
    old = replace(slot(0, pool="old"), serves=("a-lab/old",))
    before = replace(desired, slots=(*desired.slots, old))
    return desired, first(before, seen(before)).memory


def all_doing(decisions: list[Decision]) -> set[tuple[str, str]]:
    return {each for decision in decisions for each in doing(decision)}


def test_an_old_repository_that_cannot_be_asked_spares_vms_of_its_time_and_no_others(
    both: tuple[Desired, Memory],
) -> None:
    desired, memory = both
    later = node(f"old-{HOME}-7", labels=labels(pool="old"), created=(START + minutes(60)).isoformat())
    everything = (*seen(desired).nodes, ORPHAN, later)
    lost = desired.slots[0].name
    observed = seen(
        desired,
        nodes=everything,
        runners=tuple(each for each in seen(desired).runners if each.vm != lost),
        left={OLD: unknown("404")},
    )
    done = all_doing(since(desired, observed, memory, 60))
    assert ("Delete", later.name) in done
    assert ("Restart", lost) in done, "what the repository never served is healed all the while"
    assert ("Delete", ORPHAN.name) not in done
    assert standing(ORPHAN.name, observed, {}, True, {}, ()).standing is DrainState.QUIET
    busy = ReportSeen(vm=ORPHAN.name, pool="old", phase=Phase.BUSY, at=START)
    assert standing(ORPHAN.name, observed, {ORPHAN.name: busy}, True, {}, ()).standing is DrainState.BUSY


def test_an_old_repository_that_is_gone_for_good_is_forgotten_once_no_job_of_it_can_run(
    both: tuple[Desired, Memory],
) -> None:
    desired, memory = both
    observed = seen(desired, nodes=(*seen(desired).nodes, ORPHAN), left={OLD: unknown("404")})
    done: list[tuple[int, str]] = []
    for hour in range(1, 24 * 8):
        now = START + timedelta(hours=hour)
        asked = replace(observed, left={scope: unknown("404") for scope in memory.scopes.get("old", ())})
        decision = decide(desired, asked, memory, now)
        done += [(hour // 24, what) for what, about in doing(decision) if about == ORPHAN.name]
        memory = remembered(decision, desired, now)
    assert done[0] == (7, "Drain")
    assert (7, "Delete") in done


def test_with_groups_a_pools_runners_are_the_organisations_alone() -> None:
    """A repository of which none can be must not be asked for, once it left, by a pool that heals meanwhile."""
    desired = fleet(3, groups=True)
    learned = first(desired, seen(desired)).memory
    assert learned.scopes == {"tpu-ci": {"orgs/a-lab": ScopeMemory(until=START, declared=True)}}


# How often GitHub is asked


class Counted:
    """The lab's GitHub, by which sources are listed. fails: whether no list is had."""

    def __init__(self, lab: Lab, *, fails: bool = False) -> None:
        self.api, self.fails, self.lists = lab.api, fails, list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.api, name)

    def runners(self, source: str) -> tuple[RunnerSeen, ...]:
        self.lists.append(source)
        if self.fails:
            raise GitHubError("502")
        return self.api.runners(source)


def test_fifty_vms_that_go_are_one_list_of_runners_and_each_of_theirs_by_name(lab: Lab) -> None:
    many = [f"tpu-ci-us-west4-a-{index}" for index in range(10, 60)]
    for vm in many:
        lab.add_node(vm)
        lab.add_runner(vm, busy=vm == many[7])
    github: Any = Counted(lab)
    sweeper = lab.sweeper(github)
    desired, *_ = sweeper._desired()
    nodes = {each.name: each for each in sweeper.observer.observe(desired, EMPTY).nodes}
    github.lists.clear()
    actor = sweeper.actor(desired)
    done = {vm: actor.do(Delete(node=nodes[vm], rule="orphan-draining", reason="")).result for vm in many}
    assert done == {**dict.fromkeys(many, Result.DONE), many[7]: Result.CHANGED}
    assert github.lists == [f"repos/{REPOSITORY}", OLD]


def test_a_job_that_began_since_the_list_of_the_batch_keeps_its_vm(lab: Lab) -> None:
    """The list is some seconds old; a runner that it has is asked for by its name."""
    first_vm, second_vm = (f"tpu-ci-us-west4-a-{index}" for index in (8, 9))
    for vm in (first_vm, second_vm):
        lab.add_node(vm)
    name = lab.add_runner(second_vm)
    sweeper = lab.sweeper()
    actor = sweeper.actor(sweeper._desired()[0])
    assert not actor._has_a_job(node(first_vm))
    lab.github.lose_runner(REPOSITORY, name)
    lab.github.add_runner(REPOSITORY, name, status="online", busy=True, labels=["tpu-ci"])
    assert actor._has_a_job(node(second_vm))
