"""How fleets stand: one stack's, or every stack's that declares or has VMs.

Owns which stacks are looked at, and that one of which something is not known hides no other. What follows of a look is
`infra.fleet.status`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from infra.engines.protocol import CloudName
from infra.fleet.google import GoogleError
from infra.fleet.status.derive import status
from infra.fleet.status.queue import Unserved
from infra.fleet.status.shape import FleetStatus, Next, PoolStatus, RolloutStatus, Trouble
from infra.model.errors import ConfigError
from infra.model.fleet import slots
from infra.operations.fleet.looks import Fleet, open_fleet
from infra.operations.ports import SILENT, Teller
from infra.operations.stacks.grants import GrantsSeen, policies_of
from infra.operations.stacks.stack_file import known_stacks
from infra.operations.workspace import workspace

__all__ = ("FleetStatus", "Next", "PoolStatus", "RolloutStatus", "Statuses", "Trouble", "Unserved")


@dataclass(slots=True, kw_only=True)
class Statuses:
    """Looks at the fleet of one stack, or of every stack, as often as it is asked to.

    stack: None for every stack. cloud: None for the one that this machine has credentials for. Grants that no stack
    declares are read once for a stack: they take many calls.
    """

    stack: str | None = None
    cloud: CloudName | None = None
    teller: Teller = SILENT
    _grants: dict[str, GrantsSeen] = field(default_factory=dict)
    _looked: bool = False

    def look(self) -> tuple[FleetStatus, ...]:
        """How they stand now; of a stack that nobody named only where it declares VMs, or has some, or is not known.

        Stack files are read for each look: whoever watches may wait for their own edit to be applied. Raises
        ConfigError for the stack that is named, if at the first look its file does not say where its fleet is.
        """
        fleets = list(self._fleets())
        if not fleets:
            self.teller.say(f"there is no stack: {workspace().root / 'stacks'} has no Pulumi.STACK.yaml")
        for fleet in fleets:
            if fleet.stack not in self._grants:
                self._grants[fleet.stack] = _grants(fleet)
        return tuple(found for fleet in fleets for found in self._standing(fleet))

    def _fleets(self) -> Iterator[Fleet | FleetStatus]:
        """Of every stack the fleet, or how it stands where its file does not say where it is."""
        insists, self._looked = self.stack is not None and not self._looked, True
        for name in known_stacks() if self.stack is None else (self.stack,):
            try:
                yield open_fleet(name, self.cloud, self.teller, tells_trouble=False)
            except ConfigError as error:
                if insists:
                    raise
                problem = str(error.problems[0]).replace("\n ", ";")
                yield FleetStatus(stack=name, at=datetime.now(UTC), problems=(problem,))

    def _standing(self, fleet: Fleet | FleetStatus) -> Iterator[FleetStatus]:
        if isinstance(fleet, FleetStatus):
            yield fleet
            return
        trouble = (fleet.trouble,) if fleet.trouble else ()
        try:
            found = status(fleet.look(with_jobs=True), None if trouble else fleet.config)
        except GoogleError as error:
            yield FleetStatus(stack=fleet.stack, at=datetime.now(UTC), problems=(str(error), *trouble))
            return
        if self.stack or trouble or found.orphan_vms or found.desired or slots(fleet.config):
            grants = self._grants[fleet.stack]
            problems = (*found.problems, *trouble)
            yield replace(found, grants=grants.strange, unread=grants.unread, problems=problems)


def _grants(fleet: Fleet | FleetStatus) -> GrantsSeen:
    """What no stack declares; nothing is said of it where the stack file does not say all that is declared."""
    if isinstance(fleet, FleetStatus) or fleet.trouble:
        return GrantsSeen()
    return policies_of(fleet.config, fleet.place.endpoint)
