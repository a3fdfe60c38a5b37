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
                holders.setdefault(pool.label.lower(), _Holder(each.stack, index, pool))
    return holders


def _routing_labels(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    holders = _holders(config, siblings)
    for index, pool in enumerate(config.pools):
        if not has(pool, "label"):
            continue
        holder = holders[pool.label.lower()]
        if holder.pool is not pool and not _same_name(holder.pool, pool):
            rule = f"a routing label belongs to one pool; {holder.said(config)} has it already"
            yield Problem(subject(("pools", index, "label")), shown(pool.label), rule, "a label of its own")


def _same_name(one: Pool, other: Pool) -> bool:
    """Two pools of one name are refused for that, and their labels then say nothing new."""
    return has(one, "name") and has(other, "name") and one.name == other.name


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
