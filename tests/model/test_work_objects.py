"""Queues, Dask classes and groups as objects of Kubernetes: one golden of each, valid by their definitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from infra.components.in_cluster import IGNORED, REPLACING
from infra.model.addons import addons, kueue_values, manager_memory
from infra.model.errors import ConfigError
from infra.model.groups import Gang, can_be_admitted, chips_of
from infra.model.plain_machines import room_for_pods
from infra.model.queue_objects import store_settings
from infra.model.queues import most_nodes, shared_queues
from infra.model.schema import StackConfig
from infra.model.slices import node_pools
from tests.jobs.crds import faults
from tests.model import queued
from tests.model.workloads import DEDUP, MATH, TRANSFORM, objects, of, pod_specs, stack

GOLDEN = Path(__file__).parent / "golden"
QUEUE = "kueue.x-k8s.io/queue-name"
PLAIN = queued.stack()
LENDING = queued.stack(borrowing=True, preemption="never", reclaim="lower-priority", fair_sharing=False)


def of_store(config: StackConfig) -> tuple[dict[str, Any], ...]:
    assert config.queues is not None
    return store_settings(config.queues, "redis://10.0.0.3:6379")


OBJECTS: dict[str, Callable[[], tuple[dict[str, Any], ...]]] = {
    "workloads": lambda: objects(stack()),
    "queues": lambda: (*queued.objects(PLAIN), {"kueue": kueue_values(PLAIN)}),
    "lending": lambda: (*queued.objects(LENDING), *of_store(LENDING), {"kueue": kueue_values(LENDING)}),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_the_golden_ones(name: str, update_goldens: bool) -> None:
    golden = GOLDEN / f"{name}.yaml"
    found = yaml.safe_dump_all(json.loads(json.dumps(OBJECTS[name]())), sort_keys=False, width=120)
    if update_goldens:
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def of_kubernetes(name: str, own: bool) -> list[dict[str, Any]]:
    """The objects whose definitions Kubernetes has itself, or else those of others."""
    kinds = [each for each in OBJECTS[name]() if "kind" in each]
    return [
        each for each in kinds if own is not each["apiVersion"].partition("/")[0].endswith((".x-k8s.io", "dask.org"))
    ]


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_of_kubernetes_itself_is_valid_strictly(name: str) -> None:
    core = of_kubernetes(name, own=True)
    for each in core:
        kubernetes_validate.validate(each, "1.36", strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(core[0] | {"spce": {}}, "1.36", strict=True)


@pytest.mark.parametrize("name", OBJECTS)
def test_every_custom_object_is_valid_by_its_definition(name: str) -> None:
    custom = of_kubernetes(name, own=False)
    assert {each["metadata"]["name"]: faults(each) for each in custom if faults(each)} == {}
    broken = json.loads(json.dumps(custom[0]))
    broken["spec"]["wrokers"] = 1
    assert faults(broken), "an API server would drop the field on the first create"


def test_every_pod_has_a_queue_of_its_team_and_its_scheduler_a_way_for_the_operator() -> None:
    """A pod without a queue never starts in a team's namespace; the policies there keep the Dask operator out."""
    config = stack()
    team = {
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]): each
        for each in queued.objects(config)
    }
    owners = [each["metadata"] for each in objects(config) if pod_specs(each)]
    assert len(owners) == 8
    assert all(("LocalQueue", each["namespace"], each["labels"][QUEUE]) in team for each in owners)
    (rule,) = team["NetworkPolicy", "data", "dask-operator"]["spec"]["ingress"]
    (peer,) = rule["from"]
    named = peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
    assert named in {each.namespace for each in addons(config)}
    for cluster in of(config, "DaskCluster").values():
        asked = {each["port"] for each in cluster["spec"]["scheduler"]["service"]["ports"]}
        assert asked <= {each["port"] for each in rule["ports"]}


def test_what_controllers_refuse_to_change_is_made_anew_and_what_is_scaled_by_hand_is_not() -> None:
    assert "spec" in REPLACING["DaskCluster"], "its operator reads it once"
    assert IGNORED["DaskCluster"] == ["spec.worker.replicas"]
    assert {"metadata.labels", "spec.replicas", "spec.template.spec.nodeSelector"} <= set(REPLACING["StatefulSet"])
    assert "spec.replicas" not in REPLACING["LeaderWorkerSet"], "of slices, each is admitted by itself"
    assert "spec.leaderWorkerTemplate.size" in REPLACING["LeaderWorkerSet"]


@given(
    memory=st.sampled_from(["512MB", "4GB", "60GB", "350GB"]),
    cpus=st.sampled_from([0.01, 0.5, 1, 15, 16]),
    tasks=st.integers(1, 200),
    maximum=st.integers(1, 1000),
    pool=st.sampled_from(["batch", "batch-highmem"]),
)
def test_no_class_that_is_accepted_can_reach_a_chip_or_exceed_its_nodes(
    memory: str, cpus: float, tasks: int, maximum: int, pool: str
) -> None:
    declared = DEDUP | {"memory": memory, "cpus": cpus, "tasks": tasks, "maximum": maximum, "pool": pool}
    try:
        config = stack(batch=[declared], groups=[])
    except ConfigError:
        return
    assert config.cluster is not None
    (pool_of,) = [each for each in config.cluster.cpu_pools if each.name == pool]
    room = room_for_pods(pool_of.machine_type)
    (cluster,) = of(config, "DaskCluster").values()
    assert cluster["metadata"]["labels"][QUEUE] == "cpu"
    assert maximum * tasks <= 1000
    for pod in pod_specs(cluster):
        asked = pod["containers"][0]["resources"]
        assert int(asked["requests"]["cpu"].removesuffix("m")) <= room.cpus
        assert int(asked["requests"]["memory"].removesuffix("M")) <= room.memory
        assert not {"google.com/tpu"} & {*asked["requests"], *asked["limits"]}
        assert [each["key"] for each in pod["tolerations"]] == ["tidepool/batch"], "TPU nodes have a taint"
        assert pod["nodeSelector"] == {"cloud.google.com/gke-nodepool": pool}
        assert pool not in {each.name for each in node_pools(config)}


def test_nothing_is_declared_of_what_has_no_image() -> None:
    without = [{key: value for key, value in each.items() if key != "image"} for each in (TRANSFORM, MATH)]
    assert objects(stack(batch=without[:1], groups=without[1:])) == ()
    without[1].pop("checkpoints")
    assert objects(stack(groups=without[1:], batch=[])) == (), "its bucket is asked for with its image"


def test_a_group_holds_its_chips_while_it_stands() -> None:
    assert chips_of(stack().groups) == {"v4-32": 16 + 32, "v4-8": 12 + 4}


@given(
    flavors=st.lists(st.integers(0, 8), min_size=1, max_size=3),
    first=st.integers(1, 8),
    second=st.integers(1, 8),
    same=st.integers(0, 4),
)
def test_gangs_that_fit_in_some_way_are_found_to_fit(flavors: list[int], first: int, second: int, same: int) -> None:
    def fits(left: tuple[int, ...], sizes: list[int]) -> bool:
        if not sizes:
            return True
        return any(
            fits((*left[:at], room - sizes[0], *left[at + 1 :]), sizes[1:])
            for at, room in enumerate(left)
            if room >= sizes[0]
        )

    offered = {f"flavor-{number}": chips for number, chips in enumerate(flavors)}
    for sizes in ([first, second], [first] * same):
        asked = [Gang("role", "v4-8", chips) for chips in sizes]
        assert can_be_admitted(offered, asked) == fits(tuple(flavors), sizes)


def test_managers_memory_follows_the_fleet() -> None:
    assert [manager_memory(nodes) for nodes in (0, 128, 129, 1000)] == ["4Gi", "4Gi", "5Gi", "32Gi"]
    assert most_nodes(queued.stack()) == 2 + 40 + 8 + 24 + 4


def test_releases_are_pinned_to_what_tests_validate_against() -> None:
    assert {each.name: each.version for each in addons(queued.stack())} == {
        "jobset": "0.12.0", "lws": "0.10.0", "kueue": "0.19.2", "dask-operator": "2026.3.0",
    }  # fmt: skip


def test_a_shape_without_slices_has_no_queue() -> None:
    none = [queued.SLICES[2] | {"number": 0}, queued.SLICES[1]]
    config = queued.stack(none, teams=[{"name": "a"}])
    assert config.queues is not None
    assert [each.name for each in shared_queues(config, config.queues)] == ["v4-32", "cpu"]


def test_flex_start_slices_of_two_lengths_are_counted_together() -> None:
    """They are one flavor: its name and the labels of its nodes say nothing of how long a slice may run."""
    cluster = queued.CLUSTER | {"region": "us-central1", "zones": ["us-central1-c"], "cpu_pools": []}
    entries = [
        {"accelerator": "tpu7x-8", "zone": zone, "capacity": {"flex-start": length}, "buffer": 0, "maximum": 3}
        for zone, length in (("us-central1-c", "24h"), ("us-central1-ai1a", "48h"))
    ]
    config = queued.stack(entries, cluster, teams=[{"name": "pretraining"}])
    assert config.queues is not None
    (queue,) = shared_queues(config, config.queues)
    assert [(quota.flavor, quota.chips) for quota in queue.quotas] == [("tpu7x-8-flex-start", 24)]
