"""From `slices:` and `queues:` to Kueue's objects: quotas that follow the node pools, valid by their definitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import kubernetes_validate
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from infra.model.addons import addons, kueue_values, manager_memory
from infra.model.errors import ConfigError
from infra.model.queues import most_nodes, shared_queues
from infra.model.schema import StackConfig
from infra.model.slices import most_by, node_pools
from tests.jobs.crds import faults
from tests.model.queued import CLUSTER, SLICES, objects, of, stack

ACCELERATORS = ["v4-8", "v4-16", "v4-32", "v4-64"]


def quotas(queue: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    (group,) = queue["spec"]["resourceGroups"]
    return {each["name"]: {row["name"]: row["nominalQuota"] for row in each["resources"]} for each in group["flavors"]}


def refused(**more: Any) -> list[str]:
    with pytest.raises(ConfigError) as error:
        stack(**more)
    return [each.subject.rpartition(" ")[2] for each in error.value.problems]


def test_a_quota_is_slices_times_nodes_times_chips_with_the_cpus_and_memory_of_these_nodes() -> None:
    queue = of(stack(), "ClusterQueue")["v4-32"]
    assert quotas(queue) == {
        "v4-32-reserved-lab": {"google.com/tpu": "32", "cpu": str(8 * 240), "memory": f"{8 * 407}G"},
        "v4-32-spot": {"google.com/tpu": "96", "cpu": str(24 * 240), "memory": f"{24 * 407}G"},
    }


def test_every_flavor_of_a_queue_lists_what_the_queue_covers() -> None:
    """Kueue refuses anything else, and pods that ask for cpu would never be admitted where chips alone are covered."""
    for queue in of(stack(), "ClusterQueue").values():
        (group,) = queue["spec"]["resourceGroups"]
        assert {"cpu", "memory"} <= set(group["coveredResources"])
        for flavor in group["flavors"]:
            assert [row["name"] for row in flavor["resources"]] == group["coveredResources"]


@given(
    st.lists(
        st.tuples(st.sampled_from(ACCELERATORS), st.sampled_from(["on-demand", "spot"]), st.integers(0, 9)),
        min_size=1, max_size=6, unique_by=lambda each: each[:2],
    )
)  # fmt: skip
def test_quotas_and_node_pools_never_differ(entries: list[tuple[str, str, int]]) -> None:
    declared = [
        {"accelerator": name, "zone": "us-central2-b", "capacity": kind, "number": number}
        for name, kind, number in entries
    ]
    config = stack(declared, teams=[{"name": "all"}])
    most = most_by(node_pools(config), lambda pool: pool.shape.accelerator.name)
    told = {
        name: sum(int(each["google.com/tpu"]) for each in quotas(queue).values())
        for name, queue in of(config, "ClusterQueue").items()
        if name != "cpu"
    }
    assert told == {name: extent.chips for name, extent in most.items() if extent.chips}


def test_one_maximum_edited_by_one_changes_one_quota() -> None:
    def edited(maximum: int) -> dict[str, Any]:
        spot = SLICES[1] | {"maximum": maximum}
        return {json.dumps(each["metadata"]): each for each in objects(stack([SLICES[0], spot, SLICES[2]]))}

    before, after = edited(6), edited(7)
    changed = [name for name in before if before[name] != after[name]]
    assert [json.loads(name)["name"] for name in changed] == ["v4-32"]
    assert quotas(after[changed[0]])["v4-32-spot"]["google.com/tpu"] == "112"


def test_a_flavor_is_one_shape_obtained_in_one_way() -> None:
    labels = {name: each["spec"]["nodeLabels"] for name, each in of(stack(), "ResourceFlavor").items()}
    shape = {"cloud.google.com/gke-tpu-accelerator": "tpu-v4-podslice", "cloud.google.com/gke-tpu-topology": "2x2x4"}
    assert labels["v4-32-spot"] == shape | {"cloud.google.com/gke-spot": "true"}
    assert labels["v4-32-reserved-lab"] == shape | {"cloud.google.com/reservation-name": "lab"}
    assert len({json.dumps(each) for each in labels.values()}) == len(labels), "no two flavors are the same nodes"


def test_queues_of_one_generation_are_a_cohort() -> None:
    queues = of(stack(), "ClusterQueue")
    assert {name: each["spec"].get("cohortName") for name, each in queues.items()} == {
        "v4-32": "v4",
        "v4-8": "v4",
        "cpu": None,
    }


def test_quota_is_lent_only_where_the_stack_says_so() -> None:
    def limits(config: StackConfig) -> set[tuple[str | None, str | None]]:
        group = of(config, "ClusterQueue")["v4-8"]["spec"]["resourceGroups"][0]
        return {(row.get("borrowingLimit"), row.get("lendingLimit")) for row in group["flavors"][0]["resources"]}

    assert limits(stack()) == {("0", "0")}
    assert limits(stack(borrowing=True)) == {(None, None)}
    cpu = of(stack(), "ClusterQueue")["cpu"]["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert not [row for row in cpu if "borrowingLimit" in row], "Kueue refuses limits where there is no cohort"


@pytest.mark.parametrize(
    ("within", "cohort", "told"),
    [
        ("lower-priority", "never", {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Never"}),
        ("lower-priority", "any", {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}),
        ("never", "lower-priority", {"withinClusterQueue": "Never", "reclaimWithinCohort": "LowerPriority"}),
    ],
)  # fmt: skip
def test_preemption_is_as_the_stack_declares(within: str, cohort: str, told: dict[str, str]) -> None:
    assert (
        of(stack(preemption=within, reclaim=cohort, borrowing=True), "ClusterQueue")["v4-8"]["spec"]["preemption"]
        == told
    )


def test_a_team_has_the_queues_it_may_use_in_its_own_namespace() -> None:
    local = of(stack(), "LocalQueue")
    assert sorted(local) == ["pretraining/cpu", "pretraining/v4-32", "pretraining/v4-8", "rl/cpu", "rl/v4-8"]
    assert local["pretraining/v4-8"]["spec"] == {"clusterQueue": "v4-8", "fairSharing": {"weight": "3"}}
    selectors = {name: each["spec"]["namespaceSelector"] for name, each in of(stack(), "ClusterQueue").items()}
    assert selectors["v4-32"]["matchExpressions"][0]["values"] == ["pretraining"]


def test_members_may_submit_and_explain_and_touch_no_quota() -> None:
    config = stack()
    role = of(config, "Role")["pretraining/jobs"]
    rights = {(rule["apiGroups"][0], what): rule["verbs"] for rule in role["rules"] for what in rule["resources"]}
    assert "create" in rights["jobset.x-k8s.io", "jobsets"]
    assert rights["kueue.x-k8s.io", "localqueues"] == ["get", "list", "watch"]
    wide = of(config, "ClusterRole")["tidepool-jobs"]
    assert {verb for rule in wide["rules"] for verb in rule["verbs"]} == {"get", "list"}
    assert sorted(of(config, "RoleBinding")) == ["pretraining/jobs"], "a team without members is bound to nobody"
    assert of(config, "RoleBinding")["pretraining/jobs"]["subjects"] == [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "research@my-lab.org"}
    ]


def test_pods_of_a_team_act_as_its_google_account() -> None:
    accounts = of(stack(), "ServiceAccount")
    told = {"iam.gke.io/gcp-service-account": "trainer@my-lab-tpus.iam.gserviceaccount.com"}
    assert accounts["rl/trainer"]["metadata"]["annotations"] == told
    assert "annotations" not in accounts["pretraining/trainer"]["metadata"]


CONFIGS = {"plain": stack(), "lending": stack(borrowing=True, reclaim="any", fair_sharing=False)}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_every_object_of_kueue_is_valid_by_its_definition(config: StackConfig) -> None:
    kueue = [each for each in objects(config) if "kueue" in each["apiVersion"]]
    assert len(kueue) > 10
    assert {each["metadata"]["name"]: faults(each) for each in kueue if faults(each)} == {}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_every_object_of_kubernetes_itself_is_valid_strictly(config: StackConfig) -> None:
    core = [each for each in objects(config) if "kueue" not in each["apiVersion"]]
    assert len(core) > 8
    for each in core:
        kubernetes_validate.validate(each, "1.36", strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(core[0] | {"spce": {}}, "1.36", strict=True)


def test_names_of_objects_are_unique() -> None:
    named = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in objects(stack())]
    assert len(set(named)) == len(named)


def test_what_an_object_names_stands_before_it() -> None:
    seen: set[tuple[str, str]] = set()
    for each in objects(stack()):
        if each["kind"] == "ClusterQueue":
            assert {("ResourceFlavor", name) for name in quotas(each)} <= seen
        if each["kind"] == "LocalQueue":
            assert ("ClusterQueue", each["spec"]["clusterQueue"]) in seen
        if namespace := each["metadata"].get("namespace"):
            assert ("Namespace", namespace) in seen
        seen.add((each["kind"], each["metadata"]["name"]))


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"teams": [{"name": "a"}, {"name": "a"}]}, "tidepool:queues.teams[1].name"),
        ({"teams": [{"name": "kube-system"}]}, "tidepool:queues.teams[0].name"),
        ({"teams": [{"name": "default"}]}, "tidepool:queues.teams[0].name"),
        ({"teams": [{"name": "a", "accelerators": ["v5p-8"]}]}, "tidepool:queues.teams[0].accelerators[0]"),
        ({"teams": [{"name": "a", "members": ["everyone"]}]}, "tidepool:queues.teams[0].members[0]"),
        ({"teams": [{"name": "a", "weight": 0}]}, "tidepool:queues.teams[0].weight"),
        ({"priorities": {"low": 1, "high": 1}}, "tidepool:queues.priorities"),
        ({"preemption": "always"}, "tidepool:queues.preemption"),
        ({"reclaim": "any"}, "tidepool:queues.reclaim"),
    ],
)
def test_what_no_queue_can_be_is_refused(more: dict[str, Any], where: str) -> None:
    assert refused(**more) == [where]


def test_queues_without_a_cluster_are_refused() -> None:
    assert "tidepool:queues" in refused(slices=[], cluster=None, teams=[{"name": "a"}])


def test_managers_memory_follows_the_fleet() -> None:
    assert [manager_memory(nodes) for nodes in (0, 128, 129, 1000)] == ["4Gi", "4Gi", "5Gi", "32Gi"]
    assert most_nodes(stack()) == 2 + 40 + 8 + 24 + 4


def test_kueue_admits_pods_that_ask_for_what_no_quota_covers() -> None:
    told = yaml.safe_load(kueue_values(stack())["managerConfig"]["controllerManagerConfigYaml"])
    assert told["resources"] == {"quotaCheckStrategy": "IgnoreUndeclared"}
    assert told["manageJobsWithoutQueueName"] is True
    assert "admissionFairSharing" in told
    assert (
        "admissionFairSharing" not in kueue_values(CONFIGS["lending"])["managerConfig"]["controllerManagerConfigYaml"]
    )


def test_kueue_waits_for_nodes_as_long_as_google_may_take_and_keeps_a_jobs_place() -> None:
    told = yaml.safe_load(kueue_values(stack())["managerConfig"]["controllerManagerConfigYaml"])["waitForPodsReady"]
    assert (told["timeout"], told["recoveryTimeout"]) == ("2h", "30m")
    again = told["requeuingStrategy"]
    assert again["timestamp"] == "Creation", "else a job without nodes goes behind all others"
    assert again["backoffMaxSeconds"] == 600, "no pod asks for nodes meanwhile"
    assert "backoffLimitCount" not in again, "with a limit Kueue stops the job for good"


def test_releases_are_pinned_to_what_tests_validate_against() -> None:
    assert {each.name: each.version for each in addons(stack())} == {
        "jobset": "0.12.0", "lws": "0.10.0", "kueue": "0.19.2", "dask-operator": "2026.3.0",
    }  # fmt: skip


def test_a_shape_without_slices_has_no_queue() -> None:
    none = [SLICES[2] | {"number": 0}, SLICES[1]]
    config = stack(none, teams=[{"name": "a"}])
    assert config.queues is not None
    assert [each.name for each in shared_queues(config, config.queues)] == ["v4-32", "cpu"]


def test_flex_start_slices_of_two_lengths_are_counted_together() -> None:
    """They are one flavor: its name and the labels of its nodes say nothing of how long a slice may run."""
    cluster = CLUSTER | {"region": "us-central1", "zones": ["us-central1-c"], "cpu_pools": []}
    entries = [
        {"accelerator": "tpu7x-8", "zone": zone, "capacity": {"flex-start": length}, "buffer": 0, "maximum": 3}
        for zone, length in (("us-central1-c", "24h"), ("us-central1-ai1a", "48h"))
    ]
    config = stack(entries, cluster, teams=[{"name": "pretraining"}])
    assert config.queues is not None
    (queue,) = shared_queues(config, config.queues)
    assert [(quota.flavor, quota.chips) for quota in queue.quotas] == [("tpu7x-8-flex-start", 24)]


def test_pods_of_each_team_and_of_nobody_else_are_kept_from_their_nodes() -> None:
    """Which pods it refuses, a real API server tells (bench/tests/kubernetes/test_team_pods_on_real_cluster.py)."""
    config = stack()
    ((name, policy),) = of(config, "ValidatingAdmissionPolicy").items()
    assert policy["spec"]["failurePolicy"] == "Fail"
    bound = [each["spec"] for each in of(config, "ValidatingAdmissionPolicyBinding").values()]
    assert all((each["policyName"], each["validationActions"]) == (name, ["Deny"]) for each in bound)
    selected = [each["matchResources"]["namespaceSelector"]["matchLabels"] for each in bound]
    assert selected == [{"kubernetes.io/metadata.name": team} for team in of(config, "Namespace")]
    accounts = of(config, "ServiceAccount").values()
    assert [each["automountServiceAccountToken"] for each in accounts] == [False] * len(bound)
