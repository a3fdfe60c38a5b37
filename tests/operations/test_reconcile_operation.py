"""How many sweeps a `reconcile` makes, and what ends them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from infra.fleet.controller.decide import decide
from infra.fleet.controller.memory import EMPTY
from infra.fleet.controller.sweep import Sweeper, SweepError, Swept
from infra.operations.reconcile import MOST_SWEEPS, UnsettledError, Unswept, sweeps
from tests.fleet.controller.given_fleet import START, fleet, nodes, seen

UNKNOWN = SweepError("the manifest cannot be read")


def swept(*, settled: bool = False) -> Swept:
    """A sweep over a fleet of one; one that is not settled waits to see again a VM that is gone."""
    desired = fleet(1)
    observed = seen(desired) if settled else seen(desired, nodes=nodes(desired, s0=""), runners=())
    decision = decide(desired, observed, EMPTY, START)
    if settled:
        # The first decision about a fleet writes its orders.
        decision = decide(desired, observed, decision.memory, START)
    made = Swept(at=START, desired=desired, observed=observed, decision=decision, outcomes=())
    assert made.settled == settled
    return made


class Sweeps:
    """A sweeper whose sweeps come to these, one after another, and the last again and again."""

    def __init__(self, *comes: Swept | SweepError) -> None:
        self.comes = list(comes)
        self.retries: list[bool] = []

    def sweep(self, *, retry: bool) -> Swept:
        self.retries.append(retry)
        came = self.comes.pop(0) if len(self.comes) > 1 else self.comes[0]
        if isinstance(came, SweepError):
            raise came
        return came


class Guests:
    def __init__(self) -> None:
        self.settled = 0

    def settle(self) -> None:
        self.settled += 1

    def advance(self, seconds: float) -> None:
        """Nothing happens meanwhile."""


def run(sweeper: Sweeps, **options: Any) -> Iterator[Swept | Unswept]:
    return sweeps(cast(Sweeper, sweeper), **options)


def test_one_sweep_is_one_sweep() -> None:
    sweeper = Sweeps(swept())
    assert len(list(run(sweeper, retry=True))) == 1
    assert sweeper.retries == [True]


def test_a_sweep_that_cannot_begin_is_told_before_it_ends_everything() -> None:
    told = run(Sweeps(UNKNOWN))
    assert next(told) == Unswept(str(UNKNOWN))
    with pytest.raises(SweepError):
        next(told)


def test_a_watch_goes_on_and_tries_again_what_waits_in_the_first_sweep_that_begins() -> None:
    sweeper = Sweeps(UNKNOWN, UNKNOWN, swept())
    told = run(sweeper, watch=True, retry=True)
    assert [type(next(told)) for _ in range(4)] == [Unswept, Unswept, Swept, Swept]
    assert sweeper.retries == [True, True, True, False]


def test_sweeps_end_where_nothing_is_left() -> None:
    guests = Guests()
    assert len(list(run(Sweeps(swept(), swept(), swept(settled=True)), until_settled=True, guests=guests))) == 3
    assert guests.settled == 3


def test_a_local_cloud_on_which_something_never_ends_is_left_after_many_sweeps() -> None:
    told = run(Sweeps(swept()), until_settled=True, guests=Guests())
    assert len([next(told) for _ in range(MOST_SWEEPS)]) == MOST_SWEEPS
    with pytest.raises(UnsettledError, match=f"after {MOST_SWEEPS} sweeps") as ended:
        next(told)
    assert ended.value.swept is not None
