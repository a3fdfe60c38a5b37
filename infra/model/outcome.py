"""What a run came to, pool by pool: how many of its VMs are as planned, and how many are not.

Owns the counts. Does not own how a run goes (`infra.engines`) nor how this is shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.model.plan import Plan, Status
from infra.model.planned_capacity import VM_TYPE, place


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOutcome:
    """The VMs of one pool and zone that a run was to change, by status."""

    pool: str
    zone: str
    counts: Mapping[Status, int]

    @property
    def planned(self) -> int:
        return sum(self.counts.values())

    @property
    def missing(self) -> int:
        """VMs that are not as planned; the next run does just these."""
        return self.planned - self.counts.get(Status.DONE, 0)

    def to_json(self) -> dict[str, Any]:
        ended = {status.value: self.counts.get(status, 0) for status in (Status.DONE, Status.FAILED, Status.SKIPPED)}
        return {"pool": self.pool, "zone": self.zone, "planned": self.planned, **ended}


def outcomes(run: Plan) -> tuple[PoolOutcome, ...]:
    """An outcome for each pool and zone whose VMs a run was to change, sorted."""
    counts: defaultdict[tuple[str, str], Counter[Status]] = defaultdict(Counter)
    for step in run.steps:
        inputs = step.new_inputs or step.old_inputs
        if step.type == VM_TYPE and inputs and step.changes:
            where = place(inputs)
            counts[where.pool, where.zone][step.status] += 1
    return tuple(PoolOutcome(pool=pool, zone=zone, counts=each) for (pool, zone), each in sorted(counts.items()))
