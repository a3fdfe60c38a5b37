"""The first line of a stack: what the edit means, in VMs, chips and dollars.

Owns the numbers' short form. VMs and chips are those of the meaning where there is one, else those of the plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from infra.model.plan import Op, Plan, Status, Step
from infra.model.planned_capacity import capacity
from infra.preview.blocks import Block, Rank
from infra.preview.markup import clipped, prose
from infra.preview.meaning import Meaning
from infra.preview.money import Priced
from infra.preview.sentences import plural


@dataclass(frozen=True, slots=True)
class CapacityMove:
    """VMs that come and VMs that go, summed pool by pool, the same of a cluster's slices, and what that is in chips."""

    vms: tuple[int, int]
    slices: tuple[int, int]
    chips: int

    @classmethod
    def of(cls, deltas: Iterable[tuple[bool, int, int]]) -> CapacityMove:
        """From each pool and zone: whether it is of a cluster, its VMs or slices, its chips."""
        told = list(deltas)
        vms, slices = ([count for in_cluster, count, _ in told if in_cluster is which] for which in (False, True))
        return cls(vms=_both_ways(vms), slices=_both_ways(slices), chips=sum(chips for *_, chips in told))

    def __str__(self) -> str:
        """`+1 VM, +4 chips`; both ways where VMs come and go; empty where no VM, slice or chip does."""
        if not (any(self.vms) or any(self.slices) or self.chips):
            return ""
        vms = [
            f"{sign}{plural(count, noun)}"
            for noun, counts in (("VM", self.vms), ("slice", self.slices))
            for sign, count in zip("+-", counts, strict=True)
            if count
        ]
        chips = f"{self.chips:+,} {'chip' if abs(self.chips) == 1 else 'chips'}" if self.chips else "chips unchanged"
        return ", ".join(part for part in (" ".join(vms), chips) if part)


def _both_ways(deltas: Iterable[int]) -> tuple[int, int]:
    """What comes, and what goes."""
    deltas = list(deltas)
    return sum(max(delta, 0) for delta in deltas), sum(max(-delta, 0) for delta in deltas)


def block(stack: str, plan: Plan | None, meaning: Meaning | None, *, planless: bool) -> Block:
    """The heading of a stack. planless: a plan was asked for and could not be made."""
    return Block(
        rank=Rank.SUMMARY,
        lines=[f"## {prose(clipped(stack, 80))}: {_said(plan, meaning, planless=planless)}"],
        what="stacks",
    )


def moved_by(plan: Plan) -> CapacityMove:
    """What a plan does to VMs and slices."""
    places: defaultdict[tuple[str, str, bool], list[int]] = defaultdict(lambda: [0, 0])
    for change in capacity(plan):
        sums = places[change.place.pool, change.place.zone, change.place.in_cluster]
        sums[0] += change.after - change.before
        sums[1] += change.chips[1] - change.chips[0]
    return CapacityMove.of((in_cluster, vms, chips) for (*_, in_cluster), (vms, chips) in places.items())


def meant_by(meaning: Meaning) -> CapacityMove:
    """What an edit does to VMs and slices."""
    return CapacityMove.of((pool.always is not None, pool.slices.delta, pool.chips.delta) for pool in meaning.pools)


def touched(plan: Plan) -> int:
    """How many resources a plan changes."""
    return sum(count for op, count in plan.summary.items() if op != Op.SAME.value)


def refused(plan: Plan) -> tuple[Step, ...]:
    """Deletions and replacements that a preview refuses, as of what is protected, by name."""
    lost = (step for step in plan.steps if step.status is Status.FAILED and step.op in (Op.DELETE, Op.REPLACE))
    return tuple(sorted(lost, key=lambda step: (step.name, step.urn)))


def _said(plan: Plan | None, meaning: Meaning | None, *, planless: bool) -> str:
    means = _means(plan, meaning)
    if plan is not None and plan.failed and (steps := refused(plan)):
        return f"refused, {plural(len(steps), 'protected resource')} would go"
    if planless or (plan is not None and plan.failed):
        return f"the preview failed ({means} by the stack file)" if means else "the preview failed"
    if means:
        return means
    if plan is None:
        return "no change of capacity" if meaning and meaning.changed else "no change"
    count = touched(plan)
    if count:
        return f"no VM comes or goes, {plural(count, 'resource')} changed"
    return f"no change ({plural(plan.summary[Op.SAME.value], 'resource')} as declared)"


def _means(plan: Plan | None, meaning: Meaning | None) -> str:
    if meaning:
        moved = str(meant_by(meaning))
        money = _money(meaning)
        phases = f"in {len(meaning.order.order)} phases" if meaning.order.needed else ""
        return ", ".join(part for part in (moved, money, phases) if part)
    return str(moved_by(plan)) if plan and not plan.failed else ""


def _money(meaning: Meaning) -> str:
    """`+$420 a month`; what has no price is said and never counted as nothing."""
    moved = {(pool.pool, pool.zone) for pool in meaning.pools if pool.changed}
    lines = [line for line in meaning.money.lines if line.changed or (line.pool, line.zone) in moved]
    kinds = {bill.priced for line in lines for bill in (line.before, line.after)} - {Priced.NONE}
    total = meaning.money.total.after.month - meaning.money.total.before.month
    parts = [f"{_dollars(total)} a month"] if Priced.LISTED in kinds else []
    if Priced.UNPRICED in kinds:
        parts.append("part of it without a price" if parts else "price not known")
    if Priced.SUNK in kinds and not parts:
        parts.append("no money moves")
    return ", ".join(parts)


def _dollars(amount: Decimal) -> str:
    """Whole dollars; cents where it is less than one, so that a change is never said to be none."""
    said = f"{abs(amount):,.0f}" if abs(amount) >= 1 else f"{abs(amount):.2f}"
    return f"{'-' if amount < 0 else '+'}${said}" if amount else "±$0"
