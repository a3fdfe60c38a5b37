"""What the hosts of one slice decide: nobody runs beside a host that is not there, and no key outlives its round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.fleet.runner.supervisor import effects as e
from infra.fleet.runner.supervisor import limits
from infra.fleet.runner.supervisor.rounds import slice_object
from infra.fleet.runner.supervisor.state import Waits
from tests.fleet.supervisor.machine_in_memory import HOST, IMAGE, OTHER_IMAGE, MachineInMemory, World, key

FIRST_HOST = replace(HOST, addresses=("10.0.0.2", "10.0.0.3", "10.0.0.4"))
SECOND_HOST = replace(FIRST_HOST, worker=1)
ROUND = slice_object(FIRST_HOST)
A_KEY = key(7)


def slice_of_three(**said: Any) -> MachineInMemory:
    """Worker 0, whose other hosts say that, of whatever round is open, at each look."""
    machine = MachineInMemory(World(), host=FIRST_HOST)

    def happens(_: int) -> None:
        for number in (1, 2):
            told = {"round": machine.world.objects[ROUND].get("round"), "phase": "joined", "host_key": key(number)}
            machine.world.objects[slice_object(FIRST_HOST, number)] = {**told, **said}

    machine.world.happens = happens
    return machine


@pytest.mark.parametrize(
    ("said", "phase", "reason"),
    [
        ({"round": A_KEY}, "registering", "waits for host 1 of its slice"),
        ({"host_key": f'command="x" {A_KEY}'}, "registering", "waits for host 1 of its slice"),
        ({"phase": "pulling", "reason": "no image"}, "registering", "host 1 of its slice is pulling: no image"),
        ({"phase": "unfit", "reason": "full"}, "unfit", "host 1 of its slice is unfit: full"),
    ],
)
def test_worker_0_registers_nothing_while_a_host_is_not_there(said: dict[str, Any], phase: str, reason: str) -> None:
    machine = slice_of_three(**said)
    core = machine.decided(5)
    assert machine.count(e.Register) == 0
    assert (core.state.phase, core.state.reason) == (phase, reason)


def test_a_host_that_joined_and_does_not_answer_is_waited_for() -> None:
    machine = slice_of_three()
    machine.world.silent = {"10.0.0.4"}
    core = machine.decided(5)
    assert machine.count(e.Register) == 0
    assert core.state.reason == "host 2 of its slice has joined and does not answer on port 2222"


def test_worker_0_that_waits_long_looks_at_itself_again() -> None:
    machine = MachineInMemory(World(), host=FIRST_HOST)
    machine.decided(limits.MOST_LOOKS)
    assert machine.count(e.FreeDisk) == 1
    for _ in range(3):
        machine.decided(limits.MOST_LOOKS + 3)
    assert machine.count(e.FreeDisk) > 4


def test_a_runner_without_a_job_is_stopped_when_a_host_no_longer_answers() -> None:
    machine = slice_of_three()
    machine.world.container = (("T: Listening for Jobs",), 0)
    core = machine.decided(0)
    while core.state.waits is not Waits.CONTAINER:
        machine.goes_on(core)
    machine.world.silent = {"10.0.0.3"}
    machine.goes_on(core)
    assert machine.count(e.StopContainer) == 1


# The others


def second_host(opened: Any, **more: Any) -> MachineInMemory:
    return MachineInMemory(World(objects={ROUND: opened}, **more), host=SECOND_HOST)


def told(machine: MachineInMemory) -> dict[str, Any]:
    return dict(machine.world.objects[slice_object(SECOND_HOST, 1)])


@pytest.mark.parametrize(
    "opened", [f'command="rm -rf /" {A_KEY}', f"{A_KEY}\n{A_KEY}", "ssh-rsa AAAA", "", None, 5, {}]
)
def test_what_is_more_or_less_than_a_key_opens_nothing(opened: Any) -> None:
    machine = second_host({"round": opened, "image": IMAGE})
    machine.decided(4)
    assert machine.count(e.RunContainer) == 0


@pytest.mark.parametrize(
    ("image", "fails", "phase", "reason"),
    [
        (f"us-docker.pkg.dev/evil/x/y@sha256:{'b' * 64}", set(), "pulling", "not from the repository of this VM's own"),
        (f"{IMAGE.partition('@')[0]}@latest", set(), "pulling", "not a digest in Artifact Registry"),
        (IMAGE, {"machine/clean-tpu"}, "unfit", "machine/clean-tpu fails"),
    ],
)
def test_a_host_that_cannot_join_tells_worker_0_why(image: str, fails: set[str], phase: str, reason: str) -> None:
    machine = second_host({"round": A_KEY, "image": image}, fails=fails)
    machine.decided(2)
    assert (told(machine)["phase"], told(machine)["round"]) == (phase, A_KEY)
    assert told(machine)["reason"].endswith(reason)
    assert machine.count(e.RunContainer) == 0


def test_between_two_rounds_a_host_looks_again_soon() -> None:
    machine = second_host({"round": "", "image": IMAGE})
    core = machine.decided(1)
    assert (core.state.phase, core.state.until) == ("idle", machine.now + limits.GATHER_EVERY)


def test_a_host_that_cannot_say_that_it_joined_does_not_join() -> None:
    machine = second_host({"round": A_KEY, "image": IMAGE}, fails={"Write"})
    core = machine.decided(1)
    assert (core.state.phase, machine.count(e.RunContainer)) == ("registering", 0)


def test_a_container_that_ended_by_itself_makes_the_host_unfit_with_what_it_said_last() -> None:
    machine = second_host({"round": A_KEY, "image": IMAGE}, container=(("no /usr/sbin/sshd",), 127))
    core = machine.decided(2)
    assert core.state.phase == "unfit"
    assert told(machine)["reason"] == "the container for worker 0's job ended, status 127: no /usr/sbin/sshd"


@pytest.mark.parametrize(("own", "stopped"), [({"restart": 5}, 1), ({"drain": True}, 0), ({"image": OTHER_IMAGE}, 0)])
def test_under_a_job_another_host_obeys_a_restart_alone(own: dict[str, Any], stopped: int) -> None:
    machine = second_host({"round": A_KEY, "image": IMAGE}, own={"restart": 4})
    core = machine.decided(1)
    machine.world.own = {"restart": 4, **own}
    machine.goes_on(core)
    assert machine.count(e.StopContainer) == stopped
