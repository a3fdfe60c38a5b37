"""What sweeps send at Google while it is slow, refuses, or has done it already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from infra.fleet.controller.act import Actor
from infra.fleet.controller.actions import Action
from infra.fleet.controller.outcomes import ActionOutcome
from infra.model import bucket_names

if TYPE_CHECKING:
    pass
from tests.fleet.controller.swept_lab import VMS, Lab


def calls(lab: Lab, swept: Callable[[], object]) -> list[str]:
    """Methods of the TPU API that were called, as `nodes.create`."""
    before = lab.cloud.control.log(limit=1)[-1]["number"]
    swept()
    methods = [entry["method"] for entry in lab.cloud.control.log(limit=500, after=before)]
    return [method.removeprefix("tpu.projects.locations.") for method in methods if method.startswith("tpu.")]


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
