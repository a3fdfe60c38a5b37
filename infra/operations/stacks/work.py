"""How a Dask class, a group or a queue of a stack's cluster stands: found by its name, and asked of the cluster.

Owns the asking (by the way of `cluster_api`). What follows of the answers is `infra.jobs.work`, their words
`work_words`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import quote

from infra.fleet.google import GoogleError
from infra.jobs.evidence import Body
from infra.jobs.kube import Kube
from infra.jobs.kueue import KUEUE, Kueue
from infra.jobs.work import QueueSeen, WorkSeen, parts_seen, queue_seen, queue_waits, troubles_of, waits_of
from infra.model.dask import CLUSTER_LABEL, COMPONENT_LABEL, SCHEDULER_POD, WORKER_POD
from infra.model.gke_shapes import NODE_POOL_LABEL
from infra.model.group_objects import CURRICULUM, ROLE_LABEL, ROLLOUT, TRAIN
from infra.model.json_shape import JsonShape
from infra.model.queues import SharedQueue, shared_queues
from infra.model.schema import Cluster, DaskClass, StackConfig, WorkerGroup
from infra.model.team_network import GROUP_LABEL
from infra.operations.declared.known import Named
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.cluster_api import cluster_api
from infra.operations.fleet.subjects import readable_configs
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.session import open_cloud

Work: TypeAlias = DaskClass | WorkerGroup | SharedQueue
_MAKERS: Final = ("/apis/apps/v1", "statefulsets"), ("/apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStanding(JsonShape):
    """kind: `dask class`, `group` or `queue`. namespace: the team's, empty of a queue, which stands in several.

    seen: None of what has no image, of which nothing is declared, and of a queue that the cluster does not have.
    """

    stack: str
    kind: str
    name: str
    namespace: str
    seen: WorkSeen | QueueSeen | None

    @property
    def named(self) -> Named:
        """What `why` calls its kind."""
        return Named(self.kind.partition(" ")[0])


def work_standing(
    name: str, *, stack: str | None = None, cloud: CloudName | None = None, teller: Teller = SILENT
) -> tuple[WorkStanding, ...]:
    """How what has this name stands: one of each kind that has it, none where nothing does. Nothing is changed.

    Raises Refusal where several stacks have it, Failure where the cluster is not there, GoogleError and KubeError
    where it does not answer.
    """
    found = [(config, each) for config in readable_configs(stack) for each in _declared(config) if each.name == name]
    if not found:
        return ()
    if len(owners := sorted({config.stack for config, _ in found})) > 1:
        raise Refusal(f"several stacks have {name}: say --stack with one of {', '.join(owners)}")
    config, cluster = found[0][0], found[0][0].cluster
    if cluster is None:
        raise Refusal(f"{config.stack} declares {name} and no cluster for it")
    endpoint = open_cloud(cloud, teller).endpoint
    try:
        with cluster_api(config, cluster, endpoint) as kube:
            return tuple(work_now(config, each, kube) for _, each in found)
    except GoogleError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        raise Failure(_no_cluster(config, cluster)) from None


def work_now(config: StackConfig, work: Work, kube: Kube) -> WorkStanding:
    """How one stands, asked of its cluster."""
    seen = _queue(work, kube) if isinstance(work, SharedQueue) else _pods(work, kube)
    namespace = "" if isinstance(work, SharedQueue) else work.team
    return WorkStanding(stack=config.stack, kind=_kind(work), name=work.name, namespace=namespace, seen=seen)


def _kind(work: Work) -> str:
    if isinstance(work, SharedQueue):
        return "queue"
    return "dask class" if isinstance(work, DaskClass) else "group"


def _declared(config: StackConfig) -> Iterator[Work]:
    yield from config.batch
    yield from config.groups
    if config.queues is not None:
        yield from shared_queues(config, config.queues)


def _no_cluster(config: StackConfig, cluster: Cluster) -> str:
    return f"the cluster {cluster.name} of {config.stack} is not there; `./tidepool up {config.stack}` makes it"


def _queue(shared: SharedQueue, kube: Kube) -> QueueSeen | None:
    found = kube.find(f"{KUEUE}/clusterqueues/{quote(shared.name)}")
    if found is None:
        return None
    kueue = Kueue(kube)
    each_team = (
        queue_waits(kueue.workloads(team), shared.name, kueue.pending(team, shared.name)) for team in shared.teams
    )
    return queue_seen(found, (waits for team in each_team for waits in team))


def _pods(work: DaskClass | WorkerGroup, kube: Kube) -> WorkSeen | None:
    if work.image is None:
        return None
    label, part = (CLUSTER_LABEL, COMPONENT_LABEL) if isinstance(work, DaskClass) else (GROUP_LABEL, ROLE_LABEL)
    selector = f"{label}={work.name}"
    pods = kube.get(f"/api/v1/namespaces/{work.team}/pods", labelSelector=selector)["items"]
    nodes = kube.get("/api/v1/nodes", labelSelector=NODE_POOL_LABEL)["items"]
    kueue = Kueue(kube)
    workloads = kueue.workloads(work.team)
    queues = {each["spec"].get("queueName", "") for each in workloads}
    return WorkSeen(
        parts=parts_seen(pods, part, _least(work)),
        waits=waits_of(
            pods,
            _makers(kube, work.team, selector),
            workloads,
            {queue: kueue.pending(work.team, queue) for queue in queues if queue},
        ),
        troubles=troubles_of(pods, {each["metadata"]["name"]: each for each in nodes}),
    )


def _makers(kube: Kube, team: str, selector: str) -> Sequence[Body]:
    """What makes pods of roles; a kind that the cluster does not serve has none."""
    listed = (kube.find(f"{api}/namespaces/{team}/{kind}", labelSelector=selector) for api, kind in _MAKERS)
    return [body for found in listed if found is not None for body in found["items"]]


def _least(work: DaskClass | WorkerGroup) -> Mapping[str, int]:
    """How many pods each part has at least, in the order in which they start."""
    if isinstance(work, DaskClass):
        return {SCHEDULER_POD: 1, WORKER_POD: work.minimum}
    train, rollout = work.train.accelerator, work.rollout
    return {CURRICULUM: 1, TRAIN: train.hosts, ROLLOUT: rollout.slices * rollout.accelerator.hosts}
