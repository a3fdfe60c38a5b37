"""JobSets: valid by the published definition, one pod a VM, and restarts that tell preemption from failure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.jobs import jobset as rendering
from infra.jobs.jobset import jobset
from infra.jobs.request import JobRequest, Resources, Retries
from infra.model.catalogue import accelerator_types
from infra.model.errors import ConfigError
from infra.model.gke_shapes import gke_shape
from infra.model.names import mount_name
from tests.jobs.crds import faults
from tests.jobs.synthetic import request


def job_of(body: dict[str, Any]) -> dict[str, Any]:
    return body["spec"]["replicatedJobs"][0]


def spec_of(body: dict[str, Any]) -> dict[str, Any]:
    return job_of(body)["template"]["spec"]


def pod_of(body: dict[str, Any]) -> dict[str, Any]:
    return spec_of(body)["template"]["spec"]


def variables(body: dict[str, Any]) -> dict[str, Any]:
    listed = pod_of(body)["containers"][0]["env"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in listed}


REQUESTS = {
    "multislice": request(time_limit=86400, priority="high", secrets={"HF_TOKEN": "hf-token"}),
    "one slice": request(resources=Resources.with_tpu("v5litepod-16"), queue="", service_account="trainer"),
    "one host": request(resources=Resources.with_tpu("v4-8", disk="100Gi")),
    "two processes a VM": request(resources=Resources.with_tpu("tpu7x-8", cpu="200", memory="900Gi")),
    "no TPU": request(resources=Resources.with_cpu("500m")),
    "no retries": request(retries=Retries(preemptions=0, failures=0)),
}


GOLDEN = Path(__file__).parent / "golden" / "jobsets.yaml"


def test_jobsets_are_the_golden_ones(update_goldens: bool) -> None:
    """What a request says of CPUs, memory, disk, variables, time and priority is where Kubernetes reads it."""
    asked = (REQUESTS["multislice"], replace(REQUESTS["one host"], environment={"RUN_ID": "7"}))
    text = json.dumps([jobset(each) for each in asked]).replace(json.dumps(rendering.enter_script()), '"enter.sh"')
    found = yaml.safe_dump_all(json.loads(text), sort_keys=False, width=120)
    if update_goldens:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS.keys())
def test_every_rendered_object_is_valid_by_its_definition(asked: JobRequest) -> None:
    assert faults(jobset(asked)) == []


def test_the_definition_refuses_what_is_unknown_and_what_is_missing() -> None:
    """The check above can fail: an API server would drop the first without a word."""
    body = jobset(request())
    body["spec"]["maxRestart"] = 3
    del job_of(body)["template"]
    assert len(faults(body)) == 2


@pytest.mark.parametrize("name", [name for name, each in accelerator_types().items() if gke_shape(each)])
def test_one_pod_takes_all_chips_of_one_vm(name: str) -> None:
    accelerator = accelerator_types()[name]
    body = jobset(request(resources=Resources.with_tpu(name)))
    spec = spec_of(body)
    chips = sum(int(each["resources"]["limits"]["google.com/tpu"]) for each in pod_of(body)["containers"])
    assert (spec["parallelism"], spec["completions"], spec["completionMode"]) == (
        accelerator.hosts,
        accelerator.hosts,
        "Indexed",
    )
    assert chips * spec["parallelism"] == accelerator.chips
    assert pod_of(body)["nodeSelector"]["cloud.google.com/gke-tpu-topology"] == str(accelerator.topology)


def test_one_string_means_one_shape() -> None:
    """v5litepod-8 is one host of eight chips here, whatever other tools call by that name."""
    selectors = {
        name: pod_of(jobset(request(resources=Resources.with_tpu(name))))["nodeSelector"]
        for name in ("v4-8", "v5p-8", "v5litepod-8", "v6e-8")
    }
    shapes = [tuple(each.values()) for each in selectors.values()]
    assert shapes == [
        ("tpu-v4-podslice", "2x2x1"),
        ("tpu-v5p-slice", "2x2x1"),
        ("tpu-v5-lite-podslice", "2x4"),
        ("tpu-v6e-slice", "2x4"),
    ]


def test_a_slice_of_several_hosts_has_its_node_pool_alone() -> None:
    exclusive = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}
    assert job_of(jobset(request()))["template"]["metadata"]["annotations"] == exclusive


def test_a_slice_of_one_host_leaves_the_others_of_its_pool_to_other_jobs() -> None:
    for resources in (Resources.with_tpu("v4-8", 2), Resources.with_tpu("v6e-8"), Resources.with_cpu()):
        assert "metadata" not in job_of(jobset(request(resources=resources)))["template"]


def test_slices_find_one_another_by_the_first_slices_name() -> None:
    told = variables(jobset(request()))
    assert told["MEGASCALE_COORDINATOR_ADDRESS"] == "llama-slice-0-0.llama:8081"
    assert (told["MEGASCALE_NUM_SLICES"], told["MEGASCALE_PORT"]) == ("2", "8081")
    index = {"fieldRef": {"fieldPath": "metadata.annotations['jobset.sigs.k8s.io/job-index']"}}
    assert told["MEGASCALE_SLICE_ID"] == index
    network = jobset(request())["spec"]["network"]
    assert (network["enableDNSHostnames"], network["subdomain"]) == (True, "llama")


@pytest.mark.parametrize("resources", [Resources.with_tpu("v4-32"), Resources.with_cpu()])
def test_one_slice_has_no_variables_of_several(resources: Resources) -> None:
    assert not [name for name in variables(jobset(request(resources=resources))) if name.startswith("MEGASCALE")]


def test_a_preemption_restarts_the_gang_and_counts_for_nothing() -> None:
    policy = jobset(request())["spec"]["failurePolicy"]
    first = policy["rules"][0]
    assert first["onJobFailureReasons"] == ["PodFailurePolicy"]
    assert first["action"] == "RestartJobSetAndIgnoreMaxRestarts"
    rules = spec_of(jobset(request()))["podFailurePolicy"]["rules"]
    assert rules[0] == {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def test_failures_and_preemptions_have_budgets_of_their_own() -> None:
    body = jobset(request())
    assert body["spec"]["failurePolicy"]["maxRestarts"] == 10
    assert body["metadata"]["annotations"]["tidepool/preemption-budget"] == "10000"
    single = jobset(REQUESTS["no retries"])["spec"]["failurePolicy"]
    assert (single["maxRestarts"], single["rules"][0]["action"]) == (0, "FailJobSet")


def test_a_program_that_fails_fails_its_job_at_once_so_that_the_whole_gang_restarts() -> None:
    spec = spec_of(jobset(request()))
    assert (spec["backoffLimit"], pod_of(jobset(request()))["restartPolicy"]) == (0, "Never")
    assert jobset(request())["spec"]["failurePolicy"]["restartStrategy"] == "BlockingRecreate"


def test_a_vm_whose_tpu_stays_busy_is_a_machine_that_failed() -> None:
    assert spec_of(jobset(request()))["podFailurePolicy"]["rules"][1]["onExitCodes"]["values"] == [170]


def test_success_is_every_slice_and_names_a_job_that_exists() -> None:
    body = jobset(request())
    assert body["spec"]["successPolicy"] == {"operator": "All", "targetReplicatedJobs": [job_of(body)["name"]]}


def test_too_long_is_final() -> None:
    body = jobset(REQUESTS["multislice"])
    assert spec_of(body)["activeDeadlineSeconds"] == 86400
    assert body["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] == "86400"
    assert {"name": "tooLong", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]} in body["spec"][
        "failurePolicy"
    ]["rules"]


def test_a_queued_job_does_not_start_before_kueue_says_so() -> None:
    queued, free = jobset(request(priority="high")), jobset(request(queue=""))
    assert queued["spec"]["suspend"] is True
    labels = queued["metadata"]["labels"]
    assert (labels["kueue.x-k8s.io/queue-name"], labels["kueue.x-k8s.io/priority-class"]) == ("v4-32", "high")
    assert "suspend" not in free["spec"]
    assert not [name for name in free["metadata"]["labels"] if "kueue" in name]


def test_pods_have_no_priority_of_their_own() -> None:
    """JobSet's exclusive placement breaks the scheduler's preemption; Kueue preempts whole jobs."""
    assert "priorityClassName" not in pod_of(jobset(request(priority="high")))


def test_pods_are_neither_privileged_nor_on_the_hosts_network() -> None:
    pod = pod_of(jobset(request()))
    assert "hostNetwork" not in pod
    security = pod["containers"][0]["securityContext"]
    assert "privileged" not in security
    assert security["allowPrivilegeEscalation"] is False


def test_pods_have_no_token_of_the_cluster_but_for_an_account_of_their_own() -> None:
    told = {account: pod_of(jobset(request(service_account=account))) for account in ("", "trainer", "operator")}
    assert {account: pod.get("automountServiceAccountToken") for account, pod in told.items()} == {
        "": False, "trainer": False, "operator": None,
    }  # fmt: skip


def test_pods_tolerate_the_taint_of_tpu_nodes() -> None:
    assert pod_of(jobset(request()))["tolerations"] == [
        {"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"}
    ]


def test_a_vm_with_two_numa_nodes_has_one_process_on_each() -> None:
    pod = pod_of(jobset(REQUESTS["two processes a VM"]))
    asked = [each["resources"]["requests"] for each in pod["containers"]]
    assert asked == [{"cpu": "100", "memory": "450Gi", "google.com/tpu": "2"}] * 2
    assert ["ports" in each for each in pod["containers"]] == [True, False], "ports of a pod are named once"


def test_a_checkpoint_is_ordered_by_the_signal_and_within_the_time_of_the_request() -> None:
    body = jobset(request(checkpoint_signal="USR1", grace=600))
    assert variables(body)["TIDEPOOL_SIGNAL"] == "USR1"
    assert pod_of(body)["terminationGracePeriodSeconds"] == 600


def test_secrets_are_named_and_never_written() -> None:
    """GKE's add-on mounts the value as the team's Google account; no object of the cluster holds it."""
    body = jobset(request(secrets={"HF_TOKEN": "hf-token", "WANDB_API_KEY": "WandB_key"}))
    pod, (container,) = pod_of(body), pod_of(body)["containers"]
    classes = [each["csi"]["volumeAttributes"]["secretProviderClass"] for each in pod["volumes"][1:]]
    assert classes == ["hf-token", mount_name("WandB_key")]
    assert [each["mountPath"] for each in container["volumeMounts"][1:]] == [
        "/var/run/tidepool/secrets/HF_TOKEN", "/var/run/tidepool/secrets/WANDB_API_KEY",
    ]  # fmt: skip
    assert pod["serviceAccountName"] == "trainer"
    assert variables(body)["TIDEPOOL_SECRETS"] == "/var/run/tidepool/secrets"


def test_a_job_without_secrets_acts_as_whom_it_names() -> None:
    assert "serviceAccountName" not in pod_of(jobset(request()))
    named = jobset(request(service_account="reader", secrets={"HF_TOKEN": "hf-token"}))
    assert pod_of(named)["serviceAccountName"] == "reader"


def test_a_job_is_told_where_locks_are_kept_where_its_namespace_says_so() -> None:
    (container,) = pod_of(jobset(request()))["containers"]
    assert container["envFrom"] == [{"configMapRef": {"name": "tidepool-store", "optional": True}}]


def test_the_job_can_be_submitted_anew_from_what_it_left() -> None:
    text = jobset(request())["metadata"]["annotations"][rendering.REQUEST]
    assert JobRequest.of_json(json.loads(text)) == request()


def test_a_job_without_an_image_is_refused() -> None:
    with pytest.raises(ConfigError, match="by digest"):
        jobset(request(image=""))


def test_equal_requests_render_to_equal_bytes() -> None:
    assert json.dumps(jobset(request())) == json.dumps(jobset(request()))
