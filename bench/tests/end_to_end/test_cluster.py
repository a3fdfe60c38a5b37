"""A cluster and its slices at a cloud that refuses what GKE refuses: made from nothing, unchanged, edited by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud
from bench.engine.engine import Engine
from bench.engine.run import Options
from bench.providers.google import GoogleProvider
from bench.tests.end_to_end.fleet_world import complaints, engine_of
from infra.model.cluster_state import ClusterNow, SlicesNow
from infra.model.plan import Op, Plan
from infra.model.schema import StackConfig
from infra.operations.fleet.nodes import nodes_now
from infra.program.stack import declare
from tests.model.clustered import batch, cluster, entry
from tests.model.given import parse, stack_text

V4 = cluster(cpu_pools=batch(spot="true"))
CENTRAL = cluster(region="us-central1", zones="[us-central1-a]")
SCALED = {"number": None, "buffer": 1, "maximum": 2}
WAITING = {"capacity": "{flex-start: 24h}", "number": None, "buffer": 0, "maximum": 1}

V4_SLICES = (entry(**SCALED), entry(**SCALED | {"accelerator": "v4-8"}))
CENTRAL_SLICES = (
    entry(accelerator="v5p-16", zone="us-central1-a", number=1, capacity="on-demand"),
    entry(accelerator="v6e-8", zone="us-central1-b", number=2),
    entry(accelerator="v5litepod-16", zone="us-central1-a", **WAITING),
    entry(accelerator="tpu7x-16", zone="us-central1-c", number=1),
)


class Stack:
    """One stack at a cloud, whose slices are edited."""

    def __init__(self, root: Path, cloud: TestCloud, of: str, name: str = "training") -> None:
        self._root, self._cloud, self._of, self._name = root, cloud, of, name

    def config(self, *slices: str) -> StackConfig:
        text = stack_text(cluster=self._of, slices="".join(slices), pools="[]\n")
        return parse(text.replace("my-lab-ci", f"my-lab-{self._name}"), stack=self._name)

    def nodes(self, *slices: str) -> ClusterNow:
        found = nodes_now(self.config(*slices), self._cloud.url)
        assert found is not None
        return found

    def engine(self, *slices: str) -> Engine:
        config = self.config(*slices)
        google = GoogleProvider(self._cloud.url, "my-lab")
        return engine_of(self._root, self._name, {"gcp:project": "my-lab"}, lambda: declare(config), google)

    def changes(self, *slices: str) -> list[tuple[str, str]]:
        plan = self.engine(*slices).up(Options(refresh=True))
        assert complaints(plan) == []
        return changed(plan)


def changed(plan: Plan) -> list[tuple[str, str]]:
    custom = (step for step in plan.steps if step.type.startswith("gcp:"))
    return [(step.op.value, step.name) for step in custom if step.op is not Op.SAME]


@pytest.mark.parametrize(
    ("of", "slices"),
    [(V4, V4_SLICES), (CENTRAL, CENTRAL_SLICES)],
    ids=["v4", "v5p, v6e, v5e and tpu7x"],
)
def test_cluster_is_made_from_nothing_and_a_second_run_changes_nothing(
    tmp_path: Path, cloud: TestCloud, of: str, slices: tuple[str, ...]
) -> None:
    stack = Stack(tmp_path, cloud, of)
    before = cloud.control.status()["requests"]
    assert ("create", "train") in stack.changes(*slices)
    refused = [each for each in cloud.control.log(limit=5000, after=before) if each["status"] not in (200, 404)]
    assert refused == [], "nothing is asked that GKE refuses"
    assert stack.changes(*slices) == []


def test_each_number_changes_one_pool(tmp_path: Path, cloud: TestCloud) -> None:
    stack = Stack(tmp_path, cloud, V4)
    large, small = V4_SLICES
    stack.changes(large, small)
    more = large.replace("maximum: 2", "maximum: 3")
    assert stack.changes(more, small) == [("create", "ct4p-hightpu-4t-2x2x4-b-spot-2")]
    larger = small.replace("maximum: 2", "maximum: 3")
    assert stack.changes(more, larger) == [("update", "ct4p-hightpu-4t-2x2x1-b-spot")]
    standing = more.replace("buffer: 1", "buffer: 2")
    assert stack.changes(standing, larger) == [("update", "ct4p-hightpu-4t-2x2x4-b-spot-1")]
    assert stack.changes(more, larger) == [("update", "ct4p-hightpu-4t-2x2x4-b-spot-1")]
    assert stack.changes(large, larger) == [("delete", "ct4p-hightpu-4t-2x2x4-b-spot-2")]


def test_slices_that_found_no_room_are_asked_for_again_once_the_engine_has_looked(
    tmp_path: Path, cloud: TestCloud
) -> None:
    stack = Stack(tmp_path, cloud, V4)
    large, small = V4_SLICES
    stack.changes(large, small)
    more = large.replace("buffer: 1", "buffer: 3").replace("maximum: 2", "maximum: 3")
    fault = cloud.control.fail("stockout", zone="us-central2-b", project="my-lab")
    assert "GCE_STOCKOUT" in "\n".join(complaints(stack.engine(more, small).up(Options(refresh=True))))
    assert "1 node pool is ERROR; `up --refresh` asks for its nodes again" in stack.nodes(more, small).troubles[0]
    cloud.control.mend(fault["id"])
    wanted = {("update", "ct4p-hightpu-4t-2x2x4-b-spot-1"), ("update", "ct4p-hightpu-4t-2x2x4-b-spot-2")}
    assert set(stack.changes(more, small)) == wanted
    assert stack.nodes(more, small).troubles == ()


def test_how_nodes_stand_is_asked_of_gke_and_of_the_cluster(tmp_path: Path, cloud: TestCloud) -> None:
    stack = Stack(tmp_path, cloud, V4)
    large, small = V4_SLICES
    assert stack.nodes(large, small).troubles == ("cluster train is not there",)
    stack.changes(large, small)
    found = stack.nodes(large, small)
    assert (found.state, found.troubles, found.known) == ("RUNNING", (), True)
    assert [row.name for row in found.rows] == ["v4-32-spot", "v4-8-spot", "system", "batch"]
    assert [row.slices for row in found.rows][:2] == [SlicesNow(least=1, most=2, standing=1, free=None)] * 2
    assert [row.ready for row in found.rows] == [4, 1, 1, 0]
    fewer = large.replace("maximum: 2", "maximum: 1")
    assert stack.nodes(fewer, small).troubles == (
        "node pool ct4p-hightpu-4t-2x2x4-b-spot-1 has a label of Tidepool's and is not declared",
    ), "as long as the edit is not applied"
