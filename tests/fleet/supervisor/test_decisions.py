"""What a supervisor promises whatever happens to its VM: the decisions that ship, in worlds that are drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.fleet.runner.supervisor import effects as e
from infra.fleet.runner.supervisor import limits
from infra.fleet.runner.supervisor.boot import MAY_FAIL, STAGES, STEPS
from infra.fleet.runner.supervisor.state import State
from infra.fleet.runner.supervisor.supervise import Supervisor
from tests.fleet.supervisor.machine_in_memory import (
    FIRST,
    HOST,
    IMAGE,
    OTHER_IMAGE,
    SECOND,
    SECRET,
    MachineInMemory,
    World,
)

BEFORE_A_JOB = ("machine/wipe-job", "machine/clean-tpu", "steps/isolate-jobs")
STEPS_THAT_FAIL = [
    *BEFORE_A_JOB,
    "steps/pull-image",
    "FreeDisk",
    "ReadSkew",
    "PrepareJob",
    "WriteReport",
    "FetchBundle",
]

ORDERS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "image": st.sampled_from([None, IMAGE, OTHER_IMAGE, "none", "a-docker.pkg.dev/b:latest", 5]),
            "bundle": st.sampled_from([None, FIRST, SECOND, "../../etc"]),
            "restart": st.sampled_from([None, 0, 1, 2, 3, "many", -1]),
            "drain": st.sampled_from([None, True, False]),
        },
    ),
)
CONTAINERS = st.sampled_from(
    [
        (("T: Listening for Jobs", "T: Running job: tests", "T: Job tests completed with result: Succeeded"), 0),
        (("T: Listening for Jobs",), 0),
        (("T: Running job: \x1b[2J\xff \\u0000",), 1),
        ((), 127),
    ]
)


@st.composite
def lives(draw: st.DrawFn) -> MachineInMemory:
    """A VM whose orders change, whose machine fails at times, and that may be killed at any effect."""
    later = draw(st.dictionaries(st.integers(1, 12), st.tuples(ORDERS, st.sets(st.sampled_from(STEPS_THAT_FAIL)))))
    world = World(own=draw(ORDERS), container=draw(CONTAINERS))
    world.pointer = draw(st.sampled_from([None, {}, world.pointer]))

    def happens(look: int) -> None:
        if look in later:
            world.own, world.fails = later[look]

    world.happens = happens
    machine = MachineInMemory(world, kill=draw(st.integers(0, 120)))
    machine.lives(draw(st.integers(1, 25)))
    return machine


def steps_before(machine: MachineInMemory, effect: e.Effect) -> list[str]:
    """Names of effects from the container before this one to this one."""
    until = [each is effect for each in machine.done].index(True)
    before = machine.done[:until]
    began = max((number for number, each in enumerate(before) if isinstance(each, e.RunContainer)), default=0)
    return [each.name for each in before[began:] if isinstance(each, e.RunStep)]


@settings(max_examples=200)
@given(machine=lives())
def test_every_promise_holds_in_every_life(machine: MachineInMemory) -> None:
    no_container_begins_before_the_vm_is_clean_and_walled(machine)
    a_registration_serves_one_container_and_is_shown_nowhere(machine)
    a_restart_is_obeyed_once_whatever_kills_the_vm(machine)
    what_is_told_is_plain_and_of_a_length(machine)


def no_container_begins_before_the_vm_is_clean_and_walled(machine: MachineInMemory) -> None:
    for effect in machine.done:
        if isinstance(effect, e.RunContainer):
            assert [name for name in BEFORE_A_JOB if name not in steps_before(machine, effect)] == []


def a_registration_serves_one_container_and_is_shown_nowhere(machine: MachineInMemory) -> None:
    used = [each.jit for each in machine.done if isinstance(each, e.RunContainer)]
    assert len(set(used)) == len(used) <= machine.count(e.Register)
    assert SECRET not in json.dumps(machine.kept.to_json())
    assert not [each for each in machine.done if SECRET in repr(each)]


def a_restart_is_obeyed_once_whatever_kills_the_vm(machine: MachineInMemory) -> None:
    told = [each.event["number"] for each in machine.done if isinstance(each, e.Tell) and "number" in each.event]
    assert told == sorted(set(told), key=int), "each higher one, once"


def what_is_told_is_plain_and_of_a_length(machine: MachineInMemory) -> None:
    events = machine.kept.events
    assert len(events) <= limits.MOST_EVENTS
    assert all(value.isprintable() and value.isascii() for event in events for value in event.values())


NOBODY_ASKS: dict[str, World] = {
    "drained": World(own={"drain": True}),
    "no image by order": World(own={"image": "none"}),
    "no image at all": World(pointer=None),
    "no digest": World(own={"image": "a-docker.pkg.dev/b:latest"}),
    "orders that are none": World(own=[]),
    "no start-up record": World(startup=None),
    "a start-up record of another shape": World(startup={"broker": 5}),
    "a pointer of another shape": World(pointer={"images": 5}),
    "another bundle, which cannot be had": World(own={"bundle": SECOND}, fails={"FetchBundle"}),
    "a broker that others may read": World(startup={"broker": "http://broker.example"}),
    "another bundle, which is no checksum": World(own={"bundle": "../../etc"}),
    "a full disk": World(free=limits.LEAST_DISK_MB - 1),
    "a clock that is ahead": World(skew=limits.MOST_SKEW + 1),
    "a clock that is behind": World(skew=-limits.MOST_SKEW - 1),
    "a clock of which nobody knows": World(skew=None),
    **{f"{step} fails": World(fails={step}) for step in (*BEFORE_A_JOB, "FreeDisk", "ReadSkew", "PrepareJob", "Read")},
}


@pytest.mark.parametrize("why", NOBODY_ASKS)
def test_nobody_asks_for_a_job_who_must_not_have_one(why: str) -> None:
    machine = MachineInMemory(NOBODY_ASKS[why])
    machine.decided()
    assert machine.count(e.Register) == machine.count(e.RunContainer) == machine.count(e.StartOver) == 0
    assert machine.count(e.FetchBundle, sha256="../../etc") == 0, "no name of a file is made of it"
    assert machine.kept.reason


def test_a_guest_alone_does_without_an_image_and_only_where_none_is_named() -> None:
    for imageless, phase in ((False, "pulling"), (True, "registering")):
        machine = MachineInMemory(World(pointer=None))
        state = State()
        core = Supervisor(
            state, clock=machine.clock, ticks=machine.clock, luck=lambda: 0.0, host=HOST, imageless=imageless
        )
        machine.carried_out(core, core.serve())
        assert (state.phase, machine.count(e.RunContainer)) == (phase, int(imageless))


@pytest.mark.parametrize("kill", range(1, 46))
def test_a_vm_that_is_killed_anywhere_serves_again_and_leaves_nothing_of_the_last_job(kill: int) -> None:
    machine = MachineInMemory(World(own={"restart": 4}), kill=kill)
    machine.lives(6)
    assert machine.kill == 0, "it was killed"
    assert machine.count(e.RunContainer) > 0
    assert machine.kept.obeyed == 4
    assert not [each for each in machine.done if isinstance(each, e.StartOver)], "an order of before is not obeyed"


def restart(machine: MachineInMemory) -> None:
    machine.world.happens = lambda look: setattr(machine.world, "own", {"restart": 5} if look > 1 else {"restart": 4})


def answer(status: int, again: int | None = None) -> Callable[[], list[e.Answer]]:
    return lambda: [e.Answer(status, again=again, reason="word: Why.")]


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (answer(409, 30), 30),
        (answer(429, 5000), limits.LONGEST_ASKED),
        (answer(403), limits.FIRST_DELAY),
        (answer(502), limits.FIRST_DELAY),
        (answer(0), limits.FIRST_DELAY),
    ],
)
def test_a_refusal_is_waited_out_for_as_long_as_somebody_said(said: Callable[[], list[e.Answer]], seconds: int) -> None:
    world = World(answers=said())
    machine = MachineInMemory(world)
    core = machine.decided(1)
    assert core.state.until == machine.now + seconds
    assert core.state.phase == "registering"


@pytest.mark.parametrize(("status", "turn"), [(200, 60), (403, 0), (502, 60), (0, 60)])
def test_who_was_granted_or_maybe_was_asks_again_after_a_minute(status: int, turn: int) -> None:
    world = World(answers=[e.Answer(status, jit="x" if status == 200 else "", runner="r")])
    machine = MachineInMemory(world)
    core = machine.decided(1)
    assert core.state.turn == machine.now + turn


def test_pauses_grow_to_five_minutes_and_a_job_makes_them_short_again() -> None:
    world = World(answers=[e.Answer(403, reason="no")] * 9)
    machine = MachineInMemory(world)
    waits: list[Any] = []
    core = machine.decided(1)
    for _ in range(8):
        waits.append(round(core.state.until - machine.now) if core.state.until else None)
        machine.now = core.state.until or machine.now
        machine.carried_out(core, core.serve())
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300]
    machine.carried_out(core, core.serve())
    machine.carried_out(core, core.hear("T: Running job: tests"))
    machine.carried_out(core, core.ended(0))
    assert core.state.delay == limits.FIRST_DELAY


@pytest.mark.parametrize("own", [{"drain": True}, {"image": OTHER_IMAGE}, {"bundle": SECOND}])
def test_a_job_is_waited_for_and_a_runner_without_one_is_not(own: dict[str, Any]) -> None:
    for line, stopped in (("T: Running job: tests", 0), ("T: Listening for Jobs", 1)):
        machine = MachineInMemory(World(container=((line,), 0)))
        core = machine.decided(1)
        machine.world.own = own
        machine.goes_on(core)
        assert machine.count(e.StopContainer) == stopped


@pytest.mark.parametrize(("seconds", "stopped"), [(limits.LONGEST_END - 1, 0), (limits.LONGEST_END, 1)])
def test_a_runner_that_goes_on_after_its_job_is_stopped_after_two_minutes(seconds: int, stopped: int) -> None:
    machine = MachineInMemory(World())
    core = machine.decided(1)
    machine.carried_out(core, core.hear("T: Running job: tests"))
    machine.carried_out(core, core.hear("T: Job tests completed with result: Succeeded"))
    machine.now += seconds
    machine.carried_out(core, core.look())
    assert machine.count(e.StopContainer) == stopped


@pytest.mark.parametrize(("seconds", "ends"), [(limits.AT_ONCE - 1, 1), (limits.AT_ONCE, 0)])
def test_a_runner_that_ends_without_a_job_is_at_fault_where_it_ended_at_once(seconds: int, ends: int) -> None:
    machine = MachineInMemory(World())
    core = machine.decided(1)
    machine.now += seconds
    machine.carried_out(core, core.ended(0))
    assert core.state.idle_ends == ends


def test_a_boot_that_cannot_read_its_orders_tries_again_after_longer_and_longer() -> None:
    machine = MachineInMemory(World(fails={"Read"}))
    machine.lives(1)
    slept = [each.seconds for each in machine.done if isinstance(each, e.Sleep)]
    assert (slept[:5], machine.kept.phase) == ([2, 4, 8, 16, 32], "halted")


@pytest.mark.parametrize("step", STEPS)
def test_a_boot_stops_at_the_first_step_that_fails_but_for_the_cache(step: str) -> None:
    machine = MachineInMemory(World(fails={f"steps/{step}"}))
    machine.lives(1)
    begun = [
        each.event["step"] for each in machine.done if isinstance(each, e.Tell) and each.event["event"] == "step-began"
    ]
    halted = step != MAY_FAIL
    (last,) = (number for number, stage in enumerate(STAGES) if step in stage)
    assert begun == [each for stage in (STAGES[: last + 1] if halted else STAGES) for each in stage]
    assert (machine.kept.phase == "halted", machine.kept.refused == FIRST) == (halted, halted)
    assert (machine.running == FIRST) is not halted


def test_a_bundle_that_did_not_start_is_not_started_again_and_another_is() -> None:
    machine = MachineInMemory(World(own={"bundle": SECOND}))
    machine.kept.refused, machine.kept.refusal = SECOND, "step allow-reset: no"
    core = machine.decided(3)
    assert (core.state.phase, core.state.reason) == (
        "unfit",
        f"bundle {SECOND[:12]} did not start: step allow-reset: no",
    )
    assert machine.count(e.StartOver) == machine.count(e.Register) == 0
    machine.world.own = {"bundle": "3" * 64}
    machine.goes_on(core)
    machine.goes_on(core)
    assert machine.count(e.StartOver, bundle="3" * 64) == 1


def test_no_text_of_a_value_has_a_registration() -> None:
    assert SECRET not in repr((e.Answer(200, jit=SECRET), e.RunContainer((), SECRET)))
