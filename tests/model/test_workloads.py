"""Dask classes and groups as objects of Kubernetes: valid by their definitions, and past each known trap."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from infra.components.in_cluster import IGNORED, REPLACING
from infra.model.addons import addons
from infra.model.errors import ConfigError
from infra.model.groups import can_be_admitted, chips_of
from infra.model.plain_machines import room_for_pods
from infra.model.queue_objects import queue_objects
from infra.model.schema import StackConfig
from infra.model.slices import node_pools
from tests.jobs.crds import faults
from tests.model.workloads import CLUSTER, CODE, DEDUP, MATH, TRANSFORM, objects, of, pod_specs, stack

GOLDEN = Path(__file__).parent / "golden" / "workloads.yaml"
QUEUE = "kueue.x-k8s.io/queue-name"
OTHER = MATH | {"rollout": MATH["rollout"] | {"slices": 1}, "checkpoints": {"bucket": "somebody-elses"}}
FLEETS = {"bucket": "my-lab-tpus-training", "location": "us"}
BUILT_IN = {"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1"}


def owners_of_pods(config: StackConfig) -> Iterator[dict[str, Any]]:
    return (each for each in objects(config) if pod_specs(each))


def test_objects_are_the_golden_ones(update_goldens: bool) -> None:
    found = yaml.safe_dump_all(json.loads(json.dumps(objects(stack()))), sort_keys=False, width=120)
    if update_goldens:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_every_object_of_kubernetes_itself_is_valid_strictly() -> None:
    core = [each for each in objects(stack()) if each["apiVersion"] in BUILT_IN]
    assert {each["kind"] for each in core} == {
        "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "StatefulSet",
    }  # fmt: skip
    for each in core:
        kubernetes_validate.validate(each, "1.36", strict=True)


@pytest.mark.parametrize("kind", ["LeaderWorkerSet", "DaskCluster", "DaskAutoscaler"])
def test_every_custom_object_is_valid_by_its_definition(kind: str) -> None:
    found = of(stack(), kind)
    assert len(found) == 2
    assert {name: faults(each) for name, each in found.items() if faults(each)} == {}
    broken = json.loads(json.dumps(next(iter(found.values()))))
    broken["spec"]["wrokers"] = 1
    assert faults(broken), "an API server would drop the field on the first create"


def test_a_pod_without_a_queue_would_never_start_in_a_teams_namespace() -> None:
    """The Dask operator copies a cluster's labels to each deployment that it makes, and Kueue theirs to the pods."""
    config = stack()
    assert config.queues is not None
    local = {
        (each["metadata"]["namespace"], each["metadata"]["name"])
        for each in queue_objects(config, config.queues)
        if each["kind"] == "LocalQueue"
    }
    told = [each["metadata"] for each in owners_of_pods(config)]
    assert len(told) == 8
    assert {(each["namespace"], each["labels"][QUEUE]) for each in told} <= local


def test_the_operator_may_reach_schedulers_past_the_policies_of_the_namespace() -> None:
    config = stack()
    assert config.queues is not None
    (policy,) = [
        each["spec"]
        for each in queue_objects(config, config.queues)
        if (each["metadata"].get("namespace"), each["metadata"]["name"]) == ("data", "dask-operator")
    ]
    (rule,) = policy["ingress"]
    (peer,) = rule["from"]
    assert peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] in {
        each.namespace for each in addons(config)
    }
    for cluster in of(config, "DaskCluster").values():
        asked = {each["port"] for each in cluster["spec"]["scheduler"]["service"]["ports"]}
        assert asked <= {each["port"] for each in rule["ports"]}


def test_an_idle_cluster_is_not_deleted_behind_the_stacks_back() -> None:
    assert all("idleTimeout" not in each["spec"] for each in of(stack(), "DaskCluster").values())


def test_a_changed_class_is_a_new_cluster_and_a_scaled_one_is_not() -> None:
    """The operator reads a cluster once; who scales it by hand changes spec.worker.replicas."""
    assert "spec" in REPLACING["DaskCluster"]
    assert IGNORED["DaskCluster"] == ["spec.worker.replicas"]


def test_a_worker_asks_for_all_the_tasks_that_it_has_at_once() -> None:
    (container,) = of(stack(), "DaskCluster")["transform"]["spec"]["worker"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "8000m", "memory": "32000M"}
    command = container["command"]
    assert command[command.index("--nthreads") + 1] == "8"
    assert command[command.index("--memory-limit") + 1] == "32000MB"


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


def test_slices_of_one_host_are_a_stateful_set_and_others_a_leader_worker_set() -> None:
    assert sorted(of(stack(), "StatefulSet")) == ["code-train", "math-rollout"]
    sets = of(stack(), "LeaderWorkerSet")
    assert {name: each["spec"]["leaderWorkerTemplate"]["size"] for name, each in sets.items()} == {
        "math-train": 4,
        "code-rollout": 4,
    }
    assert sets["code-rollout"]["spec"]["replicas"] == 2


def test_every_pod_of_a_role_has_all_chips_of_its_vm() -> None:
    for body in (*of(stack(), "StatefulSet").values(), *of(stack(), "LeaderWorkerSet").values()):
        (pod,) = pod_specs(body)
        assert pod["containers"][0]["resources"]["limits"] == {"google.com/tpu": "4"}
        assert not any("resources" in each for each in pod["initContainers"]), "who waits needs no chip"


def test_the_gang_of_a_stateful_set_does_not_wait_for_its_first_pod() -> None:
    assert {each["spec"]["podManagementPolicy"] for each in of(stack(), "StatefulSet").values()} == {"Parallel"}


def test_what_kueue_refuses_to_change_is_made_anew() -> None:
    """Its webhooks: no other count of replicas of a StatefulSet, no other queue, no other shape or ports of pods."""
    assert {"metadata.labels", "spec.replicas", "spec.template.spec.nodeSelector"} <= set(REPLACING["StatefulSet"])
    assert "spec.replicas" not in REPLACING["LeaderWorkerSet"], "of slices, each is admitted by itself"
    assert "spec.leaderWorkerTemplate.size" in REPLACING["LeaderWorkerSet"]


def test_hosts_of_one_slice_lie_in_one_node_pool() -> None:
    for each in of(stack(), "LeaderWorkerSet").values():
        told = each["metadata"]["annotations"]
        assert told["leaderworkerset.sigs.k8s.io/exclusive-topology"] == "cloud.google.com/gke-nodepool"


def test_a_slice_restarts_as_a_whole_and_needs_no_chips_beside_it() -> None:
    for each in of(stack(), "LeaderWorkerSet").values():
        spec = each["spec"]
        assert spec["leaderWorkerTemplate"]["restartPolicy"] == "RecreateGroupOnPodRestart"
        assert spec["rolloutStrategy"]["rollingUpdateConfiguration"]["maxSurge"] == 0


def test_up_waits_for_no_quota_and_an_unawaited_delete_leaves_no_name_behind() -> None:
    for body in owners_of_pods(stack(batch=[])):
        told = body["metadata"].get("annotations", {})
        if body["kind"] == "LeaderWorkerSet":
            assert "pulumi.com/skipAwait" not in told, "of a custom kind its delete alone is awaited"
        else:
            assert told["pulumi.com/skipAwait"] == "true"
        if body["kind"] == "StatefulSet":
            assert told["pulumi.com/deletionPropagationPolicy"] == "background"


def test_pods_of_a_set_find_one_another_by_a_headless_service_of_its_name() -> None:
    services = of(stack(), "Service")
    for kind in ("StatefulSet", "LeaderWorkerSet"):
        for name, body in of(stack(), kind).items():
            service = services[name]["spec"]
            assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)
            template = body["spec"].get("template") or body["spec"]["leaderWorkerTemplate"]["workerTemplate"]
            assert service["selector"].items() <= template["metadata"]["labels"].items()
            assert body["spec"].get("serviceName", name) == name


def test_roles_know_where_weights_lessons_and_checkpoints_are() -> None:
    for body in owners_of_pods(stack(batch=[], groups=[MATH])):
        (container,) = pod_specs(body)[0]["containers"]
        assert {each["name"]: each["value"] for each in container["env"]} == {
            "TIDEPOOL_CHECKPOINTS": "gs://my-lab-tpus-math/math",
            "TIDEPOOL_CURRICULUM": "math-curriculum.rl.svc:50051",
            "TIDEPOOL_WEIGHTS": "grpc://math-train-0.math-train.rl.svc:8815",
        }


def ingress(policies: dict[str, dict[str, Any]], name: str) -> set[tuple[str, int | None]]:
    """Whom a policy lets in: a role, or empty for the group; and the port, None for each."""
    return {
        (peer["podSelector"]["matchLabels"].get("tidepool/role", ""), port)
        for rule in policies[name]["spec"]["ingress"]
        for peer in rule["from"]
        for port in [each["port"] for each in rule.get("ports", [])] or [None]
    }


def test_only_pods_of_the_group_talk_on_its_ports() -> None:
    config = stack()
    assert config.queues is not None
    policies = of(config, "NetworkPolicy")
    assert ingress(policies, "math-train") == {("train", None), ("", 8815)}
    assert ingress(policies, "math-rollout") == {("rollout", None)}
    assert ingress(policies, "math-curriculum") == {("curriculum", None), ("", 50051)}
    peers = [peer for each in policies.values() for rule in each["spec"]["ingress"] for peer in rule["from"]]
    assert all(peer["podSelector"]["matchLabels"]["tidepool/group"] for peer in peers if "podSelector" in peer)
    # What policies allow adds up: of the namespace's, those for every pod let in the Dask operator alone.
    team = [each["spec"] for each in queue_objects(config, config.queues) if each["kind"] == "NetworkPolicy"]
    of_groups = [each for each in team if each["podSelector"] == {}]
    let_in = [peer for each in of_groups for rule in each.get("ingress", []) for peer in rule["from"]]
    assert let_in
    assert all(list(peer) == ["namespaceSelector"] for peer in let_in)
    others = {json.dumps(each["podSelector"]) for each in team if each not in of_groups}
    assert [json.loads(each) for each in others] == [
        {"matchExpressions": [{"key": "tidepool/group", "operator": "DoesNotExist"}]}
    ]


def test_roles_start_and_change_in_one_order() -> None:
    sets = {**of(stack(groups=[MATH]), "LeaderWorkerSet"), **of(stack(groups=[MATH]), "StatefulSet")}
    after = {name: each["metadata"]["annotations"]["tidepool/after"] for name, each in sets.items()}
    assert after == {
        "math-train": "Deployment/math-curriculum",
        "math-rollout": "LeaderWorkerSet/math-train",
    }
    waits = {name: pod_specs(each)[0]["initContainers"][0]["command"][-2:] for name, each in sets.items()}
    assert waits == {
        "math-train": ["math-curriculum.rl.svc", "50051"],
        "math-rollout": ["math-train-0.math-train.rl.svc", "8815"],
    }


def test_the_learner_is_evicted_by_nobody_who_asks_and_actors_a_slice_at_a_time() -> None:
    budgets = {name: each["spec"]["maxUnavailable"] for name, each in of(stack(), "PodDisruptionBudget").items()}
    assert budgets == {"math-train": 0, "math-rollout": 1, "code-train": 0, "code-rollout": 4}


def test_nothing_is_declared_of_what_has_no_image() -> None:
    without = [{key: value for key, value in each.items() if key != "image"} for each in (TRANSFORM, MATH)]
    assert objects(stack(batch=without[:1], groups=without[1:])) == ()
    without[1].pop("checkpoints")
    assert objects(stack(groups=without[1:], batch=[])) == (), "its bucket is asked for with its image"


def test_names_of_objects_are_unique() -> None:
    named = [(each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]) for each in objects(stack())]
    assert len(set(named)) == len(named)


def test_a_group_holds_its_chips_while_it_stands() -> None:
    assert chips_of(stack().groups) == {"v4-32": 16 + 32, "v4-8": 12 + 4}


@given(
    flavors=st.lists(st.integers(0, 8), min_size=1, max_size=3),
    first=st.integers(1, 8),
    second=st.integers(1, 8),
    same=st.integers(0, 4),
)
def test_gangs_that_fit_in_some_way_are_found_to_fit(flavors: list[int], first: int, second: int, same: int) -> None:
    from infra.model.groups import Gang

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


def refused(**more: Any) -> dict[str, str]:
    """Where the problems are, and what each says."""
    with pytest.raises(ConfigError) as error:
        stack(**more)
    return {each.subject.rpartition("tidepool:")[2]: f"{each.value}: {each.rule}" for each in error.value.problems}


def test_a_class_on_a_pool_of_slices_is_refused() -> None:
    name = next(iter(node_pools(stack()))).name
    (said,) = refused(batch=[TRANSFORM | {"pool": name}]).items()
    assert said == (
        "batch[0].pool",
        f'"{name}": {name} is a node pool of TPU slices, whose chips only jobs and groups use',
    )


def test_a_class_that_no_node_of_its_pool_can_run_is_refused_with_the_numbers() -> None:
    said = refused(batch=[DEDUP | {"pool": "batch"}])
    assert (
        "a worker asks 16 CPUs and 350 GB; a node of batch (n2-standard-16) has 15.39 CPUs and 57.42 GB"
        in said["batch[0]"]
    )


def test_more_workers_than_the_pool_has_room_for_are_refused_with_the_numbers() -> None:
    said = refused(batch=[DEDUP | {"maximum": 9}])
    assert said["batch[0].maximum"].startswith("9: 8 nodes of batch-highmem hold 8 such workers of 16 CPUs and 350 GB")


def classes(*minimums: int) -> list[dict[str, Any]]:
    """Classes of workers that fill a node each, of a pool of eight."""
    return [DEDUP | {"name": f"dedup-{index}", "minimum": each} for index, each in enumerate(minimums)]


def test_classes_whose_minimums_fit_no_pool_together_are_refused_with_the_numbers() -> None:
    said = refused(batch=classes(5, 7), groups=[])
    assert list(said) == ["batch"]
    assert "dedup-0 with 5 workers, dedup-1 with 7 workers always stand and ask 196 CPUs and 4216 GB" in said["batch"]
    assert "8 nodes of batch-highmem have " in said["batch"]


def test_the_curriculum_of_a_group_counts_to_what_always_stands_in_its_pool() -> None:
    pools = [each | {"maximum": 1} for each in CLUSTER["cpu_pools"]]
    small = TRANSFORM | {"tasks": 1, "minimum": 5, "maximum": 12}
    cluster = CLUSTER | {"cpu_pools": pools}
    stack(batch=[small], groups=[], cluster=cluster)
    lessons = MATH | {"curriculum": MATH["curriculum"] | {"cpus": 9}}
    said = refused(batch=[small], groups=[lessons], cluster=cluster)
    assert "transform with 5 workers, the curriculum of math always stand and ask 16 CPUs" in said["batch"]


def test_maximums_of_classes_that_adapt_may_pass_their_pool_together() -> None:
    assert len(stack(batch=classes(3, 3), groups=[]).batch) == 2, "each has 7 workers at most, on 8 nodes"


def test_a_group_that_can_never_be_admitted_is_refused_with_the_numbers() -> None:
    greedy = MATH | {"rollout": MATH["rollout"] | {"slices": 5}}
    assert refused(groups=[greedy]) == {
        "groups[0]": "math: it asks 20 chips of v4-8 (rollout 20), each of these of one kind of capacity, and the "
        "queue has 16 of v4-8-on-demand and 8 of v4-8-spot: it would wait for ever"
    }


def test_groups_that_do_not_fit_beside_one_another_are_refused_with_the_numbers() -> None:
    second = CODE | {"rollout": CODE["rollout"] | {"slices": 3}}
    assert refused(groups=[MATH, second]) == {
        "groups": "64 chips: all groups together ask 64 chips of v4-32, and its queue has 48 of v4-32-spot"
    }


def test_a_group_on_slices_that_may_be_none_is_refused() -> None:
    none = [{"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "number": 0}]
    alone = MATH | {"rollout": MATH["train"] | {"slices": 1}}
    alone["rollout"].pop("port", None)
    assert "the queue has none" in refused(groups=[alone], slices=none)["groups[0]"]


@pytest.mark.parametrize(
    ("batch", "groups", "where"),
    [
        (TRANSFORM | {"memory": "351GB"}, MATH, "batch[0].memory"),
        (TRANSFORM | {"memory": "511MB"}, MATH, "batch[0].memory"),
        (TRANSFORM | {"memory": "4Gi"}, MATH, "batch[0].memory"),
        (TRANSFORM | {"cpus": 0.001}, MATH, "batch[0].cpus"),
        (TRANSFORM | {"cpus": 17}, MATH, "batch[0].cpus"),
        (TRANSFORM | {"maximum": 126}, MATH, "batch[0].maximum"),
        (TRANSFORM | {"minimum": 41}, MATH, "batch[0].minimum"),
        (TRANSFORM | {"team": "nobody"}, MATH, "batch[0].team"),
        (TRANSFORM | {"priority": "urgent"}, MATH, "batch[0].priority"),
        (TRANSFORM | {"pool": "system"}, MATH, "batch[0].pool"),
        (TRANSFORM | {"image": "dask:latest"}, MATH, "batch[0].image"),
        (TRANSFORM, MATH | {"team": "nobody"}, "groups[0].team"),
        (TRANSFORM, MATH | {"train": MATH["train"] | {"accelerator": "v5p-8"}}, "groups[0].train.accelerator"),
        (TRANSFORM, MATH | {"train": MATH["train"] | {"port": 80}}, "groups[0].train.port"),
        (TRANSFORM, MATH | {"curriculum": MATH["curriculum"] | {"pool": "gpu"}}, "groups[0].curriculum.pool"),
        (TRANSFORM, MATH | {"curriculum": MATH["curriculum"] | {"cpus": 16}}, "groups[0].curriculum"),
        (TRANSFORM, MATH | {"checkpoints": FLEETS}, "groups[0].checkpoints.bucket"),
        (TRANSFORM, MATH | {"team": "data"}, "groups[0].checkpoints"),
        (TRANSFORM, MATH | {"curriculm": {}}, "groups[0].curriculm"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_where_it_stands(batch: Any, groups: Any, where: str) -> None:
    assert list(refused(batch=[batch], groups=[groups])) == [where]


def test_a_group_with_an_image_says_where_its_checkpoints_are() -> None:
    without = {key: value for key, value in MATH.items() if key != "checkpoints"}
    assert refused(groups=[without]) == {
        "groups[0].checkpoints": ": the group has an image and no bucket for its checkpoints"
    }


def test_slices_that_nobody_declares_are_told_as_missing() -> None:
    elsewhere = MATH | {"train": MATH["train"] | {"accelerator": "v5p-8"}}
    (said,) = refused(groups=[elsewhere]).values()
    assert said == '"v5p-8": the stack declares no slices of this accelerator'


def test_a_team_uses_what_its_queues_are_for() -> None:
    queues = {
        "teams": [
            {"name": "data"},
            {"name": "rl", "accelerators": ["v4-8"], "account": "a-b-c-d@my-lab.iam.gserviceaccount.com"},
        ]
    }
    assert list(refused(groups=[MATH], queues=queues)) == ["groups[0].train.accelerator"]


def test_one_name_is_one_class_and_one_group() -> None:
    assert set(refused(batch=[TRANSFORM, TRANSFORM], groups=[OTHER, OTHER])) == {"batch[1].name", "groups[1].name"}


def test_work_needs_queues() -> None:
    assert set(refused(queues={}, batch=[TRANSFORM], groups=[MATH])) == {"batch", "groups"}
