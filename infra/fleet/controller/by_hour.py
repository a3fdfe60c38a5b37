"""The fleet as it shall be at an instant: which of the slots that windows declare are open.

Owns how early a window is opened, and which slots it takes. Does not own when a window is open (`infra.model.windows`),
nor what becomes of a VM whose window is over (`rules.yaml`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from infra.fleet.controller.desired import Cap, Desired
from infra.fleet.controller.memory import Memory
from infra.model.schema import Window
from infra.model.windows import is_open, openings

KEPT: Final = timedelta(hours=1)
"""The longest that a window is opened early, and for how long a VM that stands is kept for the next window."""


def at(desired: Desired, now: datetime, memory: Memory) -> Desired:
    """The fleet with the slots of windows that are open, or are opened now to serve when they start.

    desired: as a manifest has it, with all slots of windows closed. A VM that stands already stays for a window that
    starts within KEPT: how long its pool took to start may be known better since it was opened.
    """
    if not desired.windows and not any(cap.windows for cap in desired.caps):
        return desired
    standing = {
        key.name for key, node in memory.nodes.items() if node.ours and not node.missing
    } | memory.creating.keys()
    opened: set[str] = set()
    for (pool, zone), slots in groupby(desired.closed, key=lambda slot: (slot.pool, slot.home.zone)):
        windows = desired.windows.get(pool, ())
        soon = most_open(windows, zone, now, now + lead(desired, pool, memory))
        kept = most_open(windows, zone, now, now + KEPT)
        names = [slot.name for slot in slots]
        opened.update(names[:soon], standing.intersection(names[:kept]))
    return replace(
        desired,
        slots=(*desired.slots, *(slot for slot in desired.closed if slot.name in opened)),
        closed=tuple(slot for slot in desired.closed if slot.name not in opened),
        caps=tuple(_cap(cap, now) for cap in desired.caps),
    )


def lead(desired: Desired, pool: str, memory: Memory) -> timedelta:
    """How long before its start a window of a pool is opened, KEPT at most.

    As long as the slowest of its last VMs took from their create to a runner online, and a sweep may come late; of a
    pool of which none was measured, as long as its stack says that a runner may take.
    """
    slowest = max(memory.starts.get(pool, ()), default=desired.settings.boot)
    return min(KEPT, timedelta(minutes=slowest + desired.settings.every))


def most_open(windows: Sequence[Window], zone: str, now: datetime, until: datetime) -> int:
    """The most VMs that windows add in a zone at any instant from now to another.

    Windows that follow one another share their VMs: what one needs no more is there for the next.
    """
    starts = (each.start for window in windows for each in openings(window, now, until + timedelta(minutes=1)))
    moments = {now, *(start for start in starts if now < start <= until)}
    return max(sum(window.adds.get(zone, 0) for window in windows if is_open(window, moment)) for moment in moments)


def _cap(cap: Cap, now: datetime) -> Cap:
    """With what other stacks' windows draw."""
    drawn = sum(chips for window, chips in cap.windows if is_open(window, now))
    return replace(cap, siblings=cap.siblings + drawn, windows=())
