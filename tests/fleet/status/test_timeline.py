"""A VM's timeline is told in order, from whatever is known of it, and no report can spoil it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from infra.fleet.controller.events import FleetEvent
from infra.fleet.controller.memory import EMPTY
from infra.fleet.controller.observed import unknown
from infra.fleet.status.timeline import timeline
from tests.fleet.controller.given_fleet import HOME, START, fleet, minutes, nodes, seen, served, sweeps
from tests.fleet.status.given_scene import scene

VM = f"tpu-ci-{HOME}-0"
REPORT: dict[str, Any] = {
    "at": "2026-11-21T10:09:00Z",
    "phase": "busy",
    "reason": None,
    "boot": [
        {"step": "pull-image", "began": "2026-11-21T10:01:00Z", "ended": "2026-11-21T10:03:00Z", "outcome": "done"}
    ],
    "events": [
        {"at": "2026-11-21T10:01:00Z", "event": "step-began", "step": "pull-image"},
        {"at": "2026-11-21T10:04:00Z", "event": "phase", "phase": "registering"},
        {"at": "2026-11-21T10:05:00Z", "event": "registered", "runner": f"{VM}-0a0b0c"},
        {"at": "2026-11-21T10:06:00Z", "event": "job-began", "job": "tests", "runner": f"{VM}-0a0b0c"},
        {"at": "2026-11-21T10:07:00Z", "event": "job-ended", "job": "tests", "result": "Succeeded"},
        {"at": "2026-11-21T10:08:00Z", "event": "something-new", "colour": "blue"},
    ],
}
BINDING = {"since": "2026-11-21T10:04:30+00:00", "instance": "77", "asked": ["2026-11-21T10:04:30+00:00"]}


def test_a_secret_in_what_a_vm_says_is_masked() -> None:
    token = f"ghp_{'a1' * 20}"
    events = [{"at": "2026-11-21T10:08:00Z", "event": "halted", "reason": f"fetch {token}"}]
    told = timeline(VM, scene(), REPORT | {"reason": f"no {token}", "events": events}, None)
    assert "halted: fetch [secret]" in [line.what for line in told.lines]
    assert any("busy: no [secret]" in each for each in told.now)
    assert token not in str(told)


def test_a_timeline_goes_from_its_making_to_its_jobs() -> None:
    told = timeline(VM, scene(), REPORT, BINDING)
    assert [line.what for line in told.lines] == [
        f"created in {HOME}: v5litepod-4, preemptible",
        "boot: pull-image done in 120 s",
        "registering",
        "bound to machine 77",
        "asked for a runner",
        f"registered as runner {VM}-0a0b0c",
        "job tests began",
        "job tests ended: Succeeded",
        "something-new colour blue",
    ]
    assert f"declared in pool tpu-ci, v5litepod-4 in {HOME}" in told.now


def test_a_heal_and_what_befell_its_runners_are_in_it_and_other_vms_are_not() -> None:
    desired = fleet(2)
    well = sweeps(desired, seen(desired), 1)[-1].memory
    lost = seen(desired, nodes=nodes(desired, s0="PREEMPTED"), runners=served(desired, but=(VM,)))
    memory = sweeps(desired, lost, 1, memory=well, start=START + minutes(2))[-1].memory
    runner_gone = FleetEvent(at=START + minutes(9), subject=f"{VM}-0a0b0c", what="removeRunner: its VM is gone")
    memory = replace(memory, events=(*memory.events, runner_gone))
    told = timeline(VM, scene(desired, lost, memory=memory, at=START + minutes(10)), None, None)
    said = [line.what for line in told.lines if line.source == "controller"]
    assert said[0].startswith("listed in ")
    assert said[1] == "READY -> PREEMPTED"
    assert said[2].startswith("recreate: ")
    assert said[3] == f"runner {VM}-0a0b0c: removeRunner: its VM is gone"
    assert told.next, "the next sweep goes on with it"


def test_in_one_second_a_restart_comes_before_the_boot_that_it_caused() -> None:
    at = "2026-11-21T10:20:00Z"
    steps = [{"step": step, "outcome": "done"} for step in ("pull-image", "install-runner")]
    events = [
        {"event": "runner-ended", "runner": f"{VM}-0a0b0c", "status": "1"},
        {"event": "restart", "number": "1"},
        {"event": "phase", "phase": "booting", "reason": "restarted by order 1"},
        *({"event": "step-ended", **step} for step in steps),
        {"event": "phase", "phase": "cleaning"},
    ]
    boot = [{**step, "began": at, "ended": at} for step in steps]
    report = {"boot": boot, "events": [{"at": at, **event} for event in events]}
    assert [line.what for line in timeline(VM, scene(), report, None).lines if line.source == "vm"] == [
        f"runner {VM}-0a0b0c ended, status 1",
        "its supervisor obeyed restart 1",
        "booting: restarted by order 1",
        "boot: pull-image done in 0 s",
        "boot: install-runner done in 0 s",
        "cleaning",
    ]


def test_a_registration_that_was_lost_is_told_from_when_on_until_when() -> None:
    desired = fleet(2)
    well, lost = seen(desired), seen(desired, runners=served(desired, but=(VM,)))
    memory = sweeps(desired, well, 2)[-1].memory
    for begin, observed, count in ((4, lost, 4), (12, well, 2)):
        memory = sweeps(desired, observed, count, memory=memory, start=START + minutes(begin))[-1].memory
    told = timeline(VM, scene(desired, memory=memory, at=START + minutes(14)), None, None)
    assert [(line.at - START, line.what) for line in told.lines if "runner of it" in line.what] == [
        (minutes(4), "no runner of it is online any more"),
        (minutes(12), "a runner of it is online again"),
    ]


def test_what_nobody_can_say_is_said_to_be_unknown() -> None:
    desired = fleet(1)
    dark = seen(desired, zones={HOME: unknown("503")}, nodes=(), github=unknown("no token"), runners=())
    told = timeline(VM, scene(desired, dark), None, None)
    assert f"not known of {HOME} (503)" in told.now
    assert "its runner is not known: no token" in told.now
    assert "no VM of this name is there" not in told.now


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["at", "event", "step", "ended"]), inner)
    ),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional={"boot": _JUNK, "events": _JUNK, "phase": _JUNK, "reason": _JUNK}))
def test_no_report_keeps_a_timeline_from_being_told(report: dict[str, Any]) -> None:
    quiet = scene()
    assert timeline(VM, replace(quiet, memory=EMPTY), report, {"since": 3, "asked": 4, "instance": []}).vm == VM
