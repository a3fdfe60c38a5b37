"""Sweeps beside an `up` and beside another controller: who holds the lease, and what its loss keeps from being done."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from bench.cloud.control import CloudClock
from infra.fleet.controller.act import Actor
from infra.fleet.controller.actions import Action
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.lease import SWEEP_TIME, UP_TIME, LeaseKind, LeaseTakenError, held
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.records import Body, Records, WriteResult
from infra.fleet.status.derive import status
from infra.fleet.status.look import look
from infra.model import bucket_names
from tests.fleet.controller.swept_lab import VMS, Lab, did
from tests.fleet.declared_records import end_up

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_controller_and_up_never_act_together(lab: Lab) -> None:
    clock = CloudClock(lab.cloud.control)
    with held(lab.records, "ci", LeaseKind.UP, clock, UP_TIME):
        with pytest.raises(LeaseTakenError, match="tidepool up"):
            lab.sweep()
        with pytest.raises(LeaseTakenError), held(lab.records, "ci", LeaseKind.CONTROLLER, clock, SWEEP_TIME):
            pass
    lab.sweep()


def test_while_up_holds_the_lease_status_calls_nothing_unhealthy_that_is_being_made(lab: Lab) -> None:
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    observer, clock = lab.sweeper().observer, CloudClock(lab.cloud.control)
    with held(lab.records, "ci", LeaseKind.UP, clock, UP_TIME):
        meanwhile = status(look("ci", observer, clock()))
    (pool,) = meanwhile.pools
    assert ([each.vm for each in pool.booting], pool.ready, pool.unhealthy) == ([VMS[0]], 2, ())
    assert meanwhile.next[0].what.startswith("an engine is at work on the stack: `./tidepool up` is at work until ")
    with held(lab.records, "ci", LeaseKind.CONTROLLER, clock, SWEEP_TIME):
        swept = status(look("ci", observer, clock()))
    assert [trouble.subject for trouble in swept.pools[0].unhealthy] == [VMS[0]], "a sweep is no engine"


def test_once_an_up_has_ended_with_a_manifest_nobody_is_waited_for(lab: Lab) -> None:
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    lab.records.update(bucket_names.manifest_object("ci"), lambda body: {**(body or {}), "broker": "https://b.example"})
    end_up(lab.records, "ci")
    lab.sweep()
    assert VMS[0] in lab.nodes(), "also where the sweep before it held the lease meanwhile"


def test_a_sweep_that_loses_its_lease_does_no_more_and_remembers_what_it_did(lab: Lab) -> None:
    lab.cloud.control.preempt(lab.path(VMS[0]))
    lab.cloud.control.remove_node(lab.path(VMS[1]))
    now = [CloudClock(lab.cloud.control)()]

    class Robbed(Actor):
        def do(self, action: Action) -> ActionOutcome:
            done = super().do(action)
            now[0] += timedelta(minutes=2)
            thief = {"kind": "up", "holder": "another", "until": (now[0] + timedelta(minutes=5)).isoformat()}
            self.records.update(bucket_names.lease_object("ci"), lambda _: thief)
            return done

    def actor(desired: Desired) -> Actor:
        return Robbed(google=lab.google, records=lab.records, github=lab.api, desired=desired, sleep=lambda _: None)

    swept = replace(lab.sweeper(), actor=actor, clock=lambda: now[0]).sweep()
    assert did(swept) == [("recreate", VMS[0], "deferred"), ("create", VMS[1], "failed")]
    assert all("the lease was lost: `./tidepool up` (" in each.text for each in swept.outcomes[:2])
    assert lab.nodes().get(VMS[0]) in (None, "DELETING"), "its delete was sent, and it is made again later"
    assert lab.record(bucket_names.memory_object("ci")).get("creating", {}) == {}
    assert lab.record(bucket_names.lease_object("ci"))["holder"] == "another"


def test_a_renewal_that_takes_longer_than_the_lease_lasts_lets_nothing_be_done(lab: Lab) -> None:
    """Another controller may have taken it since, and acts."""
    lab.cloud.control.remove_node(lab.path(VMS[0]))
    now, slow = [CloudClock(lab.cloud.control)()], [False]

    class Slow(Records):
        def update(self, name: str, decide: Callable[[Body | None], Body], *, mends: bool = False) -> WriteResult:
            written = super().update(name, decide, mends=mends)
            if slow[0] and name == bucket_names.lease_object("ci"):
                now[0] += SWEEP_TIME
            return written

    def actor(desired: Desired) -> Actor:
        now[0] += timedelta(minutes=1)
        slow[0] = True
        return Actor(google=lab.google, records=lab.records, github=lab.api, desired=desired)

    records = Slow(google=lab.google, bucket=lab.records.bucket)
    swept = replace(lab.sweeper(), records=records, actor=actor, clock=lambda: now[0]).sweep()
    assert {each.text for each in swept.outcomes} == {"the lease was lost: renewing it took longer than it lasts"}
    assert VMS[0] not in lab.nodes()
