"""Looks between two sweeps, so that the next one begins as soon as Google took a VM or a delete ended.

Owns what is looked for: of declared VMs, by one list a zone. Decides nothing and changes nothing: a sweep does, which
looks at everything anew. What a sweep has seen already starts no other one.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from infra.fleet.controller import tpu_api
from infra.fleet.controller.actions import Create, Recreate
from infra.fleet.controller.events import Result
from infra.fleet.controller.keys import OrphanKey
from infra.fleet.controller.observed import NodeSeen
from infra.fleet.controller.rules import DEAD
from infra.fleet.controller.sweep import Swept
from infra.fleet.github_lists import PAGE
from infra.fleet.google import AT_ONCE, Clients, GoogleError

LOOK_SECONDS: Final = 10.0
"""Between two looks."""
_LIST_SECONDS: Final = 2.2
"""Between two sweeps for each page of runners. A page is one of the 5,000 calls that GitHub gives within an hour, of
which a third may go into lists (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api, read 2026-11)."""
_GOES: Final = DEAD | {"DELETING"}


@dataclass(slots=True, kw_only=True)
class Lookout:
    """Looks for what happened since a sweep.

    swept: that sweep, None where it could not begin: then nothing is looked for. going: declared VMs that were deleted,
    or will be. known: dead VMs that the sweep saw. clock: of real time, since looks at a large fleet take long.
    """

    google: Clients
    swept: Swept | None
    clock: Callable[[], float] = time.monotonic
    going: set[str] = field(init=False, default_factory=set)
    known: frozenset[OrphanKey] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        if self.swept is None:
            return
        nodes, outcomes = self.swept.observed.nodes, self.swept.outcomes
        self.known = frozenset(node.orphan_key for node in nodes if node.state in DEAD)
        self.going = {node.name for node in nodes if node.state in _GOES}
        for each in outcomes:
            if isinstance(each.action, Create | Recreate):
                deleted = isinstance(each.action, Recreate) and each.result in (Result.DONE, Result.DEFERRED)
                if deleted and not each.is_begun:
                    self.going.add(each.action.slot)
                else:
                    self.going.discard(each.action.slot)

    def waits(self, seconds: float, pause: Callable[[float], None]) -> bool:
        """Wait, or until a sweep has something to do before that. Whether it has. pause: waits so many seconds."""
        runners = len(self.swept.observed.runners) if self.swept else 0
        rest = max(LOOK_SECONDS, _LIST_SECONDS * runners / PAGE)
        while seconds > 0:
            pause(min(seconds, rest))
            seconds, rest = seconds - rest, LOOK_SECONDS
            if seconds > 0:
                began = self.clock()
                if self.sees_work():
                    return True
                seconds -= self.clock() - began
        return False

    def sees_work(self) -> bool:
        """One look: whether a declared VM is dead, or one that was deleted is gone. A silent zone says nothing."""
        if self.swept is None:
            return False
        desired = self.swept.desired
        with ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="look") as pool:
            zones = dict(zip(sorted(desired.zones), pool.map(self._listed, sorted(desired.zones)), strict=True))
        heard = {zone for zone, listed in zones.items() if listed is not None}
        nodes: dict[str, list[NodeSeen]] = {}
        for node in itertools.chain.from_iterable(listed or () for listed in zones.values()):
            nodes.setdefault(node.name, []).append(node)
        works = False
        for slot in desired.slots:
            there = nodes.get(slot.name, [])
            dead = [node for node in there if node.state in DEAD]
            if any(node.state in _GOES for node in there):
                self.going.add(slot.name)
            lost = len(dead) == len(there) and any(node.orphan_key not in self.known for node in dead)
            gone = slot.name in self.going and not there and heard.issuperset(each.zone for each in slot.places)
            works |= lost or gone
        return works

    def _listed(self, zone: str) -> list[NodeSeen] | None:
        """The VMs of a zone; None where it does not answer."""
        with suppress(GoogleError, tpu_api.ShapeError):
            return tpu_api.nodes(self.google, self.google.project, zone)
        return None
