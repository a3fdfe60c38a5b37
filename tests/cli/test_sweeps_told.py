"""What people read of sweeps that follow each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn, cast

import pytest
from rich.console import Console

from infra.cli.render.console import say
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.events import Result
from infra.fleet.controller.memory import EMPTY
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.observed import Observed, Trouble, unknown
from infra.fleet.controller.outcomes import ActionOutcome, learned
from infra.fleet.controller.sweep import CutOffError, Sweeper, Swept
from infra.fleet.records import Records
from infra.model.schema import Freeze
from infra.operations.reconcile import UnsettledError, sweeps
from infra.operations.sweep_words import SweepNews, held_words, left, outcome_words, unsettled
from tests.fleet.controller.given_fleet import START, SWEEP, fleet, node, nodes, seen, served


def swept(desired: Desired, *observed: Observed, comes_to: dict[str, Any] | None = None) -> list[Swept]:
    """A sweep over each of these, one after another. comes_to: what every action comes to."""
    found, memory = [], EMPTY
    for index, each in enumerate(observed):
        now = START + index * SWEEP
        decision = decide(desired, each, memory, now)
        outcomes = tuple(
            ActionOutcome(action=action, **(comes_to or {"result": Result.DONE})) for action in decision.actions
        )
        memory = learned(decision.memory, desired, outcomes, now)
        found.append(Swept(at=now, desired=desired, observed=each, decision=decision, outcomes=outcomes))
    return found


def told(sweeps: list[Swept], *, only_changes: bool = True, width: int = 500) -> list[str]:
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    news = SweepNews(only_changes=only_changes)
    with console.capture() as captured:
        for each in sweeps:
            say(console, *news.of(each))
        if sweeps[-1].settled:
            say(console, news.settled(sweeps[-1]))
    return captured.get().splitlines()


def lost(desired: Desired) -> Observed:
    return seen(desired, runners=served(desired, but=(desired.slots[0].name,)))


def test_only_what_changed_is_said_again_and_a_vm_that_serves_is_named() -> None:
    desired = fleet(2)
    vm = desired.slots[0].name
    said = told(swept(desired, seen(desired), *[lost(desired)] * 4, *[seen(desired)] * 2))
    # The first orders of two VMs are written in the first sweep.
    assert said[-5:] == [
        "2026-11-21 12:02:00 1 waiting",
        f"  waiting {vm}: it is READY and no runner of it is online (until 12:22)",
        "2026-11-21 12:10:00 nothing to do",
        f"  serves {vm}",
        "settled after 7 sweeps, 12 min of the cloud's clock",
    ]


def test_what_is_held_says_what_why_and_until_when() -> None:
    freeze = Freeze.model_validate({"name": "deadline", "from": "2026-11-20", "to": "2027-01-03", "time_zone": "UTC"})
    desired = fleet(3, freezes=(freeze,))
    orphan = node("tpu-ci-us-west4-a-9")
    last = swept(desired, *[seen(desired, nodes=(*nodes(desired), orphan))] * 8)[-1]
    held = (
        "delete tpu-ci-us-west4-a-9: freeze window deadline until 2027-01-04 00:00; "
        "it is not declared and no runner of it is online"
    )
    assert left(last) == [held]
    assert f"  held {held}" in told([last])
    always = replace(last.decision.held[0], until=None)
    assert (
        held_words(always, START).split(": ")[1]
        == "freeze window deadline; it is not declared and no runner of it is online"
    )


def test_what_cannot_be_asked_is_named_with_its_reason() -> None:
    desired = fleet(1)
    vm = desired.slots[0].name
    deaf = seen(desired, github=unknown("401: put another token there"), runners=())
    assert left(swept(desired, deaf)[-1]) == [
        "github is unknown: 401: put another token there",
        f"{vm}: GitHub does not say whether its runner is online",
    ]
    said = told(swept(desired, seen(desired), lost(desired), deaf, seen(desired)))
    assert "  stands github: 401: put another token there (since 12:04)" in said
    assert f"  serves {vm}" in said, "as it did not when GitHub last answered"


def test_what_is_left_is_counted_beyond_ten_lines() -> None:
    desired = fleet(12)
    deaf = seen(desired, github=unknown("401"), runners=())
    last = swept(desired, deaf)[-1]
    said = unsettled(UnsettledError("it ends", last)).split("\n  ")
    assert said == ["it ends; what is left:", *left(last)[:10], "and 3 more (--json has all)"]
    assert unsettled(UnsettledError("it ends", None)) == "it ends"


def test_what_google_has_taken_is_begun_and_one_sweep_is_one() -> None:
    desired = fleet(2)
    assert told([swept(desired, *[seen(desired)] * 2)[-1]])[-1] == "settled after 1 sweep, 0 s of the cloud's clock"
    absent = seen(desired, nodes=nodes(desired, s0=""), runners=served(desired, but=(desired.slots[0].name,)))
    outcome = next(each for sweep in swept(desired, *[absent] * 3) for each in sweep.outcomes)
    said = [outcome_words(replace(outcome, operation=each)) for each in ("operations/1", "")]
    assert [each.endswith("; begun, and not made yet") for each in said] == [True, False]
    assert outcome_words(replace(outcome, result=Result.FAILED, text="no (403)")).endswith("; failed: no (403)")
    assert len(told(swept(desired, *[seen(desired)] * 3), only_changes=False)) == 4, "a line each, and the last"


def test_a_stockout_is_said_shortly_and_in_each_sweep_once() -> None:
    desired = fleet(2)
    absent = seen(desired, nodes=nodes(desired, s0=""), runners=served(desired, but=(desired.slots[0].name,)))
    refused = {"result": Result.FAILED, "text": "There is no more capacity " * 9, "trouble": Trouble.STOCKOUT}
    said = told(swept(desired, *[absent] * 3, comes_to=refused))
    assert not any("no more capacity" in line for line in said)
    assert any(f"; failed: stockout (`./tidepool why {desired.slots[0].name}`)" in line for line in said)
    assert max(map(len, said)) < 150


class Interrupted:
    """A fleet bucket at which Ctrl-C is pressed."""

    def update(self, *_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    read = update


def test_ctrl_c_in_a_sweep_says_what_has_become_of_it() -> None:
    sweeper = Sweeper(
        stack="ci",
        records=cast(Records, Interrupted()),
        observer=cast(Observer, None),
        actor=cast(Any, None),
        clock=lambda: START,
    )
    with pytest.raises(CutOffError, match="what it had asked of Google and GitHub goes on there"):
        list(sweeps(sweeper, watch=True))
