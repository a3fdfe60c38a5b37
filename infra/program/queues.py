"""What stands inside the stack's cluster: operators, queues and teams, and what the stack's outputs say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from infra.components.cluster import GkeCluster
from infra.components.in_cluster import InCluster, InClusterArgs, PodAccount
from infra.model.addons import addons
from infra.model.queue_objects import TRAINER, queue_objects
from infra.model.queues import queues_of, shared_queues
from infra.model.schema import Cluster, Queues, StackConfig


def declare_queues(
    config: StackConfig, cluster: Cluster, queues: Queues, made: GkeCluster, pools: Sequence[pulumi.Resource]
) -> Mapping[str, Any]:
    """Releases and objects, and what the stack's outputs say: the queues of each team. pools: where operators run."""
    args = InClusterArgs(
        project=config.project,
        cluster=cluster.name,
        endpoint=made.endpoint,
        ca_certificate=made.ca_certificate,
        addons=addons(config),
        objects=queue_objects(config, queues),
        accounts=tuple(
            PodAccount(account=team.account, namespace=team.name, name=TRAINER) for team in queues.teams if team.account
        ),
        after=pools,
    )
    InCluster("in-cluster", args, pulumi.ResourceOptions(depends_on=list(pools)))
    shared = shared_queues(config, queues)
    return {team.name: list(queues_of(shared, team.name)) for team in queues.teams}
