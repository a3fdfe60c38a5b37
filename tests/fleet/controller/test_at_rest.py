"""Which of what is left ends by itself soon, and which stands until a person, or a day that is far, ends it."""

from __future__ import annotations

from dataclasses import replace

from infra.fleet.operator_requests import OperatorRequests
from infra.fleet.versions import PoolVersion
from tests.fleet.controller.given_fleet import (
    START,
    fleet,
    minutes,
    seen,
    sweeps,
)


def test_a_rollout_that_is_paused_stands_once_no_vm_is_waited_for() -> None:
    desired, first, second = fleet(3), PoolVersion(bundle="a"), PoolVersion(bundle="b")
    memory = sweeps(desired, seen(desired, targets={"tpu-ci": first}), 2)[-1].memory
    requests = OperatorRequests(paused=frozenset({"tpu-ci"}))
    paused = seen(desired, targets={"tpu-ci": second}, requests=requests)
    decision = sweeps(desired, paused, 2, memory=memory, start=START + minutes(4))[-1]
    assert [waiting.reason for waiting in decision.waiting] == ["canary, 0 of 3 VMs proved; paused"]
    assert decision.at_rest
    going = replace(paused, requests=OperatorRequests())
    begun = sweeps(desired, going, 1, memory=memory, start=START + minutes(4))[-1]
    halted = sweeps(desired, paused, 2, memory=begun.memory, start=START + minutes(6))[-1]
    assert not halted.at_rest, "its canary may still fail, and then all go back"
