"""VMs and chips of a plan, for a comment that has no meaning of an edit to show."""

from __future__ import annotations

from collections.abc import Iterator

from infra.model.plan import Plan
from infra.model.planned_capacity import capacity
from infra.preview.blocks import Block, Rank
from infra.preview.markup import name, table

_HEAD = ("Pool", "Zone", "Slice", "Capacity", "VMs", "Chips")


def blocks(plan: Plan) -> Iterator[Block]:
    """A row for each pool and zone that changes; nothing where none does."""
    rows = []
    for change in capacity(plan):
        if change.before != change.after:
            where = change.place
            numbers = ((change.before, change.after), change.chips)
            rows.append(
                [name(each) for each in (where.pool, where.zone, where.accelerator, where.capacity)]
                + [f"{before:,} → {after:,}" for before, after in numbers]
            )
    if rows:
        head, rule, *lines = table(_HEAD, rows, numbers=frozenset({4, 5}))
        yield Block(rank=Rank.MEANING, opening=f"{head}\n{rule}", lines=lines, what="rows of capacity")
