"""A status says what is, what is not known, and what comes next; it agrees with what a sweep would do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from infra.fleet.controller.memory import EMPTY
from infra.fleet.operator_requests import OperatorRequests, Undone
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.status.derive import status
from infra.fleet.status.explained import pool_why
from infra.fleet.status.look import Scene
from infra.fleet.status.missing import Cause, Judged
from infra.fleet.status.queue import queue
from infra.fleet.status.shape import FleetState
from infra.fleet.versions import (
    PartKind,
    PoolVersion,
    Rollout,
    Stage,
    VersionPart,
)
from infra.model.offers import Offer
from infra.model.schema import Trust
from infra.operations.declared.known import Named
from infra.operations.fleet.status_words import rollout_line, sections, status_shown
from infra.operations.why.answer import Why
from infra.operations.why.why_words import why_shown
from tests.fleet.controller.given_fleet import (
    HOME,
    START,
    fleet,
    minutes,
    node,
    nodes,
    runner,
    seen,
    served,
    sweeps,
)
from tests.fleet.status.given_scene import REPOSITORY, queued, scene, waiting
from tests.model.given import parse, stack_text

VMS = [f"tpu-ci-{HOME}-{index}" for index in range(3)]
LATER = START + minutes(30)


def test_a_fleet_that_serves_is_well_before_any_sweep() -> None:
    found = status(scene())
    (pool,) = found.pools
    assert (pool.desired, pool.ready, pool.online, pool.busy) == (3, 3, 3, 0)
    assert found.healthy is True
    assert found.sweep is None
    assert found.next == ()


def test_a_lost_vm_is_told_with_its_reason_and_since_when_the_controller_saw_it() -> None:
    desired = fleet(3)
    lost = seen(desired, nodes=nodes(desired, s1="PREEMPTED"), runners=served(desired, but=(VMS[1],)))
    memory = sweeps(desired, lost, 1)[-1].memory
    found = status(scene(desired, lost, memory=memory, at=LATER))
    (trouble,) = found.pools[0].unhealthy
    assert (trouble.subject, trouble.since) == (VMS[1], START)
    assert trouble.reason.startswith("PREEMPTED: ")
    assert found.healthy is False
    assert found.next[0].subject == VMS[1]
    assert found.next[0].what.startswith("recreate: ")


@pytest.mark.parametrize("state", ["CREATING", "READY"])
def test_a_vm_that_boots_is_not_unhealthy_until_its_time_is_over(state: str) -> None:
    desired = fleet(3)
    limit = desired.settings.boot if state == "READY" else 60
    young = (*nodes(desired)[1:], node(VMS[0], state, created=START.isoformat()))
    booting = seen(desired, nodes=young, runners=served(desired, but=(VMS[0],)))
    memory = sweeps(desired, booting, 1)[-1].memory
    early = scene(desired, booting, memory=memory, at=START + minutes(limit - 1))
    found, told = status(early), pool_why(Judged(early, desired, booting), "tpu-ci")
    ((vm,), unhealthy) = (found.booting, found.unhealthy)
    assert (vm.vm, vm.since, vm.until, unhealthy) == (VMS[0], START, START + minutes(limit), ())
    assert (found.state, found.healthy) == (FleetState.BOOTING, None)
    assert (told.counts.booting, [each.cause for each in told.missing]) == (1, [Cause.BOOTING])
    assert [str(each) for each in why_shown(Why(kind=Named.POOL, body=told), "the local cloud")][1].strip() == (
        "3 declared, 3 standing, 2 serving, 1 booting, 0 missing"
    )
    late = status(scene(desired, booting, memory=memory, at=START + minutes(limit + 1)))
    assert ([each.subject for each in late.unhealthy], late.booting, late.healthy) == ([VMS[0]], (), False)


def test_a_stack_that_was_never_deployed_is_neither_unhealthy_nor_different_from_its_file() -> None:
    declared = parse(stack_text())
    found = status(Scene(stack="ci", at=START, problems=("not deployed. Run `./tidepool up ci`",)), declared)
    assert (found.state, found.healthy) == (FleetState.NOT_DEPLOYED, None)
    shown = [str(each) for each in status_shown(found, "the local cloud")]
    assert shown == [f"ci  not deployed. Run `./tidepool up ci`.  on the local cloud at {START:%Y-%m-%d %H:%M:%S} UTC"]
    assert found.unapplied, "programs are told what an `up` would create"


def test_what_a_vm_says_of_itself_is_told_unless_it_is_its_predecessors() -> None:
    desired = fleet(3)
    report = ReportSeen(vm=VMS[0], pool="tpu-ci", phase=Phase.PULLING, at=START, reason="registry is slow")
    silent = seen(desired, runners=served(desired, but=(VMS[0],)), reports={VMS[0]: report})
    (trouble,) = status(scene(desired, silent)).pools[0].unhealthy
    assert trouble.reason.endswith("; it says pulling: registry is slow")
    old = seen(
        desired, runners=served(desired, but=(VMS[0],)), reports={VMS[0]: replace(report, at=START - timedelta(days=1))}
    )
    (trouble,) = status(scene(desired, old)).pools[0].unhealthy
    assert "it says" not in trouble.reason


def test_orphans_of_both_ways_are_told_and_strangers_harm_nobody() -> None:
    desired = fleet(3)
    mess = seen(
        desired,
        nodes=(*nodes(desired), node(f"tpu-ci-{HOME}-9"), node("somebody", labels={})),
        runners=(
            *served(desired),
            runner(f"tpu-ci-{HOME}-7", number=70, online=False),
            runner("another-lab-0", number=71),
        ),
    )
    found = status(scene(desired, mess))
    assert [each.subject for each in found.orphan_vms] == [f"tpu-ci-{HOME}-9"]
    assert [each.subject for each in found.orphan_runners] == [f"tpu-ci-{HOME}-7-000046"]
    assert [each.subject for each in found.strangers] == ["somebody"]
    assert found.healthy is False
    assert status(
        scene(desired, replace(mess, nodes=(*nodes(desired), node("somebody", labels={})), runners=served(desired)))
    ).healthy


def test_the_oldest_waiting_job_with_a_pools_labels_is_told_whatever_their_case() -> None:
    jobs = queued(
        waiting(START - minutes(5), "tpu", "TPU-CI"),
        waiting(START - minutes(9), "tpu"),
        waiting(START - minutes(30), "tpu", "tpu-v4"),
        waiting(START - minutes(40), "tpu", repository="another/code"),
    )
    found = queue({"TPU", "tpu-ci"}, {REPOSITORY}, jobs)
    assert (found.waiting, found.oldest) == (2, START - minutes(9))


def test_jobs_that_no_pool_takes_are_told_with_the_oldest_of_them_and_why() -> None:
    desired = fleet(3)
    elsewhere = Offer(
        stack="more",
        pool="tpu-v4",
        labels=frozenset({"tpu", "tpu-v4"}),
        trust=Trust.MEMBER,
        serves=frozenset({"a-lab/more"}),
        zones=(),
        preemptible=True,
    )
    jobs = queued(
        waiting(START - minutes(5), "tpu", "gpu"),
        waiting(START - minutes(9), "tpu", "gpu"),
        waiting(START - minutes(7), "TPU-V4", "tpu"),
        waiting(START - minutes(3), "tpu-v4", "tpu-ci"),
        waiting(START, "tpu-ci"),
        waiting(START, "tpu-v4", repository="a-lab/more"),
        waiting(START, "ubuntu-24.04-16core"),
        waiting(START),
    )
    found = status(scene(desired, seen(desired, runners=served(desired)), jobs=jobs, neighbours=(elsewhere,)))
    assert [(each.labels, each.waiting, each.oldest, each.why) for each in found.unserved] == [
        (("tpu", "gpu"), 2, START - minutes(9), "no pool has gpu"),
        (("TPU-V4", "tpu"), 1, START - minutes(7), "tpu-v4 has them and serves another repository"),
        (("tpu-v4", "tpu-ci"), 1, START - minutes(3), "no pool has them all"),
    ]
    assert found.healthy is True, "nothing is wrong with the fleet"


def test_the_last_sweep_is_told_and_one_that_cannot_be_read_is_as_none() -> None:
    record = {
        "at": START.isoformat(),
        "settled": False,
        "fuse": True,
        "actions": [
            {"do": "create", "subject": VMS[0], "result": "failed", "text": "no capacity"},
            {"do": "report", "subject": "x", "result": "done", "text": ""},
            {"do": "recreate", "subject": VMS[1], "result": "deferred", "text": ""},
            {"do": "delete", "subject": VMS[2], "result": "changed", "text": ""},
            {"do": "create", "subject": VMS[2], "result": "left", "text": ""},
        ],
    }
    sweep = status(scene(sweep=record)).sweep
    assert sweep is not None
    assert (sweep.at, sweep.fuse, sweep.done, sweep.failed) == (START, True, 0, (f"create {VMS[0]}: no capacity",))
    assert (sweep.deferred, sweep.changed, sweep.left) == (1, 1, 1)
    assert status(scene(sweep={"at": "yesterday"})).sweep is None


def test_a_zone_that_somebody_gave_up_is_told_until_it_is_taken_back() -> None:
    desired = fleet(3)
    found = status(scene(desired, seen(desired, requests=OperatorRequests(lost={HOME: "ada"}))))
    assert found.to_json()["lost"] == [{"zone": HOME, "by": "ada"}]
    (given_up,) = [lines for title, lines in sections(found) if title == "Given up"]
    assert [str(line) for line in given_up] == [f"{HOME}  by ada; `./tidepool zone found {HOME}` takes it back"]
    assert status(scene(desired)).to_json()["lost"] == []


def test_a_rollout_says_what_no_sweep_has_begun_yet_and_what_none_will_begin_by_itself() -> None:
    proved, new = PoolVersion(bundle="a" * 64), PoolVersion(bundle="b" * 64)
    rollout = Rollout(stable=proved, target=proved, since=START)
    taken_back = OperatorRequests(undone={"tpu-ci": (Undone(VersionPart(PartKind.BUNDLE, "b" * 64)),)})

    def told(target: PoolVersion, rollout: Rollout, requests: OperatorRequests) -> str:
        memory = replace(EMPTY, rollouts={"tpu-ci": rollout})
        observed = replace(seen(fleet(3)), targets={"tpu-ci": target}, requests=requests)
        (found,) = status(scene(fleet(3), observed, memory=memory)).rollouts
        return str(rollout_line(found, START)).partition("; ")[2]

    assert told(proved, rollout, OperatorRequests()) == ""
    assert told(new, rollout, OperatorRequests()) == f"bundle {'b' * 12} begins with the next sweep"
    again = f"bundle {'b' * 12} is tried again only by `./tidepool rollout redo tpu-ci`"
    assert told(new, rollout, taken_back) == again
    failed = replace(rollout, stage=Stage.FAILED, bad=(new.key,))
    assert told(new, failed, OperatorRequests()) == again
    assert told(new, failed, OperatorRequests(redone={"tpu-ci": START})).endswith(" begins with the next sweep")
    everywhere = replace(rollout, stable=new, target=new)
    assert told(new, everywhere, taken_back) == "goes back with the next sweep"
    image = replace(new, images={"us-west4": f"r@sha256:{'c' * 64}"})
    both = f"image {'c' * 12} begins with the next sweep; {again}"
    assert told(image, rollout, taken_back) == both, "of an image and a bundle, the one that is not held back"
