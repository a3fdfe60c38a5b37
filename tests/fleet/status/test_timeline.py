"""A VM's timeline is told in order, from whatever is known of it, and no report can spoil it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from infra.fleet.controller.memory import EMPTY
from infra.fleet.status.timeline import timeline
from tests.fleet.controller.given_fleet import HOME
from tests.fleet.status.given_scene import scene

VM = f"tpu-ci-{HOME}-0"


def test_a_secret_in_what_a_vm_says_is_masked() -> None:
    token = f"ghp_{'a1' * 20}"
    events = [{"at": "2026-11-21T10:08:00Z", "event": "halted", "reason": f"fetch {token}"}]
    told = timeline(VM, scene(), {"phase": "busy", "reason": f"no {token}", "events": events}, None)
    assert "halted: fetch [secret]" in [line.what for line in told.lines]
    assert any("busy: no [secret]" in each for each in told.now)
    assert token not in str(told)


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
