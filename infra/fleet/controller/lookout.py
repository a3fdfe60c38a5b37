"""Looks between two sweeps, so that the next one begins as soon as Google took a VM or a delete ended.

Owns what is looked for: of declared VMs, by one list a zone. Decides nothing and changes nothing: a sweep does, which
looks at everything anew. What a sweep has seen already starts no other one.
"""

from __future__ import annotations

from collections.abc import Callable
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
from infra.fleet.google import Clients, GoogleError

LOOK_SECONDS: Final = 15.0
"""Between two looks."""
_GOES: Final = DEAD | {"DELETING"}


@dataclass(slots=True, kw_only=True)
class Lookout:
    """Looks for what happened since a sweep.

    swept: that sweep, None where it could not begin: then nothing is looked for. going: declared VMs that were deleted,
    or will be. known: dead VMs that the sweep saw.
    """

    google: Clients
    swept: Swept | None
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
                (self.going.discard if each.is_begun or not deleted else self.going.add)(each.action.slot)

    def waits(self, seconds: float, pause: Callable[[float], None]) -> bool:
        """Wait, or until a sweep has something to do before that. Whether it has. pause: waits so many seconds."""
        while seconds > 0:
            pause(min(seconds, LOOK_SECONDS))
            seconds -= LOOK_SECONDS
            if seconds > 0 and self.sees_work():
                return True
        return False

    def sees_work(self) -> bool:
        """One look: whether a declared VM is dead, or one that was deleted is gone. A silent zone says nothing."""
        if self.swept is None:
            return False
        desired = self.swept.desired
        nodes: dict[str, list[NodeSeen]] = {}
        heard = set()
        for zone in sorted(desired.zones):
            with suppress(GoogleError, tpu_api.ShapeError):
                for node in tpu_api.nodes(self.google, desired.project, zone):
                    nodes.setdefault(node.name, []).append(node)
                heard.add(zone)
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
