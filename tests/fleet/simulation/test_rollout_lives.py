"""Lives with versions good and bad: few VMs ever run a bad one, and there is a way back from everything."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from random import Random
from typing import Any, Final
from unittest.mock import patch

import pytest

from infra.fleet.controller import rollout, trial
from infra.local.guests.surroundings import Orders
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


def reads_none_as_the_pointer() -> AbstractContextManager[Any]:
    """As VMs did that knew no word for no image."""
    real = Orders.read
    old = lambda told, *rest: real({**told, "image": None} if told.get("image") == "none" else told, *rest)  # noqa: E731
    return patch.object(Orders, "read", old)


def forgets_what_went_back() -> AbstractContextManager[Any]:
    return patch.object(
        rollout, "_aim", lambda rollout, target, _: target if target.images else rollout.stable.target()
    )


def proves_nothing() -> AbstractContextManager[Any]:
    """As without a canary: whatever is told to one is told to all."""
    return patch.object(trial, "_proof", lambda *_: "proved")


@pytest.mark.parametrize("lack", [reads_none_as_the_pointer, forgets_what_went_back, proves_nothing])
def test_a_controller_that_lacks_what_keeps_the_way_back_breaks_a_promise(
    lack: Callable[[], AbstractContextManager[Any]],
) -> None:
    with lack(), pytest.raises(BrokenPromiseError):
        live_all(range(12))


def live_all(seeds: range) -> None:
    for seed in seeds:
        RolloutLife(seed).lives(promoted=False, events=EVENTS)
