"""What between two sweeps begins the next one at once, and what does not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from infra.fleet.controller import tpu_api
from infra.fleet.controller.actions import Action, Create, Recreate
from infra.fleet.controller.decide import decide
from infra.fleet.controller.events import Result
from infra.fleet.controller.lookout import Lookout
from infra.fleet.controller.memory import EMPTY
from infra.fleet.controller.observed import NodeSeen
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.controller.sweep import Swept
from infra.fleet.google import GoogleError
from tests.fleet.controller.given_fleet import AWAY, HOME, START, fleet, node, place, runner, seen, slot

FLEET = fleet(slots=(slot(0, fallbacks=(place(AWAY),)), slot(1)))
VM, OTHER = (each.name for each in FLEET.slots)
ALIVE, DEAD, LEAVES = node(VM), node(VM, "PREEMPTED"), node(VM, "DELETING")
AGAIN = Recreate(slot=VM, node=DEAD, place=place(), rule="slot-preempted", reason="why")
MADE = Create(slot=VM, place=place(), rule="slot-absent", reason="why")


def after(saw: NodeSeen | None, *did: tuple[Action, Result, str]) -> Lookout:
    """After a sweep that saw the first VM so, and did these."""
    observed = seen(FLEET, nodes=tuple(each for each in (saw, node(OTHER)) if each))
    outcomes = tuple(ActionOutcome(action=action, result=result, operation=name) for action, result, name in did)
    decision = decide(FLEET, observed, EMPTY, START)
    swept = Swept(at=START, desired=FLEET, observed=observed, decision=decision, outcomes=outcomes)
    google: Any = SimpleNamespace(project="a-lab")
    return Lookout(google=google, swept=swept, clock=lambda: 0.0)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What zones list from now on. silent: zones that do not answer."""

    def see(*nodes: NodeSeen | None, silent: tuple[str, ...] = ()) -> None:
        def listed(_: Any, project: str, zone: str) -> list[NodeSeen]:
            assert project == "a-lab"
            if zone in silent:
                raise GoogleError("listing", "503", status=503)
            return [each for each in (*nodes, node(OTHER)) if each and each.zone == zone]

        monkeypatch.setattr(tpu_api, "nodes", listed)

    return see


@pytest.mark.parametrize(
    ("saw", "did", "sees", "works"),
    [
        (ALIVE, (), ALIVE, False),
        (ALIVE, (), DEAD, True),
        (ALIVE, (), node(VM, "STOPPED"), True),
        (ALIVE, (), LEAVES, False),
        (ALIVE, (), None, False),
        (DEAD, (), DEAD, False),
        (DEAD, (), replace(DEAD, created="later"), True),
        (DEAD, ((AGAIN, Result.DEFERRED, ""),), LEAVES, False),
        (DEAD, ((AGAIN, Result.DEFERRED, ""),), None, True),
        (DEAD, ((replace(AGAIN, place=None), Result.DONE, ""),), None, True),
        (DEAD, ((AGAIN, Result.DONE, "operation-1"),), None, False),
        (DEAD, ((AGAIN, Result.FAILED, ""),), None, False),
        (LEAVES, (), None, True),
        (LEAVES, ((MADE, Result.DONE, "operation-1"),), None, False),
        (None, (), None, False),
        (None, ((MADE, Result.FAILED, ""),), None, False),
    ],
    ids=[
        "well", "taken", "stopped", "on its way out", "missing from a list", "dead still", "dead again",
        "its delete goes on", "gone", "gone without a place", "made again", "refused", "gone by itself",
        "made meanwhile", "absent as before", "could not be made",
    ],
)  # fmt: skip
def test_a_sweep_begins_at_once_where_a_vm_is_dead_or_gone_at_last(
    looks: Callable[..., None], saw: Any, did: Any, sees: Any, works: bool
) -> None:
    looks(sees)
    assert after(saw, *did).sees_work() is works


def test_a_vm_that_was_seen_on_its_way_out_between_sweeps_is_gone_when_no_list_shows_it(
    looks: Callable[..., None],
) -> None:
    looks(LEAVES)
    looking = after(ALIVE)
    assert not looking.sees_work()
    looks(None)
    assert looking.sees_work()


@pytest.mark.parametrize("silent", [HOME, AWAY])
def test_what_may_be_in_a_silent_zone_is_not_gone(looks: Callable[..., None], silent: str) -> None:
    looks(None, silent=(silent,))
    assert not after(LEAVES).sees_work()


@pytest.mark.parametrize(
    ("seconds", "dies_at", "waited"),
    [(0.0, 0, []), (-5.0, 0, []), (8.0, 0, [8.0]), (40.0, 99, [10.0, 10.0, 10.0, 10.0]), (120.0, 2, [10.0, 10.0])],
)
def test_it_waits_in_pieces_and_no_longer_than_until_there_is_work(
    looks: Callable[..., None], seconds: float, dies_at: int, waited: list[float]
) -> None:
    pieces: list[float] = []

    def pause(piece: float) -> None:
        pieces.append(piece)
        looks(DEAD if len(pieces) >= dies_at else ALIVE)

    assert after(ALIVE).waits(seconds, pause) is (waited != [] and len(pieces) == dies_at)
    assert pieces == waited


@pytest.mark.parametrize(
    ("runners", "waited"), [(400, [10.0, 10.0, 10.0, 10.0, 5.0]), (2000, [44.0, 1.0]), (10_000, [45.0])]
)
def test_no_sweep_begins_so_soon_that_lists_of_runners_use_up_the_calls_of_the_hour(
    looks: Callable[..., None], runners: int, waited: list[float]
) -> None:
    looks(ALIVE)
    swept, pieces = after(ALIVE).swept, list[float]()
    assert swept is not None
    many = replace(swept.observed, runners=tuple(runner(VM, number=number) for number in range(runners)))
    assert not replace(after(ALIVE), swept=replace(swept, observed=many)).waits(45.0, pieces.append)
    assert pieces == waited


def test_the_time_that_a_look_at_a_large_fleet_takes_counts(looks: Callable[..., None]) -> None:
    looks(ALIVE)
    pieces, times = list[float](), itertools.count(step=40)
    assert not replace(after(ALIVE), clock=lambda: next(times)).waits(120.0, pieces.append)
    assert pieces == [10.0, 10.0, 10.0]
