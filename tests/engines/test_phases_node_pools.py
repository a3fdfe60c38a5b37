"""Node pools of slices below a full quota: what gives chips back goes first, by deletion or by a smaller size."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud
from bench.engine.run import Options
from bench.tests.end_to_end.fleet_world import complaints
from bench.tests.end_to_end.test_cluster import V4, Stack, changed
from infra.engines.passes import phases_of
from infra.engines.phased import apply
from infra.model.bounds import limits
from infra.model.phases import Phases, Work
from infra.model.plan import Op, Plan
from infra.model.planned_capacity import NODE_POOL_TYPE, SLICES_TYPE
from tests.engines.phase_world import OnePass, high_water
from tests.model.clustered import entry
from tests.model.given import parse, stack_text

pytestmark = pytest.mark.usefixtures("cheap_keys")

__all__ = ["high_water"]

LARGE, SMALL = "ct4p-hightpu-4t-2x2x4-b-spot", "ct4p-hightpu-4t-2x2x1-b-spot"
QUOTA = "- {project: my-lab, zone: us-central2-b, generation: v4, kind: preemptible, chips: 32}\n"
BOUNDS = limits(parse(stack_text(pools="[]\n", quotas=QUOTA)))


class BoundedStack(Stack):
    """A stack whose zone has a quota of 32 chips of v4, at a cloud that keeps to it."""

    def __init__(self, root: Path, cloud: TestCloud) -> None:
        super().__init__(root, cloud, V4)
        cloud.control.limit(
            project="my-lab", zone="us-central2-b", generation="v4", chips=32, capacity="preemptible", held_elsewhere=0
        )

    def phases(self, *slices: str) -> Phases:
        return phases_of(self.engine(*slices).preview(), BOUNDS)

    def up(self, *slices: str) -> Plan:
        """As `./tidepool up` does it."""

        def make(*, targets: tuple[str, ...], continue_on_error: bool, excludes: tuple[str, ...] = ()) -> OnePass:
            options = Options(targets=targets, excludes=excludes, continue_on_error=continue_on_error)
            return OnePass(self.engine(*slices), options)

        return apply(self.engine(*slices).preview(), BOUNDS, make, lambda _: None, None, None, at_once=True)


@pytest.fixture
def stack(ticking_cloud: TestCloud, tmp_path: Path) -> BoundedStack:
    ticking_cloud.control.reset()
    return BoundedStack(tmp_path, ticking_cloud)


def large(number: int) -> str:
    return entry(number=number)


def small(number: int) -> str:
    return entry(accelerator="v4-8", number=number)


def test_a_pool_is_deleted_before_another_takes_its_chips(stack: BoundedStack, high_water: Counter[str]) -> None:
    assert not stack.up(large(2)).failed
    order = stack.phases(large(1), small(4))
    assert [phase.work for phase in order.order] == [Work.SHRINK, Work.GROW]
    assert (order.first, order.order[1].created) == ((f"{LARGE}-1",), (SMALL,))
    run = stack.up(large(1), small(4))
    assert complaints(run) == []
    made = {step.type for step in run.steps if step.op is Op.CREATE}
    assert made == {NODE_POOL_TYPE, SLICES_TYPE}, "the component of the new pool is told as made too"
    assert sorted(changed(run)) == [("create", SMALL), ("delete", f"{LARGE}-1")]
    assert high_water["preemptible"] == 32
    assert stack.nodes(large(1), small(4)).troubles == ()
    assert changed(stack.up(large(1), small(4))) == []
