"""A status says what is, what is not known, and what comes next; it agrees with what a sweep would do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.fleet.controller.memory import EMPTY
from infra.fleet.operator_requests import OperatorRequests, Undone
from infra.fleet.status.derive import status
from infra.fleet.status.look import Scene
from infra.fleet.status.shape import FleetState
from infra.fleet.versions import (
    PartKind,
    PoolVersion,
    Rollout,
    Stage,
    VersionPart,
)
from infra.operations.fleet.status_words import rollout_line, status_shown
from tests.fleet.controller.given_fleet import (
    HOME,
    START,
    fleet,
    minutes,
    node,
    nodes,
    seen,
    served,
    sweeps,
)
from tests.fleet.status.given_scene import scene
from tests.model.given import parse, stack_text

VMS = [f"tpu-ci-{HOME}-{index}" for index in range(3)]


@pytest.mark.parametrize("state", ["CREATING", "READY"])
def test_a_vm_that_boots_is_not_unhealthy_until_its_time_is_over(state: str) -> None:
    desired = fleet(3)
    limit = desired.settings.boot if state == "READY" else 60
    young = (*nodes(desired)[1:], node(VMS[0], state, created=START.isoformat()))
    booting = seen(desired, nodes=young, runners=served(desired, but=(VMS[0],)))
    memory = sweeps(desired, booting, 1)[-1].memory
    found = status(scene(desired, booting, memory=memory, at=START + minutes(limit - 1)))
    ((vm,), unhealthy) = (found.booting, found.unhealthy)
    assert (vm.vm, vm.since, vm.until, unhealthy) == (VMS[0], START, START + minutes(limit), ())
    assert (found.state, found.healthy) == (FleetState.BOOTING, None)
    late = status(scene(desired, booting, memory=memory, at=START + minutes(limit + 1)))
    assert ([each.subject for each in late.unhealthy], late.booting, late.healthy) == ([VMS[0]], (), False)


def test_a_stack_that_was_never_deployed_is_neither_unhealthy_nor_different_from_its_file() -> None:
    declared = parse(stack_text())
    found = status(Scene(stack="ci", at=START, problems=("not deployed. Run `./tidepool up ci`",)), declared)
    assert (found.state, found.healthy) == (FleetState.NOT_DEPLOYED, None)
    shown = [str(each) for each in status_shown(found, "the local cloud")]
    assert shown == [f"ci  not deployed. Run `./tidepool up ci`.  on the local cloud at {START:%Y-%m-%d %H:%M:%S} UTC"]
    assert found.unapplied, "programs are told what an `up` would create"


def test_a_record_of_a_sweep_that_cannot_be_read_is_as_none() -> None:
    assert status(scene(sweep={"at": "yesterday"})).sweep is None


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
