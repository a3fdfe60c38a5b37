"""Jobs on a cluster of the local cloud, whose Kubernetes API checks, stores and selects as the real one does.

It has no controllers: what JobSet, Kueue and kubelets would say is said here, and `./tidepool jobs` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from infra.cli.app import cli
from infra.jobs.jobset import JOBSETS
from infra.jobs.kube import Kube, kubeconfig_place
from infra.local.cloud.kubernetes.control import KubernetesControl, kubeconfig
from infra.local.cloud.testing import running_cloud
from infra.local.kubernetes.releases import definitions
from tests.jobs.synthetic import IMAGE, node, pod
from tests.model.test_queues import objects, stack

TEAM = "pretraining"
AT = f"{JOBSETS}/namespaces/{TEAM}/jobsets/llama"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
WHERE = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "Role": RBAC + "/namespaces/{}/roles",
    "RoleBinding": RBAC + "/namespaces/{}/rolebindings",
    "ClusterRole": RBAC + "/clusterroles",
    "ClusterRoleBinding": RBAC + "/clusterrolebindings",
    "ResourceFlavor": KUEUE + "/resourceflavors",
    "ClusterQueue": KUEUE + "/clusterqueues",
    "WorkloadPriorityClass": KUEUE + "/workloadpriorityclasses",
    "LocalQueue": KUEUE + "/namespaces/{}/localqueues",
}


@dataclass(frozen=True, slots=True)
class Lab:
    """A cluster with the queues of a stack, as an `up` leaves it."""

    kube: Kube
    control: KubernetesControl

    def jobs(self, *arguments: str) -> dict[str, Any]:
        words = (*arguments[:1], "--json", "--namespace", TEAM, *arguments[1:])
        return json.loads(CliRunner().invoke(cli, ("jobs", *words)).stdout)

    def submit(self, *more: str) -> dict[str, Any]:
        return self.jobs("submit", "llama", "--tpu", "v4-32", "--queue", "v4-32", "--image", IMAGE, *more, "--", "true")

    def starts(self) -> None:
        """What Kueue and JobSet do once there is quota."""
        self.kube.merge(AT, {"spec": {"suspend": False}})
        self.tell(replicatedJobsStatus=[{"name": "slice", "ready": 1}])

    def tell(self, conditions: dict[str, str] | None = None, **status: Any) -> None:
        self.control.tell_status("JobSet", "llama", namespace=TEAM, status=status, conditions=conditions or {})

    def pods(self, *bodies: dict[str, Any]) -> None:
        for body in bodies:
            body["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] = "llama"
            body["spec"]["containers"] = [{"name": "job", "image": IMAGE}]
            status = body.pop("status")
            self.kube.create(f"/api/v1/namespaces/{TEAM}/pods", {"apiVersion": "v1", "kind": "Pod", **body})
            self.control.tell_status("Pod", body["metadata"]["name"], namespace=TEAM, status=status)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    with running_cloud() as cloud:
        control = KubernetesControl(cloud.url)
        reached = control.begin_cluster("projects/lab/locations/us-central2/clusters/train")
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig(reached)))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        monkeypatch.setenv("TIDEPOOL_HOME", str(tmp_path / "home"))
        place = kubeconfig_place()
        assert place is not None
        kube = Kube(replace(place, namespace=TEAM))
        for chart in ("jobset", "kueue"):
            for definition in definitions(chart):
                kube.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        for body in objects(stack()):
            kube.create(WHERE[body["kind"]].format(body["metadata"].get("namespace", "")), body)
        yield Lab(kube, control)


def test_a_job_waits_runs_is_preempted_and_ends(lab: Lab) -> None:
    state = lab.submit()
    assert (state["phase"], state["queue"]) == ("waiting", "v4-32")

    lab.starts()
    assert lab.jobs("why", "llama")["phase"] == "running"

    lab.control.set_nodes([node(f"node-0-{host}", spot=True) for host in range(4)])
    lab.pods(*(pod(0, host, phase="Failed", code=1) for host in range(3)), pod(0, 3, spot=True))
    lab.control.remove_kube_node("node-0-3")
    lab.pods(replaced := pod(0, 3, phase="Failed", disrupted="DeletionByPodGC", spot=True))
    told = lab.jobs("why", "llama")
    assert (told["last"]["where"], told["last"]["outcome"]) == ("slice 0 host 3", "preempted")
    assert replaced["spec"]["nodeName"] == "node-0-3"

    lab.tell(restarts=1, restartsCountTowardsMax=0, conditions={"Completed": "True"})
    done = lab.jobs("why", "llama")
    assert (done["phase"], done["outcome"]) == ("ended", "success")
    assert done["attempts"] == {"preemptions": 1, "failures": 0}


def test_a_flexible_job_takes_what_its_queue_has_room_for(lab: Lab) -> None:
    used = [{"name": "v4-32-spot", "resources": [{"name": "google.com/tpu", "total": "96"}]}]
    lab.control.tell_status("ClusterQueue", "v4-32", status={"flavorsReservation": used})
    state = lab.submit("--slices", "1,2,4")
    assert state["replicas"] == 2, "the reservation's two slices are free, and every spot slice is taken"


def test_a_cancelled_job_stays_to_be_asked_about(lab: Lab) -> None:
    lab.submit()
    lab.starts()
    assert lab.jobs("cancel", "llama")["outcome"] == "cancelled"
    assert [each["outcome"] for each in lab.jobs("list")["jobs"]] == ["cancelled"]
    assert lab.kube.get(AT)["spec"]["suspend"] is True
