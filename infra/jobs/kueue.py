"""What Kueue and a namespace say of jobs that wait, and of a request before it is submitted.

Owns which objects are asked for, and that what may not be read refuses nothing. What follows of queues is
`admission`'s, of Workloads `waiting`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import yaml

from infra.jobs.admission import TeamQueue, default_queue, refusals, team_queue, unknown_name
from infra.jobs.evidence import Body
from infra.jobs.kube import Kube, KubeError
from infra.jobs.request import JobRequest
from infra.model import names
from infra.model.errors import ConfigError, Problem
from infra.model.gke_shapes import TPU_RESOURCE
from infra.model.queue_objects import KUEUE as VERSION
from infra.model.queue_objects import SECRETS_STORE, TEAM_LABEL
from infra.model.team_network import GROUP_LABEL

KUEUE: Final = f"/apis/{VERSION}"
VISIBILITY: Final = "/apis/visibility.kueue.x-k8s.io/v1beta2"


@dataclass(frozen=True, slots=True)
class Kueue:
    """Questions to one cluster."""

    kube: Kube

    def workloads(self, namespace: str) -> Sequence[Body]:
        """Kueue's Workloads; none where Kueue is not installed."""
        return (self.kube.find(f"{KUEUE}/namespaces/{namespace}/workloads") or {"items": ()})["items"]

    def pending(self, namespace: str, queue: str) -> Sequence[Body] | None:
        """Who waits in a LocalQueue, in order; None where Kueue's visibility API does not answer or may not be read."""
        path = f"{VISIBILITY}/namespaces/{namespace}/localqueues/{quote(queue)}/pendingworkloads"
        found = self._find(path, HTTPStatus.FORBIDDEN, HTTPStatus.SERVICE_UNAVAILABLE)
        return None if found is None else found.get("items") or ()

    def queues(self, namespace: str) -> tuple[str, ...] | None:
        """The names of a namespace's LocalQueues; None where Kueue is not installed, or they may not be read."""
        return self._names(f"{KUEUE}/namespaces/{namespace}/localqueues")

    def team_queues(self, namespace: str) -> tuple[TeamQueue, ...] | None:
        """The same with what stands behind them."""
        found = self._find(f"{KUEUE}/namespaces/{namespace}/localqueues")
        if not found or not found["items"]:
            return None if found is None else ()
        behind, known = self._find(f"{KUEUE}/clusterqueues"), self._find(f"{KUEUE}/resourceflavors")
        shared, flavors = behind["items"] if behind else (), known["items"] if known else ()
        return tuple(team_queue(each, shared, flavors) for each in found["items"])

    def admissible(self, request: JobRequest) -> JobRequest:
        """The request with the queue that it goes through, where its namespace has queues.

        ConfigError with everything that would keep it waiting for ever: no queue that serves it, more than its queue
        can ever have, a priority or a secret that is not there, the name of a Service that stands there already.
        """
        problems = [*self._of_priority(request), *self._of_secrets(request), *self._of_name(request)]
        queues = self.team_queues(request.namespace)
        if queues or (queues is not None and self._starts_through_queues(request)):
            queue = _through(request, queues)
            if isinstance(queue, Problem):
                problems.append(queue)
            else:
                problems += refusals(request, queue, queues)
                request = replace(request, queue=queue.name)
        if problems:
            raise ConfigError(problems)
        return request

    def free_slices(self, request: JobRequest) -> int:
        """How many slices of a request its queue has free now, beside those that the job holds already; as many as it
        may have where nobody says."""
        queues = self.team_queues(request.namespace)
        queue = next((each for each in queues or () if each.name == request.queue), None)
        if queue is None or queue.rooms is None:
            return request.resources.replicas
        held = (_flavor(each) for each in self.workloads(request.namespace) if _owner(each) == request.name)
        flavor = next(filter(None, held), "")
        return queue.free_slices(request, flavor, request.replicas if flavor else 0)

    def _starts_through_queues(self, request: JobRequest) -> bool:
        """Whether a namespace without queues starts nothing: a team's, or one in which a queue was asked for. One that
        is not there is told by the submission itself."""
        found = self._find(f"/api/v1/namespaces/{quote(request.namespace)}")
        return found is not None and bool(request.queue or TEAM_LABEL in found["metadata"].get("labels", {}))

    def _of_priority(self, request: JobRequest) -> Iterator[Problem]:
        known = self._names(f"{KUEUE}/workloadpriorityclasses") if request.priority else None
        if known is not None and request.priority not in known:
            yield unknown_name(request, "priority", request.priority, "no priority class of the cluster", known)

    def _of_secrets(self, request: JobRequest) -> Iterator[Problem]:
        """Secrets that the namespace may not mount: its pods would never start."""
        if not request.secrets:
            return
        path = f"/apis/{SECRETS_STORE}/namespaces/{request.namespace}/secretproviderclasses"
        try:
            found = self.kube.find(path) or {"items": ()}
        except KubeError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                return
            raise
        readable = {each["metadata"]["name"]: _secret(each) for each in found["items"]}
        for variable, secret in sorted(request.secrets.items()):
            if names.mount_name(secret) not in readable:
                rule = f"no secret that {request.namespace} may read"
                yield unknown_name(request, f"secret {variable}", secret, rule, readable.values())

    def _of_name(self, request: JobRequest) -> Iterator[Problem]:
        """A Service of a job's name finds its hosts; one of another's would find that one's."""
        found = self._find(f"/api/v1/namespaces/{request.namespace}/services/{quote(request.name)}")
        if found is not None and _owner(found) != request.name:
            labels = found["metadata"].get("labels", {})
            whose = f" of group {labels[GROUP_LABEL]}" if GROUP_LABEL in labels else ""
            rule = f"a Service{whose} has this name in {request.namespace}, and a job needs one of its own name"
            yield Problem(f"job {request.name}: name", request.name, rule, "another name")

    def _names(self, path: str) -> tuple[str, ...] | None:
        found = self._find(path)
        return None if found is None else tuple(sorted(each["metadata"]["name"] for each in found["items"]))

    def _find(self, path: str, *silent: HTTPStatus) -> Body | None:
        """An object or a list; None where there is none, the kind is not served, or it may not be read."""
        try:
            return self.kube.find(path)
        except KubeError as error:
            if error.status in (silent or (HTTPStatus.FORBIDDEN,)):
                return None
            raise


def _through(request: JobRequest, queues: Sequence[TeamQueue]) -> TeamQueue | Problem:
    """The queue of a request; the problem of one that has none, or names none that is there."""
    if not request.queue:
        return default_queue(request, queues)
    named = {each.name: each for each in queues}
    if request.queue in named:
        return named[request.queue]
    return unknown_name(request, "queue", request.queue, f"no LocalQueue of {request.namespace}", named)


def _owner(body: Body) -> str:
    """The name of the JobSet that made an object; empty where none did."""
    owners = body["metadata"].get("ownerReferences", ())
    return next((each["name"] for each in owners if each.get("kind") == "JobSet" and "name" in each), "")


def _flavor(workload: Body) -> str:
    """The flavor whose chips an admitted Workload holds; empty of one that waits."""
    admission = workload.get("status", {}).get("admission") or {}
    given = (each.get("flavors", {}).get(TPU_RESOURCE, "") for each in admission.get("podSetAssignments", ()))
    return next(filter(None, given), "")


def _secret(mount: Body) -> str:
    """What Secret Manager calls the secret behind a SecretProviderClass; its own name where that is not told."""
    listed = yaml.safe_load(mount.get("spec", {}).get("parameters", {}).get("secrets", "")) or ()
    told = (each["resourceName"].split("/")[3] for each in listed)
    return next(told, mount["metadata"]["name"])
