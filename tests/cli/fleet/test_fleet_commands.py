"""Looking at a fleet and steering it, on a local cloud whose VMs take jobs."""

from __future__ import annotations

from typing import NoReturn

import pytest

from infra.fleet.draining import DrainState, VmStanding
from tests.cli.conftest import Checkout

REPOSITORY = "marin-community/marin"


@pytest.fixture(scope="module")
def standing(upped: Checkout) -> Checkout:
    """The ci stack, whose guests come up in minutes of the cloud's clock, and two jobs for the one VM of a pool."""
    upped.ok("cloud", "clock", "--advance", "2m")
    for _ in range(2):
        upped.ok("cloud", "job", "queue", REPOSITORY, "TPU", "tpu-v4")
    return upped


V4 = "tpu-v4-us-central2-b-0"


def drains(checkout: Checkout) -> list[tuple[str, str]]:
    """What is drained, and by whom."""
    (found,) = checkout.json("status", "ci")["stacks"]
    return [(each["subject"], each["by"]) for each in found["drains"]]


def _job(checkout: Checkout) -> int:
    """The number of the job that the v4 VM runs."""
    return next(guest["job_id"] for guest in checkout.json("cloud", "guests")["guests"] if guest["vm"] == V4)


def test_a_drain_says_which_job_it_waits_for_and_cuts_none_off(standing: Checkout) -> None:
    said = standing.run("drain", "tpu-v4", "--minutes", "1", "--by", "ada")
    assert said.exit_code == 1
    told = "".join(said.output.split())
    assert f"waitingfor{V4}:jobTestsof{REPOSITORY},http" in told
    assert f"/{REPOSITORY}/actions/runs/" in told
    assert "the drain stands" in said.output
    assert drains(standing) == [("tpu-v4", "ada")]
    (found,) = standing.json("status", "ci")["stacks"]
    assert [pool["busy"] for pool in found["pools"] if pool["pool"] == "tpu-v4"] == [1]


def test_once_its_job_is_over_a_drained_vm_takes_no_other_until_the_drain_ends(standing: Checkout) -> None:
    standing.ok("cloud", "job", "end", str(_job(standing)))
    assert standing.json("drain", V4, "--minutes", "5")["drained"] is True
    (found,) = standing.json("status", "ci")["stacks"]
    (pool,) = [pool for pool in found["pools"] if pool["pool"] == "tpu-v4"]
    assert (pool["busy"], pool["queue"]["waiting"], pool["drained"], pool["unhealthy"]) == (0, 1, [V4], [])
    assert standing.json("drain", V4, "--end")["kept"] == [V4], "its pool is drained still"
    assert standing.json("drain", "tpu-v4", "--end")["vms"] == [V4]
    standing.ok("cloud", "clock", "--advance", "3m")
    assert _job(standing), "it took the job that waited"


def test_rollouts_rest_go_on_and_are_undone_by_command(standing: Checkout) -> None:
    assert "no rollouts yet: the controller has not swept" in standing.ok("rollout", "status").output
    assert "the controller has not swept yet" in standing.run("rollout", "undo", "tpu-v4").output
    standing.ok("reconcile", "ci")
    assert standing.json("rollout", "pause", "tpu-v4")["pools"] == ["tpu-v4"]
    assert [each["paused"] for each in standing.json("rollout", "status", "tpu-v4")["rollouts"]] == [True]
    assert "tpu-v4" in standing.json("rollout", "resume")["pools"]
    assert not any(each["paused"] for each in standing.json("rollout", "status")["rollouts"])
    refused = standing.run("rollout", "undo", "tpu-v4")
    assert (refused.exit_code, "has nothing to go back to" in refused.output) == (2, True)


def test_up_that_cannot_wait_long_enough_changes_nothing_and_lets_the_vm_work_on(
    standing: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing.edit("ci", "us-central2-b: 1", "us-central2-b: 0")
    busy = VmStanding(vm=V4, standing=DrainState.BUSY, why="job Tests")
    monkeypatch.setattr("infra.operations.fleet.drained.wait_for_jobs", lambda *_: (busy,))
    said = standing.run("up", "ci")
    assert said.exit_code == 1
    assert f"nothing was changed: after 120 minutes these are not quiet: {V4}: job Tests" in said.output
    assert drains(standing) == []
    assert V4 in {guest["vm"] for guest in standing.json("cloud", "guests")["guests"]}


def _interrupts(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def test_an_interrupted_drain_of_ups_changes_nothing_and_one_by_command_stands(
    standing: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in ("drained", "drain"):
        monkeypatch.setattr(f"infra.operations.fleet.{command}.wait_for_jobs", _interrupts)
    said = standing.run("up", "ci")
    assert (said.exit_code, "nothing was changed, and the VMs take jobs again" in said.output) == (130, True)
    said = standing.run("drain", "tpu-v4", "--by", "ada")
    assert (said.exit_code, "`./tidepool drain tpu-v4 --end` ends it" in said.output) == (130, True)
    assert drains(standing) == [("tpu-v4", "ada")]
    standing.ok("drain", "tpu-v4", "--end")


def test_an_up_relies_on_nobody_elses_drain_and_changes_nothing_once_its_own_is_ended(
    standing: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits, another up is interrupted and a person ends the drain of the pool; then also that of the VM."""
    left: list[object] = []

    def ends(*_: object) -> tuple[()]:
        monkeypatch.setattr("infra.operations.fleet.drained.wait_for_jobs", _interrupts)
        assert standing.run("up", "ci").exit_code == 130
        kept = standing.json("drain", "tpu-v4", "--end")["kept"]
        left.append((kept, drains(standing)))
        standing.ok("drain", V4, "--end")
        return ()

    monkeypatch.setattr("infra.operations.fleet.drain.wait_for_jobs", lambda *_: ())
    standing.ok("drain", "tpu-v4", "--by", "ada")
    monkeypatch.setattr("infra.operations.fleet.drained.wait_for_jobs", ends)
    said = standing.run("up", "ci")
    assert left == [([V4], [(V4, "./tidepool up")])]
    assert (said.exit_code, f"the drain of {V4} was ended meanwhile" in " ".join(said.output.split())) == (1, True)


def test_the_drain_of_an_up_that_was_killed_is_over_by_itself_or_by_command(
    standing: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.operations.fleet.drained._end", lambda *_: None)
    monkeypatch.setattr("infra.operations.fleet.drained.wait_for_jobs", _interrupts)
    standing.run("up", "ci")
    assert drains(standing) == [(V4, "./tidepool up")]
    standing.ok("cloud", "clock", "--advance", "151m")
    assert drains(standing) == []
    assert standing.json("drain", V4, "--end")["vms"] == [V4]


def test_up_waits_for_the_job_of_a_vm_that_goes(standing: Checkout) -> None:
    standing.ok("cloud", "job", "end", str(_job(standing)))
    standing.ok("cloud", "job", "queue", REPOSITORY, "tpu-v4", "--for", "4m", "--name", "slow")
    assert _job(standing)
    said = standing.ok("up", "ci").output
    waited = said.index(f"waiting for {V4}: job slow")
    assert said.index(f"draining 1 VM ({V4}) before they are deleted") < waited < said.index(f"deleted {V4}")
    assert drains(standing) == []
    (found,) = standing.json("status", "ci")["stacks"]
    assert "tpu-v4" not in {pool["pool"] for pool in found["pools"]}
