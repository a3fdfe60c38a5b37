"""A zone that cannot be listed for long: slots that surely have no VM there take fallbacks, all others wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from infra.fleet.controller.actions import Action, Create, Recreate, subject
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import ControllerSettings, Desired
from infra.fleet.controller.events import Result
from infra.fleet.controller.memory import EMPTY, Memory, read
from infra.fleet.controller.observed import KNOWN, NodeSeen, Observed, Trouble, unknown
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.controller.rules import silence
from infra.fleet.reports import Phase, ReportSeen
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    SWEEP,
    doing,
    fleet,
    minutes,
    nodes,
    place,
    runner,
    seen,
    served,
)

FLEET = fleet(3, fallbacks=(place(AWAY),), settings=ControllerSettings(replacements=50))
FIRST = FLEET.slots[0].name
ENOUGH = minutes(silence().minutes)


class Course:
    """Sweeps one after another, with what each action came to."""

    def __init__(self, desired: Desired = FLEET) -> None:
        self.desired, self.now = desired, START
        self.memory: Memory = EMPTY
        self.did: list[Action] = []

    def sweep(
        self, observed: Observed, result: Result = Result.DONE, trouble: Trouble | None = None
    ) -> list[tuple[str, str]]:
        """result, trouble: of every action of this sweep."""
        self.now += SWEEP
        decision = decide(self.desired, observed, self.memory, self.now)
        self.did = [each for each in decision.actions if isinstance(each, Create | Recreate)]
        results = [ActionOutcome(action=each, result=result, trouble=trouble) for each in decision.actions]
        self.memory = read(learned(decision.memory, self.desired, results, self.now).encoded("a"))
        return doing(decision)

    def sweeps(self, observed: Observed, time: timedelta) -> list[tuple[str, str]]:
        until = self.now + time
        done = []
        while self.now < until:
            done += self.sweep(observed)
        return done

    @property
    def places(self) -> dict[str, str]:
        return {subject(each): each.place.zone for each in self.did if isinstance(each, Create) and each.place}


def dark(desired: Desired = FLEET, **given: Any) -> Observed:
    """Its home cannot be listed."""
    zones = {**dict.fromkeys(desired.zones, KNOWN), HOME: unknown("503")}
    return seen(desired, **{"zones": zones, "nodes": (), "runners": (), **given})


def taken(*names: str, but: Sequence[NodeSeen] = ()) -> tuple[NodeSeen, ...]:
    """All of the fleet READY, but for those that Google took back."""
    return tuple(replace(each, state="PREEMPTED") if each.name in names else each for each in (*nodes(FLEET), *but))


def after_preemption(**outcome: Any) -> Course:
    """The last list shows the first VM taken away; what became of its replacement is given."""
    course = Course()
    course.sweep(seen(FLEET))
    left = {"nodes": taken(FIRST), "runners": served(FLEET, but=(FIRST,))}
    assert course.sweep(seen(FLEET, **left), **outcome) == [("Recreate", FIRST)]
    return course


@pytest.mark.parametrize("result", [Result.DEFERRED, Result.LEFT], ids=["its delete was sent", "nothing was begun"])
def test_what_google_took_back_goes_to_its_fallback_once_its_zone_was_silent_for_long(result: Result) -> None:
    course = after_preemption(result=result)
    assert course.sweeps(dark(), ENOUGH) == []
    assert course.sweep(dark()) == [("Create", FIRST)]
    assert course.places == {FIRST: AWAY}


def test_a_vm_whose_create_was_answered_by_a_stockout_goes() -> None:
    course = after_preemption(result=Result.FAILED, trouble=Trouble.STOCKOUT)
    course.sweeps(seen(FLEET, nodes=taken(FIRST)[1:], runners=served(FLEET, but=(FIRST,))), minutes(2))
    assert ("Create", FIRST) in course.sweeps(dark(), ENOUGH + 2 * SWEEP)


@pytest.mark.parametrize(
    "sign",
    [
        {"runners": (runner(FIRST),)},
        {"github": unknown("502")},
        {"scopes": {"repos/a-lab/code": unknown("404")}},
        {"reports_source": unknown("503")},
        {"epoch": "another command made VMs since"},
        {"declared": START + 20 * SWEEP},
        {"requests_source": unknown("503")},
    ],
    ids=["runner", "github", "repository", "reports", "command", "apply", "wishes"],
)
def test_any_doubt_that_a_vm_is_gone_keeps_its_slot_from_a_fallback(sign: Mapping[str, Any]) -> None:
    course = after_preemption(result=Result.DEFERRED)
    assert course.sweeps(dark(**sign), timedelta(hours=6)) == []


def test_a_vm_that_speaks_for_itself_is_not_made_twice() -> None:
    course = after_preemption(result=Result.DEFERRED)
    course.sweeps(dark(), ENOUGH)
    now = course.now + SWEEP
    speaks = ReportSeen(vm=FIRST, pool="tpu-ci", phase=Phase.BOOTING, at=now - minutes(5))
    assert course.sweep(dark(reports={FIRST: speaks})) == []
    assert course.sweep(dark(reports={FIRST: replace(speaks, at=now - minutes(20))})) == [("Create", FIRST)]
