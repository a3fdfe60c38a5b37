"""What sweeps send at Google while it is slow, refuses, or has done it already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from infra.fleet.controller.act import DELETE_SECONDS, Actor
from infra.fleet.controller.actions import Action, Create
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import Result
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.controller.sweep import Swept, summary
from infra.model import bucket_names

if TYPE_CHECKING:
    pass
from tests.fleet.controller.swept_lab import VMS, Lab, did


def test_a_vm_that_is_there_already_was_made(lab: Lab) -> None:
    """A create whose answer was lost is asked for again."""
    sweeper = lab.sweeper()
    desired, *_ = sweeper._desired()
    outcome = sweeper.actor(desired).do(Create(slot=VMS[0], place=desired.slots[0].home, rule="slot-absent", reason=""))
    assert (outcome.result, outcome.text) == (Result.DONE, "it exists already")


def test_a_delete_that_takes_long_leaves_its_create_to_a_later_sweep(lab: Lab) -> None:
    lab.cloud.control.preempt(lab.path(VMS[0]))
    waited: list[float] = []

    class Slow(Actor):
        """At a TPU API whose deletes are never over."""

        def _node(self, zone: str, name: str) -> Mapping[str, Any] | None:
            seen.setdefault(name, super()._node(zone, name) or {})
            return seen[name]

    def actor(desired: Desired) -> Actor:
        given: dict[str, Any] = {"google": lab.google, "records": lab.records, "github": lab.api, "desired": desired}
        return Slow(**given, began=0.0, clock=lambda: sum(waited), sleep=waited.append)

    seen: dict[str, Mapping[str, Any]] = {}
    swept = replace(lab.sweeper(), actor=actor).sweep()
    assert did(swept) == [("recreate", VMS[0], "deferred")]
    assert "1 deferred" in summary(swept), "a VM was deleted"
    assert sum(waited) == DELETE_SECONDS
    assert lab.record(bucket_names.memory_object("ci")).get("creating", {}) == {}
    lab.cloud.control.advance(600)
    assert did(lab.sweep()) == [("create", VMS[0], "done")]


def calls(lab: Lab, swept: Callable[[], object]) -> list[str]:
    """Methods of the TPU API that were called, as `nodes.create`."""
    before = lab.cloud.control.log(limit=1)[-1]["number"]
    swept()
    methods = [entry["method"] for entry in lab.cloud.control.log(limit=500, after=before)]
    return [method.removeprefix("tpu.projects.locations.") for method in methods if method.startswith("tpu.")]


def test_after_the_first_trouble_of_a_place_the_rest_of_it_waits(lab: Lab) -> None:
    for vm in VMS:
        lab.cloud.control.remove_node(lab.path(vm))
    lab.cloud.control.fail("error", code=400, method="tpu.projects.locations.nodes.create")
    came_to: list[Swept] = []
    assert calls(lab, lambda: came_to.append(lab.sweep())).count("nodes.create") == 1
    assert did(came_to[0]) == [("create", VMS[0], "failed"), *(("create", vm, "left") for vm in VMS[1:])]
    attempts = lab.record(bucket_names.memory_object("ci"))["vms"]
    assert [attempts[vm].get("attempts", 0) for vm in VMS] == [1, 0, 0], "what was left comes first the next time"


def test_deletes_are_sent_together_and_then_waited_for(lab: Lab) -> None:
    lab.sweep()
    for vm in VMS[:2]:
        lab.cloud.control.preempt(lab.path(vm))
    changing = [each for each in calls(lab, lab.sweep) if each in ("nodes.delete", "nodes.create")]
    assert changing[:2] == ["nodes.delete"] * 2


def test_a_sweep_that_is_killed_has_learned_what_a_place_refused(lab: Lab) -> None:
    for vm in VMS[:2]:
        lab.cloud.control.remove_node(lab.path(vm))
    lab.cloud.control.fail("error", code=400, method="tpu.projects.locations.nodes.create")

    class Killed(Actor):
        def do(self, action: Action) -> ActionOutcome:
            if self.troubles:
                raise KeyboardInterrupt
            return super().do(action)

    actor = partial(Killed, google=lab.google, records=lab.records, github=lab.api)
    with pytest.raises(KeyboardInterrupt):
        replace(lab.sweeper(), actor=lambda desired: actor(desired=desired)).sweep()
    (entry,) = lab.record(bucket_names.memory_object("ci"))["backoff"].values()
    assert entry["trouble"] == "refused"
