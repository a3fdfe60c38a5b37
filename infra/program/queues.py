"""What stands inside the stack's cluster: operators, queues, teams, Dask classes and groups; and outputs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from infra.components.checkpoints import Checkpoints, CheckpointsArgs
from infra.components.cluster import GkeCluster
from infra.components.in_cluster import InCluster, InClusterArgs, PodAccount
from infra.components.store import JobStore
from infra.model.addons import addons
from infra.model.dask import dask_objects, worker_size
from infra.model.grants import account_path, pods_member
from infra.model.group_objects import ROLES, group_objects, host
from infra.model.groups import chips_of
from infra.model.queue_objects import TRAINER, queue_objects, store_settings
from infra.model.queues import queues_of, shared_queues
from infra.model.schema import CheckpointBucket, Cluster, DaskClass, Queues, StackConfig, WorkerGroup
from infra.program.shared import labels


def declare_queues(
    config: StackConfig,
    cluster: Cluster,
    queues: Queues,
    made: GkeCluster,
    pools: Sequence[pulumi.Resource],
    store: JobStore | None,
    ready: pulumi.ResourceOptions,
) -> Mapping[str, Mapping[str, Any]]:
    """Releases, objects and buckets, and the stack's outputs of them. pools: where operators run."""
    accounts = {team.name: team.account for team in queues.teams}
    buckets = [
        Checkpoints(f"checkpoints-{group.name}", CheckpointsArgs(**_bucket(config, each), account=account), ready)
        for group in config.groups
        if (each := group.own_bucket) is not None and (account := accounts[group.team]) is not None
    ]
    args = InClusterArgs(
        cluster=cluster.name,
        endpoint=made.endpoint,
        ca_certificate=made.ca_certificate,
        addons=addons(config),
        objects=(
            *queue_objects(config, queues),
            *(store_settings(queues, store.url) if store else ()),
            *(each for declared in config.batch for each in dask_objects(declared)),
            *(each for group in config.groups for each in group_objects(group)),
        ),
        accounts=tuple(
            PodAccount(
                account=account_path(team.account),
                pods=pods_member(config.project, team.name),
                who=f"{team.name}-{TRAINER}",
            )
            for team in queues.teams
            if team.account
        ),
        after=pools,
    )
    InCluster("in-cluster", args, pulumi.ResourceOptions(depends_on=[*pools, *buckets]))
    shared = shared_queues(config, queues)
    told: dict[str, Mapping[str, Any]] = {
        "queues": {team.name: list(queues_of(shared, team.name)) for team in queues.teams}
    }
    if batch := [each for each in config.batch if each.image is not None]:
        told["batch"] = {each.name: _class_output(each) for each in batch}
    if groups := [each for each in config.groups if each.image is not None]:
        told["groups"] = {each.name: _group_output(each) for each in groups}
    return told


def unbuilt(config: StackConfig) -> str:
    """What a person is told of classes and groups that have no image; empty where all have one."""
    lacking = [f"batch[{each.name}]" for each in config.batch if each.image is None]
    lacking += [f"groups[{each.name}]" for each in config.groups if each.image is None]
    if not lacking:
        return ""
    return f"Without an image nothing is declared of {', '.join(lacking)}. Next: docs/cluster.md#what-runs-for-long"


def _bucket(config: StackConfig, declared: CheckpointBucket) -> dict[str, Any]:
    return {
        "project": config.project,
        "bucket": declared.bucket,
        "location": declared.location,
        "labels": labels(config),
    }


def _class_output(declared: DaskClass) -> Mapping[str, Any]:
    worker = worker_size(declared)
    return {
        "scheduler": f"tcp://{declared.name}-scheduler.{declared.team}.svc:8786",
        "worker": worker.quantities(),
        "workers": {"least": declared.minimum, "most": declared.maximum},
        "tasks": declared.tasks * declared.maximum,
    }


def _group_output(group: WorkerGroup) -> Mapping[str, Any]:
    return {"chips": dict(chips_of([group])), "hosts": {role: host(group, role) for role in ROLES}}
