"""Zones that people gave up (`./tidepool zone lost`), and when that is believed of one.

Owns the one question. Does not own the wish (`infra.fleet.wishes`) nor what follows (`judge`, `notice`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import Observed

SILENT: Final = timedelta(minutes=10)
"""For how long without a break a zone that people gave up must not answer before its VMs count as gone."""


def is_given_up(zone: str, observed: Observed, memory: Memory, now: datetime) -> bool:
    """Whether people gave up a zone that has not answered for a while: then its VMs count as gone, by their word.

    One list that fails is no lost zone, though somebody feared it and its VMs work on. memory: of the sweep before, or
    later.
    """
    silent = memory.reported.get(f"unknown zone {zone}", now)
    return zone in observed.wishes.lost and not observed.zone_known(zone) and now - silent >= SILENT
