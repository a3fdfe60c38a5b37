"""Rules of queues and of the store beside them: whose slices teams share, that every name is one, who reaches what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from infra.model.errors import Problem, shown, suggestion
from infra.model.refusals import Subject
from infra.model.rules.common import Rule, repeats
from infra.model.schema import Cluster, LockStore, Queues, Slices, StackConfig

_OF_REDIS: Final = 29
"""Bits of the range of a Redis without read replicas
(cloud.google.com/memorystore/docs/redis/networking, read 2026-11)."""


def _queues_have_a_cluster(queues: Queues | None, cluster: Cluster | None, subject: Subject) -> Iterator[Problem]:
    if queues is not None and cluster is None:
        rule = "the stack declares queues and no cluster whose slices they share"
        yield Problem(subject(("queues",)), "", rule, "tidepool:cluster and tidepool:slices, or no queues")


def _teams_once(queues: Queues, subject: Subject) -> Iterator[Problem]:
    listed = enumerate(team.name for team in queues.teams)
    yield from repeats(listed, subject, ("queues", "teams"), "the team's name is listed twice", "name")


def _teams_use_what_is_there(queues: Queues, slices: tuple[Slices, ...], subject: Subject) -> Iterator[Problem]:
    there = sorted({entry.accelerator.name for entry in slices})
    for index, team in enumerate(queues.teams):
        for place, accelerator in enumerate(team.accelerators):
            if accelerator.name not in there:
                at = subject(("queues", "teams", index, "accelerators", place))
                fix = suggestion(accelerator.name, there, "an entry of tidepool:slices first")
                yield Problem(at, shown(accelerator.name), "the stack declares no slices of this accelerator", fix)


def _accounts_are_of_one_stack(
    queues: Queues, project: str, siblings: Sequence[StackConfig], subject: Subject
) -> Iterator[Problem]:
    """Google knows pods by project, namespace and service account, and not by cluster
    (cloud.google.com/kubernetes-engine/docs/concepts/workload-identity, read 2026-11)."""
    for other in siblings:
        theirs = {team.name: team.account for team in (other.queues.teams if other.queues else ())}
        for index, team in enumerate(queues.teams):
            if other.project == project and team.name in theirs and (shared := team.account or theirs[team.name]):
                rule = f"stack {other.stack} has a team of this name in {project}, and pods of both act as {shared}"
                fix = "another name for one of them, or neither with an account"
                yield Problem(subject(("queues", "teams", index, "name")), team.name, rule, fix)


def _reclaim_of_what_is_lent(queues: Queues, subject: Subject) -> Iterator[Problem]:
    if queues.reclaim != "never" and not queues.borrowing:
        rule = "no queue lends quota, so there is nothing to get back"
        yield Problem(subject(("queues", "reclaim")), shown(queues.reclaim), rule, "borrowing: true, or reclaim: never")


def _store_has_teams(store: LockStore, queues: Queues | None, subject: Subject) -> Iterator[Problem]:
    if queues is None:
        rule = "the stack declares a store and no team whose jobs use it"
        yield Problem(subject(("store",)), "", rule, "tidepool:queues, or no store")
    elif store.firestore is not None:
        for index, team in enumerate(queues.teams):
            if team.account is None:
                rule = "the team has no Google account, as which its pods would reach Firestore"
                fix = "account: beside its name, or store: redis"
                yield Problem(subject(("queues", "teams", index)), "", rule, fix)


def _one_store(store: LockStore, subject: Subject) -> Iterator[Problem]:
    if (store.redis is None) == (store.firestore is None):
        said, rule = ("redis, firestore", "two stores are declared") if store.redis else ("", "no service is named")
        yield Problem(subject(("store",)), said, rule, "redis: or firestore:, one of them")


def _store_range(store: LockStore, cluster: Cluster | None, subject: Subject) -> Iterator[Problem]:
    if (redis := store.redis) is None:
        return
    where = subject(("store", "redis", "range"))
    if redis.range.prefixlen != _OF_REDIS:
        rule = f"the range has {redis.range.num_addresses:,} addresses, and Memorystore takes eight"
        yield Problem(where, str(redis.range), rule, f"such as {redis.range.network_address}/{_OF_REDIS}")
    if cluster is None:
        return
    for name in ("nodes", "pods", "services"):
        if redis.range.overlaps(getattr(cluster.ranges, name)):
            rule = f"the range overlaps with the cluster's range of {name}, {getattr(cluster.ranges, name)}"
            yield Problem(where, str(redis.range), rule, "another range")


RULES: Final[tuple[Rule, ...]] = (
    _queues_have_a_cluster,
    _teams_once,
    _teams_use_what_is_there,
    _accounts_are_of_one_stack,
    _reclaim_of_what_is_lent,
    _store_has_teams,
    _one_store,
    _store_range,
)
