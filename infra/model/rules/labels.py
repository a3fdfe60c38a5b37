"""Rules of runner labels: a job that asks for a routing label reaches one pool alone. GitHub compares without case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infra.model.errors import Problem
from infra.model.partial import has
from infra.model.refusals import Subject, shown
from infra.model.rules.common import Rule, repeats, right
from infra.model.schema import Pool, StackConfig


@dataclass(frozen=True, slots=True)
class _Holder:
    """The first pool that has a routing label; siblings come before this stack."""

    stack: str
    project: str | None
    index: int
    pool: Pool

    def said(self, config: StackConfig) -> str:
        name = self.pool.name if has(self.pool, "name") else f"pools[{self.index}]"
        return f"pool {name}" if self.stack == config.stack else f"pool {name} of stack {self.stack}"


def _holders(config: StackConfig, siblings: Sequence[StackConfig]) -> dict[str, _Holder]:
    holders: dict[str, _Holder] = {}
    for each in (*siblings, config):
        for index, pool in enumerate(each.pools):
            if has(pool, "label"):
                holders.setdefault(pool.label.lower(), _Holder(each.stack, _project(each), index, pool))
    return holders


def _routing_labels(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    holders = _holders(config, siblings)
    for index, pool in enumerate(config.pools):
        if not has(pool, "label"):
            continue
        holder = holders[pool.label.lower()]
        if holder.pool is not pool and not _is_refused_for_its_name(holder, pool, config):
            rule = f"a routing label belongs to one pool; {holder.said(config)} has it already"
            yield Problem(subject(("pools", index, "label")), shown(pool.label), rule, "a label of its own")


def _is_refused_for_its_name(holder: _Holder, pool: Pool, config: StackConfig) -> bool:
    """Two pools of one name in one project are refused for that, and their labels then say nothing new.

    Those of two projects may have one name: GitHub knows no projects, and their jobs would meet.
    """
    if not (has(holder.pool, "name") and has(pool, "name") and holder.pool.name == pool.name):
        return False
    return holder.stack == config.stack or (holder.project is not None and holder.project == _project(config))


def _project(config: StackConfig) -> str | None:
    return config.project if has(config, "project") else None


def _further_labels(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    holders = _holders(config, siblings)
    for index, pool in enumerate(config.pools):
        if not has(pool, "labels"):
            continue
        yield from repeats(pool.labels, subject, ("pools", index, "labels"), "a label stands once", any_case=True)
        for number, label in right(pool.labels):
            holder = holders.get(label.lower())
            where = subject(("pools", index, "labels", number))
            if holder and holder.pool is pool:
                yield Problem(where, shown(label), "labels are further ones; this is the routing label", "remove it")
            elif holder:
                rule = f"this is the routing label of {holder.said(config)}, whose jobs would come here"
                yield Problem(where, shown(label), rule, "a label that no pool has for itself")


RULES: tuple[Rule, ...] = (_routing_labels, _further_labels)
