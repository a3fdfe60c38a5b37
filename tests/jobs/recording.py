"""What Kueue and JobSet answered, as files: objects of a moment, cut to what tells a job's standing, and played back.

One file a scenario in `recordings/`, made by `record_controllers`. A moment has the objects by the path that they were
read at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from bench.providers.kubernetes.reach import ClusterApi
from infra.jobs.jobset import JOBSETS
from infra.jobs.kueue import KUEUE, VISIBILITY
from infra.model.gke_shapes import NODE_POOL_LABEL
from tests.jobs.cluster import Cluster

FOLDER: Final = Path(__file__).with_name("recordings")
_METADATA: Final = (
    "name", "namespace", "uid", "labels", "annotations", "creationTimestamp", "deletionTimestamp", "ownerReferences",
)  # fmt: skip
_SPEC: Final = (
    "suspend", "nodeName", "nodeSelector", "taints", "queueName", "active", "priority", "priorityClassRef",
    "maximumExecutionTimeSeconds", "clusterQueue", "parallelism", "completions", "activeDeadlineSeconds",
    "resourceGroups", "cohortName", "schedulingGates", "failurePolicy",
)  # fmt: skip
_STATUS_LEFT_OUT: Final = (
    "capacity", "allocatable", "nodeInfo", "images", "daemonEndpoints", "addresses", "podIP", "podIPs", "hostIP",
    "hostIPs", "qosClass", "observedGeneration", "resources",
)  # fmt: skip


_LABELS_LEFT_OUT: Final = (
    "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name",
    "jobset.sigs.k8s.io/global-replicas", "jobset.sigs.k8s.io/group-name", "jobset.sigs.k8s.io/group-replicas",
    "jobset.sigs.k8s.io/job-global-index", "jobset.sigs.k8s.io/job-group-index", "jobset.sigs.k8s.io/job-key",
    "jobset.sigs.k8s.io/jobset-uid", "jobset.sigs.k8s.io/replicatedjob-replicas", "jobset.sigs.k8s.io/priority",
    "kubernetes.io/hostname", "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone",
)  # fmt: skip
_CONDITION: Final = ("type", "status", "reason", "message", "lastTransitionTime")
_CONDITIONS_LEFT_OUT: Final = (
    "Initialized", "ContainersReady", "PodReadyToStartContainers", "MemoryPressure", "DiskPressure",
    "PIDPressure", "NetworkUnavailable",
)  # fmt: skip
"""What kwok says for a kubelet."""


def moment(api: ClusterApi, namespace: str) -> dict[str, Any]:
    """Everything by which jobs of a namespace are explained, as it stands now."""
    batch, core = f"/apis/batch/v1/namespaces/{namespace}/jobs", f"/api/v1/namespaces/{namespace}/pods"
    listed = (
        f"{JOBSETS}/namespaces/{namespace}/jobsets", batch, core, f"{KUEUE}/namespaces/{namespace}/workloads",
        f"{KUEUE}/namespaces/{namespace}/localqueues", f"{KUEUE}/clusterqueues", "/api/v1/nodes",
        f"/apis/apps/v1/namespaces/{namespace}/deployments", f"/apis/apps/v1/namespaces/{namespace}/statefulsets",
        f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{namespace}/leaderworkersets",
        f"/apis/kubernetes.dask.org/v1/namespaces/{namespace}/daskclusters",
    )  # fmt: skip
    objects = {
        f"{path}/{each['metadata']['name']}": trimmed(each)
        for path in listed
        for each in (api.find(path) or {"items": ()})["items"]
    }
    events = f"/api/v1/namespaces/{namespace}/events"
    for each in api.call("GET", events, query={"fieldSelector": "type=Warning"})["items"]:
        if each["involvedObject"]["kind"] in ("JobSet", "Job"):
            objects[f"{events}/{each['metadata']['name']}"] = noted(each)
    for path in [path for path in objects if "/localqueues/" in path]:
        name = quote(path.rpartition("/")[2])
        place = f"{VISIBILITY}/namespaces/{namespace}/localqueues/{name}/pendingworkloads"
        found = api.call("GET", place).get("items") or []
        objects[place] = {"items": [{**each, "metadata": {"name": each["metadata"]["name"]}} for each in found]}
    return objects


def noted(event: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of an event: of what it is, and what it says."""
    told = {name: event["metadata"][name] for name in ("name", "namespace")}
    about = {name: event["involvedObject"][name] for name in ("kind", "name", "uid")}
    kept = ("type", "reason", "message", "count", "series", "eventTime", "lastTimestamp")
    return {"metadata": told, "involvedObject": about, **{name: event[name] for name in kept if event.get(name)}}


def trimmed(body: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of an object: who it is, what was decided of it, and its status."""
    spec, status = body.get("spec", {}), body.get("status", {})
    kept = {name: spec[name] for name in _SPEC if name in spec}
    if "replicatedJobs" in spec:
        kept["replicatedJobs"] = [
            {name: each[name] for name in ("name", "replicas")} for each in spec["replicatedJobs"]
        ]
    if "containers" in spec:
        kept["containers"] = [{"name": each["name"]} for each in spec["containers"]]
    if "podSets" in spec:
        kept["podSets"] = [{name: each[name] for name in ("name", "count")} for each in spec["podSets"]]
    told = {name: body["metadata"][name] for name in _METADATA if name in body["metadata"]}
    told["labels"] = {name: value for name, value in told.get("labels", {}).items() if name not in _LABELS_LEFT_OUT}
    told["annotations"] = {
        name: value for name, value in told.get("annotations", {}).items() if name.startswith("tidepool/")
    }
    said = {name: value for name, value in status.items() if name not in _STATUS_LEFT_OUT}
    said["conditions"] = [
        {name: value for name, value in each.items() if name in _CONDITION}
        for each in said.get("conditions", ())
        if each["type"] not in _CONDITIONS_LEFT_OUT and (each["type"], each["status"]) != ("PodScheduled", "True")
    ]
    return {"metadata": told, "spec": kept, "status": said}


def written(recorded: Mapping[str, Any]) -> str:
    """As it stands in its file: one object a line."""
    lines = []
    for name, objects in recorded["moments"].items():
        rows = ",\n".join(f"{json.dumps(at)}: {json.dumps(body, sort_keys=True)}" for at, body in objects.items())
        lines.append(f"{json.dumps(name)}: {{\n{rows}\n}}")
    moments = ",\n".join(lines)
    about = json.dumps({name: value for name, value in recorded.items() if name != "moments"})
    return f'{about[:-1]}, "moments": {{\n{moments}\n}}}}\n'


def load(scenario: str) -> dict[str, Any]:
    """A recording: `about`, `versions`, `recorded`, and `moments` by name."""
    return json.loads((FOLDER / f"{scenario}.json").read_text(encoding="utf-8"))


def play(cluster: Cluster, recorded: Mapping[str, Any], name: str) -> None:
    """Let a cluster of tests be as the real one was at a moment."""
    cluster.objects = json.loads(json.dumps(recorded["moments"][name]))


def pools_by_slice(objects: Mapping[str, Any], job: str) -> dict[str, dict[str, str]]:
    """The node pool of each host's node, by slice and node: as many nodes as hosts where each has one of its own."""
    found: dict[str, dict[str, str]] = {}
    for body in objects.values():
        labels = body.get("metadata", {}).get("labels", {})
        if labels.get("jobset.sigs.k8s.io/jobset-name") == job and body["spec"].get("nodeName"):
            node = body["spec"]["nodeName"]
            pool = objects[f"/api/v1/nodes/{node}"]["metadata"]["labels"][NODE_POOL_LABEL]
            found.setdefault(labels["jobset.sigs.k8s.io/job-index"], {})[node] = pool
    return found
