"""Lives with versions good and bad: few VMs ever run a bad one, and there is a way back from everything."""

from __future__ import annotations

from contextlib import AbstractContextManager
from random import Random
from typing import Any, Final
from unittest.mock import patch

import pytest

from infra.fleet.controller import rollout
from tests.fleet.simulation.promises import BrokenPromiseError
from tests.fleet.simulation.rollout_lives import RolloutLife

EVENTS: Final = 8
"""Of a life of three hours."""


@pytest.mark.parametrize("promoted", [False, True], ids=["never-promoted", "promoted"])
@pytest.mark.parametrize("seed", range(3))
def test_from_every_version_and_every_undo_there_is_a_way_back_and_one_on(seed: int, promoted: bool) -> None:
    RolloutLife(seed).lives(promoted=promoted, events=EVENTS)


@pytest.mark.heavy
@pytest.mark.parametrize("promoted", [False, True], ids=["never-promoted", "promoted"])
@pytest.mark.parametrize("seed", range(3, 300))
def test_the_same_of_hundreds_of_lives(seed: int, promoted: bool) -> None:
    RolloutLife(seed).lives(promoted=promoted, events=2 * EVENTS)


@pytest.mark.parametrize("promoted", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("version", ["good image", "bad image", "good bundle", "bad bundle"])
@pytest.mark.parametrize(
    "minute", [pytest.param(minute, marks=() if minute == 5 else pytest.mark.heavy) for minute in range(30)]
)
def test_undo_at_every_moment_of_a_rollout_leads_back_and_redo_on(minute: int, version: str, promoted: bool) -> None:
    events = [(0.0, version), (60.0 * minute, "undo"), (60.0 * minute + 900, "redo")]
    RolloutLife(minute).goes_through(events, Random(minute), promoted=promoted)


@pytest.mark.parametrize("promoted", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("version", ["bad image", "bad bundle"])
@pytest.mark.parametrize(
    "minute", [pytest.param(minute, marks=() if minute == 5 else pytest.mark.heavy) for minute in range(1, 9)]
)
def test_a_memory_that_is_lost_at_any_moment_of_a_canary_takes_nothing_bad_for_proved(
    minute: int, version: str, promoted: bool
) -> None:
    RolloutLife(minute).goes_through([(0.0, version), (60.0 * minute, "memory lost")], Random(1), promoted=promoted)


def believes_the_pointer() -> AbstractContextManager[Any]:
    """As a controller without memory did wherever a pool served."""
    return patch.object(rollout, "_told_before", lambda pool, judge, target, serving: target)


def test_a_controller_that_takes_the_pointer_for_proved_breaks_a_promise() -> None:
    lost = [(0.0, "bad bundle"), (300.0, "memory lost")]
    with believes_the_pointer(), pytest.raises(BrokenPromiseError, match="run a bad version"):
        RolloutLife(5).goes_through(lost, Random(1), promoted=True)
