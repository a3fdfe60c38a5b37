"""The first line of a stack: what an edit or a plan does, in VMs, chips and dollars.

Owns the numbers' short form. VMs and chips are those of the meaning where there is one, else those of the plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from infra.model.dollars import NOTHING, Dollars
from infra.model.plan import Op, Plan, Status, Step
from infra.model.planned_capacity import capacity
from infra.preview.meaning import Counts, Meaning
from infra.preview.money import Priced
from infra.preview.sentences import plural, total, whole_dollars


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


def headline(plan: Plan | None, meaning: Meaning | None, *, planless: bool = False) -> str:
    """`+1 VM, +4 chips, +$1,402 a month`. planless: a plan was asked for and could not be made."""
    means = _means(plan, meaning)
    if plan is not None and plan.failed and (steps := refused(plan)):
        return f"refused, {plural(len(steps), 'protected resource')} would be deleted"
    if planless or (plan is not None and plan.failed):
        return f"the preview failed ({means} by the stack file)" if means else "the preview failed"
    if means:
        return means
    if plan is None:
        return _without_capacity(meaning)
    count = touched(plan)
    if count:
        return f"no change of capacity, {plural(count, 'resource')} changed"
    return f"no change ({plural(plan.summary[Op.SAME.value], 'resource')} as declared)"


def _without_capacity(meaning: Meaning | None) -> str:
    """What an edit is that moves nothing."""
    if meaning is None or not meaning.changed:
        stopping = sum(finding.stops for finding in meaning.findings) if meaning else 0
        return f"held, {plural(stopping, 'finding')} to fix" if stopping else "no change"
    return f"no change of capacity; changed: {', '.join(meaning.sections)}"


def _means(plan: Plan | None, meaning: Meaning | None) -> str:
    if meaning:
        moved = str(meant_by(meaning)) or _always(meaning)
        parts = (
            "" if meaning.base else "new stack",
            "" if meaning.head else "stack removed",
            moved or ("windows changed" if any(each.changed for each in meaning.week) else ""),
            _money(meaning),
            f"in {len(meaning.order.order)} phases" if meaning.order.needed else "",
        )
        return ", ".join(filter(None, parts))
    return str(moved_by(plan)) if plan and not plan.failed else ""


def _always(meaning: Meaning) -> str:
    """Slices that are up without a pod that asks for them."""
    always = total(meaning, lambda pool: pool.always or Counts()).delta
    return f"{always:+,} {'slice' if abs(always) == 1 else 'slices'} always up" if always else ""


def _money(meaning: Meaning) -> str:
    """`+$420 a month`; what has no price is said and never counted as nothing."""
    moved = {(pool.pool, pool.zone) for pool in meaning.pools if pool.changed}
    lines = [line for line in meaning.money.lines if line.changed or (line.pool, line.zone) in moved]
    kinds = {bill.priced for line in lines for bill in (line.before, line.after)} - {Priced.NONE}
    change = meaning.money.total.delta.month
    parts = [f"{dollars_moved(Dollars(change.known))} a month"] if Priced.LISTED in kinds else []
    if Priced.UNPRICED in kinds:
        parts.append("part of it without a price" if parts else "price not known")
    if Priced.SUNK in kinds and not parts:
        parts.append("no money moves")
    return ", ".join(parts)


def dollars_moved(amount: Dollars) -> str:
    return f"{'+' if amount.known > 0 else ''}{whole_dollars(amount)}" if amount != NOTHING else "±$0"
