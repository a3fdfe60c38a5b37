"""Seeded lives of a fleet: whatever goes wrong, no promise is broken, and the fleet comes back to what is declared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

import pytest

from infra.fleet.controller.observed import RunnerSeen
from tests.fleet.simulation.fleet_faults import KINDS, Fault, drawn
from tests.fleet.simulation.fleet_life import SLOTS, lives_well
from tests.fleet.simulation.github_in_process import ByKeeper

SHORT: Final[dict[str, Any]] = {"days": 0.08, "slots": SLOTS, "others": 22.0, "lasting": 0.4}
"""A life in the default tests: two hours with much trouble, which lasts less long."""
LONG: Final = 1.0
"""Days of a life in the heavy tier, with as many faults as `drawn` usually has."""


@pytest.mark.parametrize("seed", range(50))
def test_a_life_under_faults_keeps_every_promise_and_ends_as_declared(seed: int) -> None:
    lives_well(seed, drawn(seed, **SHORT))


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(1000))
def test_a_day_of_a_thousand_fleets(seed: int) -> None:
    lives_well(seed, drawn(seed, LONG, SLOTS))


def test_fifty_lives_have_every_kind_of_fault() -> None:
    assert {fault.kind for seed in range(50) for fault in drawn(seed, **SHORT)} == KINDS.keys()


def test_a_controller_that_hears_of_no_job_is_caught_and_the_story_has_the_one_fault_that_matters() -> None:
    heard = ByKeeper.runners

    def deaf(github: ByKeeper, source: str) -> tuple[RunnerSeen, ...]:
        return tuple(replace(runner, busy=False) for runner in heard(github, source))

    matters = Fault(5400, "shrinks", slot=2, minutes=120, roll=0.5)
    others = [Fault(1200, "ghost", 4, 0, 0.1), Fault(2400, "run", 1, 0, 0.2)]
    with (
        patch.object(ByKeeper, "runners", deaf),
        pytest.raises(AssertionError, match="was deleted while its runner had a job") as told,
    ):
        lives_well(2, [*others, matters])
    story = str(told.value)
    assert str(matters) in story
    assert not [fault for fault in others if str(fault) in story], "what does not matter is left out"
