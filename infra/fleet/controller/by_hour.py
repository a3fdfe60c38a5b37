"""The fleet as it shall be at an instant: which of the slots that windows declare are open.

Owns how early a window is opened, and which slots it takes. Does not own when a window is open (`infra.model.windows`),
nor what becomes of a VM whose window is over (`rules.yaml`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from infra.fleet.controller.desired import Cap, Desired
from infra.model.schema import Window
from infra.model.windows import is_open, openings

Starts = Mapping[str, Sequence[int]]
"""By pool, how many minutes its last VMs took from their create to a runner online."""


def at(desired: Desired, now: datetime, starts: Starts) -> Desired:
    """The fleet with the slots of windows that are open, or are opened now to serve when they start.

    desired: as a manifest has it, with all slots of windows closed.
    """
    if not desired.windows and not any(cap.windows for cap in desired.caps):
        return desired
    opened: set[str] = set()
    for (pool, zone), slots in groupby(desired.closed, key=lambda slot: (slot.pool, slot.home.zone)):
        until = now + lead(desired, pool, starts)
        count = most_open(desired.windows.get(pool, ()), zone, now, until)
        opened.update([slot.name for slot in slots][:count])
    return replace(
        desired,
        slots=(*desired.slots, *(slot for slot in desired.closed if slot.name in opened)),
        closed=tuple(slot for slot in desired.closed if slot.name not in opened),
        caps=tuple(_cap(cap, now) for cap in desired.caps),
    )


def lead(desired: Desired, pool: str, starts: Starts) -> timedelta:
    """How long before its start a window of a pool is opened.

    As long as the slowest of its last VMs took, and a sweep may come late; of a pool of which none was measured, as
    long as a VM may take until a runner of it is online.
    """
    slowest = max(starts.get(pool, ()), default=desired.settings.boot)
    return timedelta(minutes=slowest + desired.settings.every)


def most_open(windows: Sequence[Window], zone: str, now: datetime, until: datetime) -> int:
    """The most VMs that windows add in a zone at any instant from now on until another.

    Windows that follow one another share their VMs: what one needs no more is there for the next.
    """
    moments = {now, *(each.start for window in windows for each in openings(window, now, until) if each.start > now)}
    return max(sum(window.adds.get(zone, 0) for window in windows if is_open(window, moment)) for moment in moments)


def _cap(cap: Cap, now: datetime) -> Cap:
    """With what other stacks' windows draw."""
    drawn = sum(chips for window, chips in cap.windows if is_open(window, now))
    return replace(cap, siblings=cap.siblings + drawn, windows=())
