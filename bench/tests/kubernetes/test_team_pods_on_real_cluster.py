"""Which pods the namespace of a team admits, told by the API server of Kubernetes 1.36 itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from bench.tests.kubernetes.conftest import connected
from bench.tests.kubernetes.real_control_plane import real_control_plane, until
from infra.jobs.jobset import jobset
from tests.jobs.test_jobset import REQUESTS
from tests.model import queued, workloads

pytestmark = pytest.mark.live

TEAM, ELSEWHERE = "pretraining", "default"
KINDS = ("Namespace", "ServiceAccount", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster with the namespaces of teams, and what is declared of the pods in them."""
    real = real_control_plane(tmp_path_factory.mktemp("real"))
    with real as reached, connected(reached) as cluster:
        core = cluster.core
        admission: Any = client.AdmissionregistrationV1Api(cluster.api)
        for each in queued.objects(queued.stack()):
            if each["kind"] not in KINDS:
                continue
            if each["kind"] == "Namespace":
                core.create_namespace(each)
            elif each["kind"] == "ServiceAccount":
                core.create_namespaced_service_account(each["metadata"]["namespace"], each)
            elif each["kind"] == "ValidatingAdmissionPolicy":
                admission.create_validating_admission_policy(each, field_validation="Strict")
            else:
                admission.create_validating_admission_policy_binding(each, field_validation="Strict")
        own = {"metadata": {"name": "operator"}, "automountServiceAccountToken": False}
        core.create_namespaced_service_account(TEAM, own)
        until(lambda: "shares a namespace" in refusal(core, pod(hostNetwork=True)))
        yield core


def pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod that asks for nothing, but for this."""
    first = {"name": "job", "image": "image", **(container or {})}
    return {"metadata": {"name": "one"}, "spec": {"containers": [first], **spec}}


def refusal(core: Any, body: dict[str, Any], namespace: str = TEAM) -> str:
    """Why the pod is not admitted; empty where it is. Nothing is made."""
    try:
        core.create_namespaced_pod(namespace, {"apiVersion": "v1", "kind": "Pod", **body}, dry_run="All")
    except ApiException as error:
        return str(json.loads(str(error.body))["message"])
    return ""


def secured(**context: Any) -> dict[str, Any]:
    return {"securityContext": context}


PRIVILEGED = {"name": "other", "image": "image", **secured(privileged=True)}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "the node's network": (pod(hostNetwork=True), "it shares a namespace of its node"),
    "the node's processes": (pod(hostPID=True), "it shares a namespace of its node"),
    "the node's memory": (pod(hostIPC=True), "it shares a namespace of its node"),
    "a folder of the node": (pod(volumes=[{"name": "root", "hostPath": {"path": "/"}}]), "it is a folder of the node"),
    "a privileged container": (pod(secured(privileged=True)), "it is privileged"),
    "a privileged one after others": (pod(containers=[pod()["spec"]["containers"][0], PRIVILEGED]), "it is privileged"),
    "a privileged one before others": (pod(initContainers=[PRIVILEGED]), "it is privileged"),
    "the rights of root on the kernel": (pod(secured(capabilities={"add": ["SYS_ADMIN"]})), "it adds a capability"),
    "all capabilities": (pod(secured(capabilities={"add": ["ALL"]})), "it adds a capability"),
    "one more capability": (
        pod(secured(capabilities={"add": ["SYS_RESOURCE", "NET_RAW"]})), "it adds a capability"
    ),
    "a port of the node": (pod({"ports": [{"containerPort": 80, "hostPort": 80}]}), "it takes a port of the node"),
    "a /proc that is not masked": (pod(secured(procMount="Unmasked"), hostUsers=False), "its /proc is not masked"),
    "SELinux of a pod": (pod(securityContext={"seLinuxOptions": {"type": "spc_t"}}), "its SELinux options"),
    "SELinux of a container": (pod(secured(seLinuxOptions={"user": "root"})), "its SELinux options"),
    "no seccomp in a pod": (pod(securityContext={"seccompProfile": {"type": "Unconfined"}}), "seccomp or AppArmor"),
    "no seccomp in a container": (pod(secured(seccompProfile={"type": "Unconfined"})), "seccomp or AppArmor"),
    "no AppArmor": (pod(secured(appArmorProfile={"type": "Unconfined"})), "seccomp or AppArmor"),
    "a parameter of the kernel": (
        pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}), "parameter of its node's kernel"
    ),
    "a probe of another host": (
        pod({"livenessProbe": {"httpGet": {"port": 80, "host": "169.254.169.254"}}}), "lets the node call another host"
    ),
    "a hook to another host": (
        pod({"lifecycle": {"preStop": {"httpGet": {"port": 80, "host": "10.0.0.1"}}}}), "the node call another host"
    ),
    # Which is on the node's network, or the server takes it for no pod at all.
    "a process of the node": (
        pod(
            hostNetwork=True, os={"name": "windows"},
            securityContext={"windowsOptions": {"hostProcess": True, "runAsUserName": "a"}},
        ),
        "it shares a namespace of its node",
    ),
}  # fmt: skip
ADMITTED: dict[str, dict[str, Any]] = {
    "a pod that asks for nothing": pod(),
    "locked memory": pod(secured(capabilities={"add": ["SYS_RESOURCE"], "drop": ["ALL"]})),
    "volumes of its own": pod(
        volumes=[
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
            {"name": "secret", "csi": {"driver": "secrets-store-gke.csi.k8s.io", "readOnly": True}},
        ]
    ),
    "ports and probes of its own": pod(
        {"ports": [{"containerPort": 8471}], "livenessProbe": {"httpGet": {"port": 8471, "path": "/"}}}
    ),
    "a safe parameter of its own": pod(
        securityContext={"sysctls": [{"name": "net.ipv4.tcp_keepalive_time", "value": "60"}]}
    ),
    "profiles of the runtime": pod(
        secured(seccompProfile={"type": "RuntimeDefault"}, appArmorProfile={"type": "RuntimeDefault"})
    ),
}


def rendered() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pod that this project makes in a team's namespace, by what makes it."""
    for name, request in REQUESTS.items():
        yield from _pods(f"JobSet of {name}", jobset(request))
    for each in workloads.objects(workloads.stack()):
        yield from _pods(f"{each['kind']} {each['metadata']['name']}", each)


def _pods(name: str, body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(body, list):
        for each in body:
            yield from _pods(name, each)
    elif isinstance(body, dict):
        if "containers" in body:
            yield name, {"metadata": {"name": "one"}, "spec": body}
        else:
            for each in body.values():
                yield from _pods(name, each)


@pytest.mark.parametrize("what", REFUSED)
def test_a_pod_of_a_team_that_reaches_its_node_is_refused_with_what_to_do(core: Any, what: str) -> None:
    body, problem = REFUSED[what]
    said = refusal(core, body)
    assert problem in said
    assert ". Fix: " in said


@pytest.mark.parametrize("what", ADMITTED)
def test_a_pod_that_stays_within_itself_is_admitted(core: Any, what: str) -> None:
    assert refusal(core, ADMITTED[what]) == ""


def test_every_pod_that_jobs_classes_and_groups_make_is_admitted(core: Any) -> None:
    made = list(rendered())
    assert {name.partition(" ")[0] for name, _ in made} == {
        "JobSet", "DaskCluster", "Deployment", "StatefulSet", "LeaderWorkerSet",
    }  # fmt: skip
    assert [(name, said) for name, body in made if (said := refusal(core, body))] == []


def test_a_container_that_is_added_later_is_judged_as_well(core: Any) -> None:
    standing = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "standing"}, "spec": pod()["spec"]}
    core.create_namespaced_pod(TEAM, standing)
    ways = ({"capabilities": {"add": ["SYS_ADMIN"]}}, {"capabilities": {"add": ["SYS_RESOURCE"]}})
    told = []
    for at, context in enumerate(ways):
        added = {"name": f"debug-{at}", "image": "image", "securityContext": context}
        try:
            core.patch_namespaced_pod_ephemeralcontainers("standing", TEAM, {"spec": {"ephemeralContainers": [added]}})
            told.append("")
        except ApiException as error:
            told.append(str(json.loads(str(error.body))["message"]))
    assert "it adds a capability" in told[0]
    assert told[1] == ""


def test_namespaces_of_no_team_are_none_of_the_policys(core: Any) -> None:
    assert refusal(core, pod(secured(privileged=True), hostNetwork=True), ELSEWHERE) == ""


def test_the_policy_is_well_typed_for_pods(core: Any) -> None:
    """The server tells which expressions name fields that no pod has."""
    admission: Any = client.AdmissionregistrationV1Api(core.api_client)

    def checked() -> Any:
        return admission.list_validating_admission_policy().items[0].status.type_checking

    until(lambda: checked() is not None)
    assert checked().expression_warnings is None


def test_no_token_of_the_cluster_is_mounted_in_a_pod_of_a_job(core: Any) -> None:
    """The API server itself adds the volume of the token where nobody says otherwise."""

    def tokens(body: dict[str, Any]) -> list[str]:
        made = core.create_namespaced_pod(TEAM, {"apiVersion": "v1", "kind": "Pod", **body}, dry_run="All")
        return [each.name for each in made.spec.volumes or () if each.projected]

    assert tokens(pod()), "the account `default` is the cluster's own"
    assert not tokens(pod(serviceAccountName="trainer"))
    assert tokens(pod(serviceAccountName="trainer", automountServiceAccountToken=True)), "who asks for it has it"
    assert not [name for name, body in rendered() if tokens(body)]
