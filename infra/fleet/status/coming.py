"""What the next sweeps do with what is published now: which versions pools are about to try, and which stay back.

Owns reading the records that say so. Looks at no VM: for what runs there is `look`.
"""

from __future__ import annotations

from infra.fleet.controller import desired as manifests
from infra.fleet.controller import memory as memories
from infra.fleet.controller.observe import pointed
from infra.fleet.controller.observed import Observed
from infra.fleet.records import Records
from infra.fleet.status.derive import rollout_status
from infra.fleet.status.shape import RolloutStatus
from infra.fleet.wishes import wished
from infra.model import names


def coming(records: Records, stack: str) -> tuple[RolloutStatus, ...]:
    """Rollouts of a stack's pools that have something to begin, or that leave something back.

    Raises GoogleError where the bucket does not answer, ValueError where a record cannot be read.
    """
    memory = memories.read(records.body(names.memory_object(stack)))
    if not memory.rollouts:
        return ()
    desired = manifests.read(records.body(names.manifest_object(stack)) or {})
    targets = pointed(records.body(names.pointer_object()), desired)
    seen = Observed(zones={}, targets=targets, wishes=wished(records, stack))
    found = (
        rollout_status(pool, memory.rollouts[pool], len(desired.of_pool(pool)), seen)
        for pool in desired.pools
        if pool in memory.rollouts
    )
    return tuple(each for each in found if each.coming or each.not_tried)
