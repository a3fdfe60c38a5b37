"""Every declared VM that does not serve is told with the one cause that people need, and a zone with its limits."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from infra.fleet.controller import by_hour
from infra.fleet.controller.actions import Create
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import Result
from infra.fleet.controller.keys import BackoffKey
from infra.fleet.controller.memory import EMPTY, Backoff, Memory
from infra.fleet.controller.observed import Observed, Trouble, unknown
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.operator_requests import DrainRequest, OperatorRequests
from infra.fleet.status.explained import counts, job_waits, pool_why, zone_why
from infra.fleet.status.missing import Cause, Judged, MissingVm
from infra.fleet.versions import PoolVersion, Rollout, Stage
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    HOME,
    START,
    fleet,
    minutes,
    nodes,
    quota,
    seen,
    served,
    sweeps,
)
from tests.fleet.controller.test_windows_kept import EVENING, pool, window
from tests.fleet.status.given_scene import queued, scene, waiting

LOST = f"tpu-ci-{HOME}-0"


def judged(desired: Desired, observed: Observed | None = None, **given: Any) -> Judged:
    found = Judged.of(scene(desired, observed, **given))
    assert found is not None
    return found


def lacking(desired: Desired, state: str = "", **given: Any) -> Observed:
    """The first VM is in another state than READY, or not there."""
    return seen(desired, nodes=nodes(desired, s0=state), runners=served(desired, but=(LOST,)), **given)


def failed(desired: Desired, observed: Observed, trouble: Trouble, times: int) -> tuple[Memory, datetime]:
    """What is remembered after so many creates that came to this, and when the last of them did."""
    memory, now, count = EMPTY, START, 0
    while count < times:
        now += minutes(2)
        decision = decide(desired, observed, memory, now)
        memory = decision.memory
        for action in decision.actions:
            if isinstance(action, Create):
                told = ActionOutcome(action=action, result=Result.FAILED, trouble=trouble, text="no more capacity")
                memory, count = learned(memory, desired, [told], now), count + 1
    return memory, now


def the_one(found: Judged) -> MissingVm:
    (only,) = found.missing()
    return only


@pytest.mark.parametrize("trouble", [Trouble.STOCKOUT, Trouble.QUOTA, Trouble.OUTAGE, Trouble.REFUSED])
def test_a_vm_that_could_not_be_made_says_why_since_when_and_when_it_is_tried_next(trouble: Trouble) -> None:
    desired = fleet(2)
    memory, now = failed(desired, lacking(desired), trouble, 2)
    told = the_one(judged(desired, lacking(desired), memory=memory, at=now))
    assert (told.vm, told.cause, told.zone) == (LOST, Cause(trouble.value), HOME)
    assert told.says == f"{HOME}/v5litepod-4/preemptible, 2 times in a row"
    assert told.since is not None
    assert told.next is not None
    assert START < told.since < now < told.next


def test_one_that_served_is_missing_since_then_and_not_since_its_last_failed_create() -> None:
    desired = fleet(2)
    memory = sweeps(desired, seen(desired), 1)[-1].memory
    went = max(each.seen for key, each in memory.nodes.items() if key.name == LOST)
    tried = went + minutes(40)
    key = BackoffKey(HOME, "v5litepod-4", CapacityKind.PREEMPTIBLE)
    fails = Backoff(failures=1, trouble=Trouble.STOCKOUT, last=tried, until=tried + minutes(5), since=tried)
    memory = replace(memory, backoff={key: fails}, creating={})
    told = the_one(judged(desired, lacking(desired), memory=memory, at=tried + minutes(1)))
    assert (told.cause, told.since) == (Cause.STOCKOUT, went)


def test_one_that_is_made_next_or_held_by_a_limit_says_so() -> None:
    desired = fleet(2)
    memory = sweeps(desired, lacking(desired), 1)[-1].memory
    made = judged(desired, lacking(desired), memory=replace(memory, creating={}), at=START + minutes(2))
    assert (the_one(made).cause, the_one(made).says) == (Cause.MAKING, "the next sweep makes it")
    full = fleet(2, caps=(quota(4),))
    held = the_one(judged(full, lacking(full), memory=replace(memory, creating={}), at=START + minutes(30)))
    assert held.cause is Cause.HELD
    assert "4 of 4 chips are in use" in held.says


def test_one_that_was_taken_drained_rolled_or_is_silent_has_its_own_cause() -> None:
    desired = fleet(2)
    taken = the_one(judged(desired, lacking(desired, "PREEMPTED"), memory=EMPTY))
    assert (taken.cause, taken.says.partition(":")[0]) == (Cause.STATE, "PREEMPTED")
    silent = seen(desired, runners=served(desired, but=(LOST,)))
    assert the_one(judged(desired, silent)).cause is Cause.RUNNER
    request = DrainRequest(subject="tpu-ci", by="ada", since=START - minutes(5), minutes=30)
    drained = the_one(judged(desired, replace(silent, requests=OperatorRequests(drains=(request,)))))
    assert (drained.cause, drained.says, drained.since) == (Cause.DRAIN, "ada drains tpu-ci", START - minutes(5))
    old, new = PoolVersion(bundle="a" * 64), PoolVersion(bundle="b" * 64)
    rolling = Rollout(stage=Stage.ROLLING, since=START, stable=old, target=new, waiting={LOST: START})
    rolled = the_one(judged(desired, silent, memory=replace(EMPTY, rollouts={"tpu-ci": rolling})))
    assert (rolled.cause, rolled.says) == (Cause.ROLLOUT, f"it gets {new.in_short}")


def test_what_did_not_answer_is_not_counted_and_not_called_missing_for_a_reason_of_its_own() -> None:
    desired = fleet(2)
    dark = seen(desired, zones={HOME: unknown("503")}, nodes=(), runners=())
    found = judged(desired, dark)
    assert {(each.cause, each.says) for each in found.missing()} == {(Cause.UNKNOWN, f"{HOME}: 503")}
    assert (counts(found, "tpu-ci").standing, counts(found, "tpu-ci").serving) == (None, None)
    deaf = judged(desired, seen(desired, github=unknown("no token"), runners=()))
    assert {each.says for each in deaf.missing()} == {"no token"}
    assert (counts(deaf, "tpu-ci").standing, counts(deaf, "tpu-ci").serving) == (2, None)


def test_vms_of_a_window_are_told_with_when_it_opens() -> None:
    desired = by_hour.at(pool(window(), standing=1), EVENING, EMPTY)
    told = the_one(judged(desired, at=EVENING))
    assert (told.cause, told.says, told.next) == (Cause.WINDOW, "window night is closed", EVENING + minutes(120))
    assert counts(judged(desired, at=EVENING), "tpu-ci").by_hour == 1


def test_a_pool_says_which_jobs_wait_for_it_the_oldest_first_and_no_others() -> None:
    jobs = queued(waiting(START, "tpu-ci"), waiting(START - minutes(9), "TPU"), waiting(START, "gpu"))
    told = pool_why(judged(fleet(2), jobs=jobs), "tpu-ci")
    assert [(each.labels, dict(each.ahead)) for each in told.waits] == [
        (("TPU",), {"tpu-ci": 0}),
        (("tpu-ci",), {"tpu-ci": 1}),
    ]
    assert [each.why for each in job_waits(judged(fleet(2), jobs=jobs))][-1] == "no pool has gpu"


def test_a_zone_says_its_limits_and_what_failed_there_last() -> None:
    desired = fleet(2, caps=(quota(12), quota(8, "us-central1-a")))
    memory, now = failed(desired, lacking(desired), Trouble.STOCKOUT, 3)
    told = zone_why(judged(desired, lacking(desired), memory=memory, at=now), HOME)
    assert [(each.chips, each.used) for each in told.limits] == [(12, 4)]
    (failing,) = told.failing
    assert (failing.trouble, failing.failures, failing.text) == ("stockout", 3, "no more capacity")
    assert [(each.vm, each.trouble) for each in told.failed_creates] == [(LOST, "stockout")] * 3
    assert [(each.declared, each.serving) for each in told.pools] == [(2, 1)]
    assert told.answers.known
