"""What is new is made, and serves, before what goes is drained; whatever ends an apply, the next one goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from bench.cloud.testing import TestCloud
from infra.engines.passes import phases_of
from infra.model.phases import Work
from infra.model.plan import Op, Plan, Status
from tests.engines.phase_world import Pool, Stack, bound, declare, declared, high_water, refusals, stack_at, vms

pytestmark = pytest.mark.usefixtures("cheap_keys")

__all__ = ["high_water"]

SPOT = "spot"
OLD = {"a": Pool(size=2, kind=SPOT)}
MOVED = {"a-moved": Pool(size=2, kind=SPOT, pool="a")}


@dataclass
class Watch:
    """A hold that writes down what stands when it is entered, and for whom; `refuses` may raise instead."""

    stack: Stack
    seen: list[tuple[bool, list[str], list[str], list[str]]] = field(default_factory=list)
    refuses: Callable[[bool], None] = lambda _: None
    made_room: list[bool] = field(default_factory=list)

    @contextmanager
    def __call__(
        self,
        *,
        leaving: Collection[str],
        staying: Collection[str],
        begun: bool,
        returning: Collection[str] = (),
        makes_room: bool = False,
    ) -> Generator[None]:
        assert not returning, "nothing stands at a fallback"
        self.made_room.append(makes_room)
        self.seen.append((begun, sorted(self.stack.standing()), sorted(leaving), sorted(staying)))
        self.refuses(begun)
        yield


@pytest.fixture
def stack(ticking_cloud: TestCloud) -> Iterator[Stack]:
    with stack_at(ticking_cloud) as stack:
        assert not stack.up(OLD).failed
        stack.passes.clear()
        yield stack


def said(run: Plan) -> str:
    return " ".join(each.message for each in run.diagnostics if each.severity == "error")


def test_a_pool_that_moves_is_drained_only_once_the_new_vms_stand(stack: Stack) -> None:
    watch = Watch(stack)
    run = stack.up(MOVED, hold=watch)
    assert not run.failed
    old, new = sorted(declared(OLD)), sorted(declared(MOVED))
    assert watch.seen == [
        (False, old, [], old),
        (True, sorted(old + new), old, []),
    ], "nothing is drained while only the old VMs stand, and all of them once both do"
    assert Counter(vms(run, Status.DONE).values()) == {Op.CREATE: 2, Op.DELETE: 2}
    assert stack.standing() == declared(MOVED)
    assert stack.up(MOVED, hold=watch).summary["same"] >= 2


def test_where_not_both_fit_as_much_goes_first_as_must(stack: Stack, high_water: Counter[str]) -> None:
    full = bound("reserved", 16)
    declare(stack.cloud, full)
    before = OLD | {"r": Pool(size=4)}
    assert not stack.up(before, full).failed
    wanted = MOVED | {"r": Pool(size=2), "s": Pool(size=2)}
    order = phases_of(stack.preview(wanted), [full])
    assert [phase.work for phase in order.order] == [Work.SHRINK, Work.GROW, Work.RETIRE]
    watch = Watch(stack)
    run = stack.up(wanted, full, hold=watch)
    assert not run.failed
    first = ["r-us-west4-a-2", "r-us-west4-a-3"]
    assert [(begun, leaving) for begun, _, leaving, _ in watch.seen] == [(False, first), (True, sorted(declared(OLD)))]
    assert watch.made_room == [True, False]
    assert stack.standing() == declared(wanted)
    assert refusals(stack.cloud) == []
    assert high_water["reserved"] <= 16


@pytest.mark.parametrize("after", [False, True], ids=["before anything is made", "before anything goes"])
def test_an_apply_that_ends_between_its_phases_is_gone_on_with(stack: Stack, after: bool) -> None:
    def dies(begun: bool) -> None:
        if begun is after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stack.up(MOVED, hold=Watch(stack, refuses=dies))
    assert declared(OLD).keys() <= stack.standing().keys(), "nothing that serves is lost"
    assert not stack.up(MOVED, hold=Watch(stack)).failed
    assert stack.standing() == declared(MOVED)
