"""The store of locks and statuses that a stack's jobs share."""

from __future__ import annotations

import pulumi

from infra.components.cluster import GkeCluster
from infra.components.store import FirestoreArgs, JobStore, JobStoreArgs, RedisArgs
from infra.model import names
from infra.model.schema import LockStore, StackConfig
from infra.program.shared import labels


def store_api(config: StackConfig) -> str:
    """The API that the stack's store needs; empty without one."""
    if config.store is None:
        return ""
    return "redis.googleapis.com" if config.store.redis else "firestore.googleapis.com"


def declare_store(config: StackConfig, store: LockStore, made: GkeCluster, ready: pulumi.ResourceOptions) -> JobStore:
    args = JobStoreArgs(project=config.project, name=names.store_name(config.stack), on=_on(config, store, made))
    return JobStore("store", args, ready)


def _on(config: StackConfig, store: LockStore, made: GkeCluster) -> RedisArgs | FirestoreArgs:
    if store.redis is not None:
        redis = store.redis
        return RedisArgs(
            region=redis.region,
            network=made.network,
            range=str(redis.range),
            memory=redis.memory_gb,
            replicated=redis.replicated,
            labels=labels(config),
            deletion_protection=store.deletion_protection,
        )
    assert store.firestore is not None, "a rule of the model: one of both"
    teams = config.queues.teams if config.queues else ()
    users = {team.name: f"serviceAccount:{team.account}" for team in teams if team.account}
    return FirestoreArgs(location=store.firestore.location, users=users, deletion_protection=store.deletion_protection)
