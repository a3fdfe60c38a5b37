"""What of a memory is over, so that its size follows that of the fleet and not its age.

Owns how long each thing is remembered. Does not own the memory's shape (`memory`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from infra.fleet.controller.memory import Memory, ScopeMemory

MAX_EVENTS: Final = 1000
MAX_ENTRIES: Final = 5000
"""Of one kind; a fleet has fewer VMs, and a flood of strange names must not grow the document without end."""

_FORGET: Final = timedelta(days=7)
"""A job runs for five days at most, so that this long after the last registration a scope has no runner of ours.
https://docs.github.com/actions/reference/limits, read 2026-11."""
_BACKOFF_FORGET: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)


def bounded(memory: Memory, slots: frozenset[str], now: datetime) -> Memory:
    """The memory without what is over; slots: names that are declared. Its size follows that of the fleet."""
    pools = {pool: at for pool, at in memory.pools.items() if now - at < _FORGET}
    return memory.model_copy(
        update={
            "nodes": _newest({key: node for key, node in memory.nodes.items() if node.missing < 2}, "seen"),
            "vms": _newest(
                {vm: each for vm, each in memory.vms.items() if vm in slots or now - each.seen < _FORGET}, "seen"
            ),
            "suspects": _newest(memory.suspects, "since"),
            "replacements": {
                pool: kept
                for pool, times in memory.replacements.items()
                if (kept := tuple(at for at in times if now - at < _HOUR))
            },
            "backoff": _newest(
                {key: each for key, each in memory.backoff.items() if now - each.until < _BACKOFF_FORGET}, "until"
            ),
            "zones": {zone: at for zone, at in memory.zones.items() if now - at < _FORGET},
            "listed": {zone: each for zone, each in memory.listed.items() if zone in memory.zones},
            "pools": pools,
            "scopes": _scopes(memory.scopes, pools, now),
            "rollouts": {pool: rollout for pool, rollout in memory.rollouts.items() if pool in pools},
            "reported": dict(sorted(memory.reported.items(), key=lambda item: item[1])[-MAX_ENTRIES:]),
            "events": memory.events[-MAX_EVENTS:],
        }
    )


def _scopes(
    scopes: Mapping[str, Mapping[str, ScopeMemory]], pools: Mapping[str, datetime], now: datetime
) -> dict[str, dict[str, ScopeMemory]]:
    """A pool that is remembered and has none never had a runner; of one that is forgotten nothing is known."""
    kept = {
        pool: {scope: each for scope, each in of.items() if now - each.until < _FORGET} for pool, of in scopes.items()
    }
    return {pool: of for pool, of in kept.items() if of or pool in pools}


def _newest(entries: Mapping[str, Any], by: str) -> dict[str, Any]:
    if len(entries) <= MAX_ENTRIES:
        return dict(entries)
    return dict(sorted(entries.items(), key=lambda item: getattr(item[1], by))[-MAX_ENTRIES:])
