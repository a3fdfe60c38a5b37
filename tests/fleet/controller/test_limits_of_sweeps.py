"""What keeps a sweep from doing too much: the fuse, caps, freeze windows, chips, the last serving runner."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.fleet.controller.actions import Create
from infra.fleet.controller.decide import decide
from tests.fleet.controller.given_fleet import (
    HOME,
    START,
    doing,
    first,
    fleet,
    minutes,
    node,
    nodes,
    quota,
    remembered,
    seen,
    sweeps,
)


@pytest.mark.parametrize("left", [0, 2])
def test_a_manifest_that_lost_its_slots_does_not_drain_the_fleet_that_serves(left: int) -> None:
    desired = fleet(6)
    emptied = replace(desired, slots=desired.slots[:left])
    memory = first(desired, seen(desired)).memory
    decisions = sweeps(emptied, seen(desired), 12, memory=memory, start=START + minutes(2))
    assert all(doing(each) == [] for each in decisions)
    assert decisions[-1].fuse_blown
    (later,) = sweeps(emptied, seen(desired), 1, memory=decisions[-1].memory, start=START + minutes(40))
    assert [what for what, _ in doing(later)] == ["Drain"], "one VM a pool and sweep"


@pytest.mark.parametrize(
    ("cap", "made"),
    [(quota(24), 2), (quota(20), 1), (quota(24, held_elsewhere=4), 1), (quota(24, siblings=8), 0), (quota(16), 0)],
)
def test_what_is_made_fits_below_the_quota(cap: object, made: int) -> None:
    desired = fleet(6, caps=(cap,))
    observed = seen(desired, nodes=nodes(desired, s0="", s1=""))
    decision = first(desired, observed)
    assert sum(isinstance(action, Create) for action in decision.actions) == made


def test_a_vm_that_one_list_leaves_out_still_holds_its_chips() -> None:
    desired = fleet(6, caps=(quota(24),))
    full = seen(desired, nodes=(*nodes(desired, s0=""), node(f"tpu-ci-{HOME}-9")))
    without = seen(desired, nodes=nodes(desired, s0=""))
    memory = remembered(first(desired, full), desired, START)
    once = decide(desired, without, memory, START + minutes(2))
    assert doing(once) == []
    twice = decide(desired, without, once.memory, START + minutes(4))
    assert doing(twice) == [("Create", desired.slots[0].name)]
