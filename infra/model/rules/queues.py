"""Rules of queues and of the store beside them: whose slices teams share, that every name is one, who reaches what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from infra.model.errors import Problem, shown
from infra.model.partial import has
from infra.model.refusals import Subject
from infra.model.rules.common import Rule, repeats, right
from infra.model.schema import Queues, StackConfig

_OF_REDIS: Final = 29
"""Bits of the range of a Redis without read replicas
(cloud.google.com/memorystore/docs/redis/networking, read 2026-11)."""


def _queues(config: StackConfig) -> Queues | None:
    return config.queues if has(config, "queues") else None


def _queues_have_a_cluster(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if _queues(config) is not None and has(config, "cluster") and config.cluster is None:
        rule = "the stack declares queues and no cluster whose slices they share"
        yield Problem(subject(("queues",)), "", rule, "tidepool:cluster and tidepool:slices, or no queues")


def _teams_once(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    queues = _queues(config)
    if queues is not None and has(queues, "teams"):
        listed = (team.name if has(team, "name") else None for team in queues.teams)
        yield from repeats(listed, subject, ("queues", "teams"), "the team's name is listed twice", "name")


def _teams_use_what_is_there(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    queues = _queues(config)
    if queues is None or not has(queues, "teams"):
        return
    there = {entry.accelerator.name for entry in config.slices if has(entry, "accelerator")}
    for index, team in enumerate(queues.teams):
        if not has(team, "accelerators"):
            continue
        for place, accelerator in enumerate(team.accelerators):
            if accelerator.name not in there:
                at = subject(("queues", "teams", index, "accelerators", place))
                fix = f"one of {', '.join(sorted(there))}" if there else "an entry of tidepool:slices first"
                yield Problem(at, shown(accelerator.name), "the stack declares no slices of this accelerator", fix)


def _accounts_are_of_one_stack(
    config: StackConfig, siblings: Sequence[StackConfig], subject: Subject
) -> Iterator[Problem]:
    """Google knows pods by project, namespace and service account, and not by cluster
    (cloud.google.com/kubernetes-engine/docs/concepts/workload-identity, read 2026-11)."""
    mine = _accounts_of_teams(config)
    for other in siblings:
        theirs = _accounts_of_teams(other)
        if not mine or not theirs or config.project != other.project:
            continue
        for name in sorted(mine.keys() & theirs.keys()):
            index, account = mine[name]
            if shared := account or theirs[name][1]:
                rule = (
                    f"stack {other.stack} has a team of this name in {other.project}, and pods of both act as {shared}"
                )
                fix = "another name for one of them, or neither with an account"
                yield Problem(subject(("queues", "teams", index, "name")), name, rule, fix)


def _accounts_of_teams(config: StackConfig) -> Mapping[str, tuple[int, str | None]]:
    """Place and account of each team, by its name."""
    queues = _queues(config)
    if queues is None or not has(config, "project") or not has(queues, "teams"):
        return {}
    return {team.name: (index, team.account) for index, team in right(queues.teams) if has(team, "name", "account")}


def _reclaim_of_what_is_lent(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    queues = _queues(config)
    if (
        queues is not None
        and has(queues, "reclaim", "borrowing")
        and queues.reclaim != "never"
        and not queues.borrowing
    ):
        rule = "no queue lends quota, so there is nothing to get back"
        yield Problem(subject(("queues", "reclaim")), shown(queues.reclaim), rule, "borrowing: true, or reclaim: never")


def _store_has_teams(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if not has(config, "store", "queues") or config.store is None:
        return
    if config.queues is None:
        rule = "the stack declares a store and no team whose jobs use it"
        yield Problem(subject(("store",)), "", rule, "tidepool:queues, or no store")
    elif has(config.store, "firestore") and config.store.firestore is not None and has(config.queues, "teams"):
        for index, team in right(config.queues.teams):
            if has(team, "account") and team.account is None:
                rule = "the team has no Google account, as which its pods would reach Firestore"
                yield Problem(
                    subject(("queues", "teams", index)), "", rule, "account: beside its name, or store: redis"
                )


def _one_store(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    store = config.store if has(config, "store") else None
    if store is None or not has(store, "redis", "firestore"):
        return
    if (store.redis is None) == (store.firestore is None):
        said, rule = ("redis, firestore", "two stores are declared") if store.redis else ("", "no service is named")
        yield Problem(subject(("store",)), said, rule, "redis: or firestore:, one of them")


def _store_range(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    store = config.store if has(config, "store") else None
    redis = store.redis if store is not None and has(store, "redis") else None
    if redis is None or not has(redis, "range"):
        return
    where = subject(("store", "redis", "range"))
    if redis.range.prefixlen != _OF_REDIS:
        rule = f"the range has {redis.range.num_addresses:,} addresses, and Memorystore takes eight"
        yield Problem(where, str(redis.range), rule, f"such as {redis.range.network_address}/{_OF_REDIS}")
    cluster = config.cluster if has(config, "cluster") else None
    if cluster is None or not has(cluster, "ranges"):
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
