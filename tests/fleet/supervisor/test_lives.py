"""All that a supervisor does in a life, effect by effect, in one golden: alone, as worker 0 of a slice, as another."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.fleet.runner.supervisor import effects as e
from infra.fleet.runner.supervisor import limits
from infra.fleet.runner.supervisor.container import arguments
from infra.fleet.runner.supervisor.jobs import broker_answer
from infra.fleet.runner.supervisor.report import text
from infra.fleet.runner.supervisor.state import Common, Own, State, Waits
from tests.fleet.status.test_scenes import same
from tests.fleet.supervisor.machine_in_memory import HOST, IMAGE, OTHER_IMAGE, SECOND, MachineInMemory, World, key
from tests.fleet.supervisor.test_decisions import NOBODY_ASKS
from tests.fleet.supervisor.test_rounds import ROUND, SECOND_HOST, slice_of_three

GOLDEN = Path(__file__).parents[1] / "golden" / "supervised-lives.json"
A_JOB = (
    "T: Listening for Jobs",
    "T: Running job: tests: Running job: of them",
    "T: Job tests completed with result: Succeeded",
)


def alone() -> MachineInMemory:
    """A refusal, a job, runners that end at once, a full disk, a drain, a restart, another bundle."""
    refused = [e.Answer(403, reason="why: Because."), e.Answer(0), e.Answer(409, again=30, reason="busy: Wait.")]
    world = World(answers=refused, own={"restart": 1})
    changes: dict[int, Callable[[], object]] = {
        4: lambda: setattr(world, "container", (A_JOB, 0)),
        6: lambda: setattr(world, "container", ((), 1)),
        14: lambda: setattr(world, "free", limits.LEAST_DISK_MB - 1),
        15: lambda: (setattr(world, "free", 100_000), setattr(world, "fails", {"PrepareJob"})),
        16: lambda: setattr(world, "fails", {"WriteReport", "machine/clean-tpu"}),
        17: lambda: (setattr(world, "fails", set()), setattr(world, "own", {"restart": 1, "drain": True})),
        18: lambda: setattr(world, "own", {"restart": 2, "image": OTHER_IMAGE}),
        20: lambda: setattr(world, "own", {"restart": 2, "bundle": SECOND}),
    }
    world.happens = lambda look: (changes.get(look, lambda: None)(), None)[1]
    machine = MachineInMemory(world)
    machine.lives(30)
    return machine


def worker_0() -> MachineInMemory:
    machine = slice_of_three()
    machine.world.container = (A_JOB, 0)
    machine.lives(6)
    return machine


def other_host() -> MachineInMemory:
    """Joins a round, which ends."""
    machine = MachineInMemory(World(), host=SECOND_HOST)
    rounds: Mapping[int, Any] = {2: {"round": key(7), "image": IMAGE}, 5: {"round": ""}, 7: {"round": "no key"}}
    machine.world.happens = lambda look: machine.world.objects.update({ROUND: rounds[look]} if look in rounds else {})
    machine.lives(9)
    return machine


def short(said: str) -> str:
    """With digests of a letter and keys cut to what tells them apart."""
    return re.sub(r"A{20,}", "A..", re.sub(r"([0-9a-b])\1{63}", r"\1..", said))


LIVES = {"alone": alone, "worker 0": worker_0, "other host": other_host}


@pytest.mark.parametrize("life", LIVES)
def test_what_is_done_in_a_life(life: str, update_goldens: bool) -> None:
    machine = LIVES[life]()
    found: dict[str, Any] = {"done": [short(repr(each)) for each in machine.done], "state": machine.kept.to_json()}
    found["report"] = short(text(machine.kept, machine.host, machine.now))
    same(GOLDEN, life, found, update=update_goldens)


def test_who_must_not_ask_says_why(update_goldens: bool) -> None:
    said = {}
    for why, world in NOBODY_ASKS.items():
        machine = MachineInMemory(world)
        state = machine.decided().state
        said[why] = [state.phase, short(state.reason), (state.until or machine.now) - machine.now]
    same(GOLDEN, "reasons", said, update=update_goldens)


def test_a_container_has_the_devices_caches_and_facts_of_its_machine() -> None:
    env = "ACCELERATOR_TYPE: 'v6e-8'\nUSER: x"
    bare = e.Prepared(190_000, (), "", False, False, "/uv", "/job", "/slice", "/hosts")
    full = replace(bare, devices=(("/dev/vfio/3", "/dev/vfio/0"),), tpu_env=env, cache=True, runner=True)
    words = [arguments(HOST, each, IMAGE, "entry") for each in (bare, full)]
    assert words[0][-5:] == words[1][-5:] == ("--entrypoint", "/bin/bash", IMAGE, "-c", "entry")
    assert [each for each in words[1] if each not in words[0]] == [
        "--device", "/dev/vfio/3:/dev/vfio/0", "TPU_ACCELERATOR_TYPE=v6e-8",
        "--mount", "type=bind,src=/job/cache,dst=/uv", "--mount", "type=bind,src=/job/runner,dst=/opt/actions-runner",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "again", "content", "answer"),
    [
        (200, "", b'{"jit": "j", "runner": "r"}', e.Answer(200, jit="j", runner="r", reason="None: None")),
        (200, "7", b'{"jit": "j"}', e.Answer(200, again=7, reason="None: None")),
        (403, "999999", b'{"jit": "j", "runner": "r", "reason": "no", "message": "Why."}',
         e.Answer(403, again=999999, reason="no: Why.")),
        (502, "1234567", b"[]", e.Answer(502)),
        (502, "soon", b"{", e.Answer(502)),
    ],
)  # fmt: skip
def test_the_broker_gives_a_registration_whole_or_not_at_all(
    status: int, again: str, content: bytes, answer: e.Answer
) -> None:
    assert broker_answer(status, again, content) == answer


def test_a_state_that_another_version_wrote_is_read_as_far_as_it_is_known() -> None:
    full = replace(State(), own=Own(restart=3), common=Common(broker="b", serves=("a/b",)), waits=Waits.REST)
    assert State.from_json({**json.loads(json.dumps(full.to_json())), "of_tomorrow": 1}) == full
    assert State.from_json({}) == State()
