"""How soon VMs serve again after Google took one of them, or all."""

from __future__ import annotations

from statistics import median

import pytest

from infra.model.catalogue import CapacityKind
from tests.fleet.simulation.fleet_life import in_process
from tests.fleet.simulation.sweep_figures import declared
from tests.fleet.simulation.wave_figures import CREATES, SHORTER, Sea, grown, single_losses, waves_of

GOAL = 5.0
"""Minutes: after a wave until the last VM is READY, after a single loss until half of the VMs serve again."""


@pytest.mark.parametrize("capacity", [CapacityKind.PREEMPTIBLE, CapacityKind.SPOT])
@pytest.mark.parametrize("vms", [9, 40])
def test_after_a_wave_every_vm_that_google_lets_go_in_time_is_ready_within_the_goal(
    vms: int, capacity: CapacityKind
) -> None:
    sea = Sea(0, declared(vms, capacity))
    with in_process():
        waves = waves_of(grown(sea), sea, 2)
    assert max(waves.usual) < GOAL
    assert max(waves.own) < 60, "seconds of the controller's own, slow deletes or not"


def test_a_single_vm_that_is_lost_serves_again_within_the_goal() -> None:
    sea = Sea(0, declared(9, CapacityKind.SPOT))
    sea.boots, sea.tpus.creates = SHORTER, CREATES
    with in_process():
        assert median(single_losses(grown(sea), sea, 80)) < GOAL
