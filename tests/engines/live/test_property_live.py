"""Whatever befalls a fleet under the official engine, one more `up` makes it as declared, with no 409."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.engines import EngineName
from infra.fleet.google import GoogleError
from infra.model.errors import EngineError
from infra.model.fleet import slots
from infra.model.stack import load_stack
from tests.engines.interleavings import Move, moves, play
from tests.engines.live import acts, kills
from tests.engines.live.live_worlds import World, begun, copied, stopped

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("official")]

LENGTH = 6
STACK = "lone"
TEXT = """\
config:
  gcp:project: my-lab
  gcp:addPulumiAttributionLabel: "false"
  tidepool:owner: team
  tidepool:bucket: {{name: lab-records, location: us}}
  tidepool:pools:
    - {{name: tpu-ci, accelerator: {accelerator}, zones: {{us-west4-a: {count}}}, capacity: spot, trust: member}}
"""


@dataclass
class OfficialFleet:
    """Plays moves on the official engine. What cannot be done at a moment is left out, as life does."""

    world: World

    def declare(self, count: int, accelerator: str) -> None:
        self.world.stack_file.write_text(TEXT.format(count=count, accelerator=accelerator))

    def up(self) -> None:
        with suppress(EngineError):
            self.world.make().up()

    def kill(self, at: float) -> None:
        """At the drawn moment; an `up` in which that does not come is let end."""
        moments = (kills.creating, kills.replacing, kills.deleting)
        kills.killed(self.world, moments[int(at * len(moments))], insist=False)

    def stockout(self, at: float) -> None:
        self.world.control.fail("stockout", method="tpu.*", count=1 + int(3 * at))

    def sweep(self) -> None:
        with suppress(GoogleError):
            acts.made_by_the_controller(self.world)

    def refresh(self) -> None:
        with suppress(EngineError):
            self.world.make().refresh()


@pytest.fixture(scope="module")
def brought_up_once(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A fleet of two, brought up and at rest: accounts cost Google's plugin the better part of a minute."""

    def write(root: Path) -> None:
        (root / "stacks" / f"Pulumi.{STACK}.yaml").write_text(TEXT.format(count=2, accelerator="v5litepod-4"))

    world = begun(tmp_path_factory.mktemp("property"), EngineName.PULUMI, STACK, write)
    assert not world.make().up().failed
    stopped(world)
    return world


@pytest.mark.parametrize("seed", range(4))
def test_one_more_up_makes_the_fleet_as_declared(brought_up_once: World, tmp_path: Path, seed: int) -> None:
    fleet = OfficialFleet(copied(brought_up_once, tmp_path, STACK))
    sequence = moves(seed, LENGTH)
    try:
        play(fleet, sequence)
        fleet.world.control.mend()
        fleet.world.control.advance(kills.HOUR)
        _settles(fleet, sequence)
    finally:
        stopped(fleet.world)


def _settles(fleet: OfficialFleet, sequence: tuple[Move, ...]) -> None:
    world, told = fleet.world, " > ".join(map(str, sequence))
    after = max((entry["number"] for entry in world.control.log()), default=0)
    run = world.make().up()
    assert not run.failed, f"{told}: {[step.error for step in run.steps if step.error]} {run.diagnostics}"
    creates = [
        entry for entry in world.control.log(limit=5000, after=after) if entry["method"].endswith("nodes.create")
    ]
    assert not [entry for entry in creates if entry["status"] == 409], told
    config = load_stack(world.root, STACK)
    declared = {slot.name: slot.pool.accelerator.name for slot in slots(config)}
    standing = {name: node["acceleratorType"] for name, node in world.nodes().items()}
    assert declared.items() <= standing.items(), told
    assert acts.preview(world) == {"failed": False, "steps": {}}, told
