"""Which VMs are waited for before others go: those that were just made, and do work that the others do now.

A VM serves once it is READY and a runner of it takes jobs; where GitHub does not tell, or it is to have no runner,
READY is enough. Owns this rule. Does not own waiting itself, nor draining what goes (`infra.fleet.draining`).
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from infra.fleet.controller.desired import Desired, Wanted
from infra.fleet.controller.observed import Observed

READY = "READY"


def just_made(desired: Desired, observed: Observed, leaving: Collection[str], now: datetime) -> frozenset[str]:
    """Declared VMs that stay, do not serve, and were made within the stack's `boot_minutes`.

    Only those of a pool, or for a repository, that a VM of `leaving` serves now: nobody else's work moves to them.
    """
    served = [slot for slot in desired.slots if slot.name in leaving and serves(slot, desired, observed)]
    pools = {slot.pool for slot in served}
    repositories = {each for slot in served for each in slot.serves}
    since = now - timedelta(minutes=desired.settings.boot)
    young = {node.name for node in observed.nodes if node.made is not None and node.made >= since}
    return frozenset(
        slot.name
        for slot in desired.slots
        if slot.name in young - set(leaving)
        and (slot.pool in pools or repositories & set(slot.serves))
        and not serves(slot, desired, observed)
    )


def unserved(desired: Desired, observed: Observed, leaving: Collection[str]) -> tuple[str, ...]:
    """Pools that stay, that a VM of `leaving` serves, and of whose other VMs none does; sorted."""
    found = []
    for pool in desired.pools:
        slots = desired.of_pool(pool)
        staying = [slot for slot in slots if slot.name not in leaving]
        serving = {slot.name for slot in slots if serves(slot, desired, observed)}
        if staying and serving and not serving - set(leaving):
            found.append(pool)
    return tuple(found)


def serves(slot: Wanted, desired: Desired, observed: Observed) -> bool:
    """Whether its VM does the slot's work now. What runners of other pools do nobody has to tell."""
    if not any(node.name == slot.name and node.state == READY for node in observed.nodes):
        return False
    if not slot.has_runner or not observed.hears(desired.scopes_of(slot.pool)):
        return True
    return any(runner.serves for runner in observed.runners_of(slot.name))
