"""What stands inside the stack's cluster: operators, queues and teams, and what the stack's outputs say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from infra.components.cluster import GkeCluster
from infra.components.in_cluster import InCluster, InClusterArgs, PodAccount
from infra.components.store import JobStore
from infra.model.addons import addons
from infra.model.grants import account_path, pods_member
from infra.model.queue_objects import TRAINER, queue_objects, store_settings
from infra.model.queues import queues_of, shared_queues
from infra.model.schema import Cluster, Queues, StackConfig


def declare_queues(
    config: StackConfig,
    cluster: Cluster,
    queues: Queues,
    made: GkeCluster,
    pools: Sequence[pulumi.Resource],
    store: JobStore | None,
) -> Mapping[str, Any]:
    """Releases and objects, and what the stack's outputs say: the queues of each team. pools: where operators run."""
    told = store_settings(queues, store.url) if store else ()
    args = InClusterArgs(
        cluster=cluster.name,
        endpoint=made.endpoint,
        ca_certificate=made.ca_certificate,
        addons=addons(config),
        objects=(*queue_objects(config, queues), *told),
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
    InCluster("in-cluster", args, pulumi.ResourceOptions(depends_on=list(pools)))
    shared = shared_queues(config, queues)
    return {team.name: list(queues_of(shared, team.name)) for team in queues.teams}
