"""One pool in numbers, as status shows it."""

from __future__ import annotations

from collections.abc import Mapping

from infra.fleet.controller.actions import PoolFigures
from infra.fleet.controller.judge import Judge


def pool_figures(judge: Judge, unhealthy: Mapping[str, str]) -> dict[str, PoolFigures]:
    """Figures by pool. unhealthy: what is the matter with declared VMs, by name."""
    return {pool: _figures(judge, pool, unhealthy) for pool in judge.desired.pools}


def _figures(judge: Judge, pool: str, unhealthy: Mapping[str, str]) -> PoolFigures:
    slots = judge.desired.of_pool(pool)
    nodes = [(slot, node) for slot in slots if (node := judge.fleet.slots[slot.name]) is not None]
    online = [slot for slot in slots if any(each.online for each in judge.observed.runners_of(slot.name))]
    return PoolFigures(
        desired=len(slots),
        ready=sum(node.state == "READY" for _, node in nodes),
        online=len(online),
        busy=sum(judge.busy(slot.name) for slot in online),
        away=sum(judge.away(slot, node) for slot, node in nodes),
        unhealthy={slot.name: unhealthy[slot.name] for slot in slots if slot.name in unhealthy},
    )
