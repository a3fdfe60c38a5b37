"""VMs that stand at fallbacks: limits count them where they stand, and an apply deletes them there."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud
from infra.engines.away import vms_away
from infra.engines.passes import Hold
from infra.engines.phased import apply
from infra.engines.standing import vm_urn
from infra.fleet.bundle import STUB
from infra.fleet.google import Api, clients, execute
from infra.model import fleet
from infra.model.bounds import limits
from infra.model.node import node_spec
from infra.model.plan import Plan
from infra.model.planned_capacity import VM_TYPE
from tests.engines.standing_world import StandingWorld

pytestmark = pytest.mark.usefixtures("cheap_keys")

AWAY = "us-west1-c"
TEXT = """\
config:
  gcp:project: my-lab
  tidepool:owner: team
  tidepool:bucket: {name: lab-records, location: us}
  tidepool:quotas:
    - {project: my-lab, zone: us-west1-c, generation: v5e, chips: 8, kind: preemptible}
  tidepool:pools:
    - name: a
      accelerator: v5litepod-4
      zones: {us-west4-a: 2}
      capacity: spot
      trust: member
      fallback: [{zone: us-west1-c, capacity: spot}]
"""
FIRST, SECOND = "a-us-west4-a-0", "a-us-west4-a-1"


@pytest.fixture
def world(tmp_path: Path, quick_cloud: TestCloud) -> Iterator[StandingWorld]:
    """Two VMs of `a`; a zone with room for two VMs, in which both may come to stand."""
    quick_cloud.control.reset()
    found = StandingWorld.at(tmp_path, quick_cloud)
    (found.request.root / "stacks" / "Pulumi.lone.yaml").write_text(TEXT)
    assert not found.engine.up().failed
    quick_cloud.control.limit(project="my-lab", zone=AWAY, generation="v5e", chips=8, capacity="preemptible")
    yield found
    quick_cloud.control.reset()


def move(world: StandingWorld, name: str) -> None:
    """What a controller does in a stockout: the VM goes at home and comes at the fallback, under the same name."""
    slot = next(each for each in fleet.slots(world.config) if each.name == name)
    place = fleet.fallbacks(slot)[0]
    body = node_spec(world.config, place, startup_script=STUB.read_text(encoding="utf-8")).to_api()
    with clients("my-lab", world.cloud.url) as google:
        api = google.api(Api.TPU).projects().locations().nodes()
        execute(api.delete(name=f"projects/my-lab/locations/{slot.zone}/nodes/{name}"), "deleting")
        world.cloud.control.advance(600)
        execute(api.create(parent=f"projects/my-lab/locations/{AWAY}", nodeId=name, body=body), "making")
    world.cloud.control.advance(600)


def standing(world: StandingWorld) -> set[tuple[str, str]]:
    """Name and zone of every VM."""
    return {(node["name"].split("/")[-1], node["name"].split("/")[3]) for node in world.cloud.control.nodes()}


def up(world: StandingWorld, hold: Hold | None = None) -> Plan:
    """As `./tidepool up` does it. hold: what waits before VMs go; without one they go at once."""
    plan = world.engine.preview()
    away = vms_away(world.request, plan, lambda _: None)
    return apply(plan, limits(world.config), world.engine_of, lambda _: None, away, hold, at_once=hold is None)


def test_what_goes_home_is_drained_at_its_fallback_only_once_home_has_it(world: StandingWorld) -> None:
    move(world, SECOND)
    world.keep({key: each for key, each in world.resources().items() if key != (VM_TYPE, SECOND)})
    drained: list[tuple[list[str], set[tuple[str, str]]]] = []

    @contextmanager
    def hold(*, leaving: Collection[str], returning: Collection[str] = (), **_: object) -> Generator[None]:
        assert set(returning) == set(leaving), "what stays at home is to be waited for, though its name goes"
        drained.append((sorted(leaving), standing(world)))
        yield

    world.cloud.control.fail("stockout", zone="us-west4-a")
    assert up(world, hold).failed
    assert [names for names, _ in drained] == [[], []], "home has no room, so it works on"
    world.cloud.control.mend()
    drained.clear()
    assert not up(world, hold).failed
    assert [names for names, _ in drained] == [[], [SECOND]]
    assert {(SECOND, "us-west4-a"), (SECOND, AWAY)} <= drained[1][1]
    assert standing(world) == {(FIRST, "us-west4-a"), (SECOND, "us-west4-a")}


def test_a_target_that_stands_at_a_fallback_is_deleted_there(world: StandingWorld) -> None:
    move(world, SECOND)
    engine = world.engine_of(targets=(vm_urn("lone", SECOND),))
    told = {step.name for step in engine.preview_destroy().steps}
    run = engine.destroy()
    assert not run.failed, run.diagnostics
    assert told == {step.name for step in run.steps} == {SECOND}
    assert standing(world) == {(FIRST, "us-west4-a")}
    assert (VM_TYPE, SECOND) not in world.resources(), "nor does the state have it at home"
