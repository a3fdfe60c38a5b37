"""Dask classes and groups from nothing at a cloud with a cluster's API: previewed, made, unchanged, edited, scaled."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.cloud.control import Control
from bench.cloud.kubernetes.control import kubeconfig
from bench.cloud.testing import TestCloud, running_cloud
from bench.engine.engine import Engine
from bench.engine.run import Options
from bench.providers.google import GoogleProvider
from bench.providers.kubernetes.provider import KubernetesProvider
from bench.tests.cloud.cloud_clients import ask
from bench.tests.end_to_end.fleet_world import complaints, engine_of
from infra.jobs.kube import Kube, place_of
from infra.model.plan import Op, Plan
from infra.program.stack import declare
from tests.model.workloads import CODE, DEDUP, IMAGE, MATH, TRANSFORM, objects, stack

NEWER = IMAGE.replace("0" * 64, "1" * 64)
DASK = "/apis/kubernetes.dask.org/v1/namespaces/data"
SETS = "/apis/apps/v1/namespaces/rl/statefulsets"


class World:
    """One stack at one cloud, whose classes and groups are edited."""

    def __init__(self, root: Path, cloud: TestCloud) -> None:
        self._root, self.cloud = root, cloud
        self.preview: Plan = self.engine((TRANSFORM, DEDUP), (MATH, CODE)).preview()

    def engine(self, batch: Any, groups: Any) -> Engine:
        config = stack(batch=batch, groups=groups)
        served = (GoogleProvider(self.cloud.url, "my-lab-tpus"), KubernetesProvider())
        return engine_of(self._root, "training", {"gcp:project": "my-lab-tpus"}, lambda: declare(config), *served)

    def up(self, batch: Any = (TRANSFORM, DEDUP), groups: Any = (MATH, CODE)) -> Mapping[str, str]:
        plan = self.engine(batch, groups).up(Options(refresh=True))
        assert complaints(plan) == []
        return changed(plan)

    def kube(self) -> Kube:
        (reached,) = Control(self.cloud.url).clusters()
        told = kubeconfig(reached)
        return Kube(place_of(told, told["current-context"], Path("kubeconfig")))


def changed(plan: Plan) -> dict[str, str]:
    return {step.name: step.op.value for step in plan.steps if step.op is not Op.SAME and "/" in step.name}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_cloud(ticking=0.5) as cloud:
        # The team's account is somebody else's, as the stack file says of it.
        account = {"accountId": "trainer"}
        assert ask(cloud.url, "POST", "/v1/projects/my-lab-tpus/serviceAccounts", account)[0] == 200
        made = World(tmp_path_factory.mktemp("state"), cloud)
        made.up()
        yield made


def edited(declared: Mapping[str, Any], role: str = "", **values: Any) -> dict[str, Any]:
    made = copy.deepcopy(dict(declared))
    (made[role] if role else made).update(values)
    return made


def names() -> set[str]:
    told = ((each["kind"], each["metadata"]) for each in objects(stack()))
    return {f"{kind}/{metadata['namespace']}/{metadata['name']}" for kind, metadata in told}


def test_a_preview_before_the_cluster_exists_shows_every_object(world: World) -> None:
    assert complaints(world.preview) == []
    assert {step.name for step in world.preview.steps if step.op is Op.CREATE} >= names()


def test_all_stands_and_a_second_run_changes_nothing_even_of_a_cluster_that_somebody_scaled(world: World) -> None:
    assert world.kube().get(f"{DASK}/daskclusters/transform")["spec"]["worker"]["replicas"] == 2
    assert world.kube().get(f"{SETS}/math-rollout")["spec"]["replicas"] == 3
    world.kube().merge(f"{DASK}/daskclusters/dedup", {"spec": {"worker": {"replicas": 5}}})
    assert world.up() == {}
    assert world.kube().get(f"{DASK}/daskclusters/dedup")["spec"]["worker"]["replicas"] == 5


def test_each_edit_changes_what_it_must_and_nothing_beside_it(world: World) -> None:
    before = world.kube().get(f"{DASK}/daskautoscalers/transform")["metadata"]["uid"]
    batch = [edited(TRANSFORM, image=NEWER), edited(DEDUP, minimum=1, maximum=6)]
    groups = [edited(MATH, "rollout", slices=2), edited(CODE, "rollout", slices=1)]
    assert world.up(batch, groups) == {
        "DaskCluster/data/transform": "replace",
        "DaskAutoscaler/data/transform": "replace",
        "DaskAutoscaler/data/dedup": "update",
        "StatefulSet/rl/math-rollout": "replace",
        "LeaderWorkerSet/rl/code-rollout": "update",
    }
    assert world.kube().get(f"{DASK}/daskautoscalers/transform")["metadata"]["uid"] != before
    roles = ("Deployment/rl/math-curriculum", "LeaderWorkerSet/rl/math-train", "StatefulSet/rl/math-rollout")
    assert world.up(batch, [edited(groups[0], image=NEWER), groups[1]]) == dict.fromkeys(roles, "update")
