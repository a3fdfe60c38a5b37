"""Whatever befalls a fleet, one more `up` makes it as declared: no 409, no VM forgotten, nothing left to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from bench.cloud.testing import TestCloud
from infra.fleet.google import GoogleError
from infra.model.plan import Op, Plan
from tests.engines.dying_ups import DIED, DyingUps, dying_ups
from tests.engines.standing_world import StandingWorld, changed

MOST_MOMENTS = 300
"""Requests, answers and journal lines of a first `up` of this stack: the latest moment at which one is killed."""
LENGTH = 9
WEIGHTS = {"declare": 4, "up": 3, "kill": 5, "stockout": 2, "sweep": 3, "refresh": 1}
Moves = list[tuple[str, tuple[float | str, ...]]]
"""What befalls a fleet: a method of EmbeddedFleet or of its world, and its arguments."""


def moves(seed: int) -> Moves:
    """The same for the same seed; it begins with a declaration and ends with none open."""
    draw = Random(f"interleaving {seed}")
    found: Moves = []
    for verb in ("declare", *draw.choices(list(WEIGHTS), list(WEIGHTS.values()), k=LENGTH - 1)):
        if verb == "declare":
            found.append((verb, (draw.randint(1, 4), draw.choice(("v5litepod-4", "v5litepod-8")))))
        else:
            far = draw.random()
            found.append((verb, (far,) if verb in ("kill", "stockout") else ()))
    return found


@dataclass
class EmbeddedFleet:
    """Plays moves on the embedded engine. died: how many runs were killed before their end."""

    world: StandingWorld
    ups: DyingUps
    died: int = 0

    def up(self) -> Plan:
        return self.world.engine.up()

    def kill(self, at: float) -> None:
        code = self.ups.up(self.world.request, int(MOST_MOMENTS**at))
        assert code in {0, 1, DIED}, f"the up ended with {code}"
        self.died += code == DIED

    def stockout(self, at: float) -> None:
        self.world.cloud.control.fail("stockout", method="tpu.*", count=1 + int(3 * at))

    def sweep(self) -> None:
        """As the controller's: what is declared and missing is made, and what nobody declares any more goes."""
        standing = self.world.vms()
        for name in standing.keys() - set(self.world.names):
            self.world.cloud.control.remove_node(standing[name]["name"])
        for index, name in enumerate(self.world.names):
            if name not in standing:
                with suppress(GoogleError):  # before its network is there, a controller can make none
                    self.world.make(index)

    def refresh(self) -> None:
        self.world.engine.refresh()


@pytest.fixture(scope="module")
def ups() -> Iterator[DyingUps]:
    with dying_ups() as running:
        yield running


def converges(seed: int, folder: Path, cloud: TestCloud, ups: DyingUps) -> int:
    """Play the sequence of a seed, and assert that one more `up` ends it well; how often a run was killed in it."""
    cloud.control.reset()
    world = StandingWorld.at(folder / str(seed), cloud)
    fleet, sequence = EmbeddedFleet(world, ups), moves(seed)
    for verb, given in sequence:
        getattr(world if verb == "declare" else fleet, verb)(*given)
    cloud.control.mend()
    cloud.control.advance(3600)
    told = " > ".join(map(str, sequence))
    control = cloud.control
    after = control.log(limit=1)[-1]["number"]
    run = world.engine.up()
    assert not run.failed, f"{told}: {[step.error for step in run.steps if step.error]} {run.diagnostics}"
    creates = [entry for entry in control.log(limit=5000, after=after) if entry["method"].endswith("nodes.create")]
    assert not [entry for entry in creates if entry["status"] == 409], told
    fleet.sweep()
    assert set(world.vms()) == set(world.names) == set(world.state()), told
    assert {vm["acceleratorType"] for vm in world.vms().values()} == {world.config.pools[0].accelerator.name}, told
    again = world.engine.preview()
    assert not changed(again), f"{told}: {changed(again)}"
    assert {step.op for step in again.steps} == {Op.SAME}, told
    return fleet.died


@pytest.mark.parametrize("seeds", [(4, 6), pytest.param(range(100, 160), marks=pytest.mark.heavy)])
def test_one_more_up_makes_the_fleet_as_declared(
    tmp_path: Path, quick_cloud: TestCloud, ups: DyingUps, seeds: Iterable[int]
) -> None:
    died = sum(converges(seed, tmp_path, quick_cloud, ups) for seed in seeds)
    assert died > 5, "the sequences are to have kills in them"
