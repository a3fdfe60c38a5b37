"""Which declared VMs do not serve, each with its one cause, since when, and when the fleet tries next: pure.

Told of the controller's own decision, as `derive` tells a status, so that neither contradicts the other or a sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Final

from infra.fleet.controller.actions import Create, Decision, Recreate, subject
from infra.fleet.controller.decide import decide
from infra.fleet.controller.desired import Desired, DesiredSlot
from infra.fleet.controller.keys import BackoffKey
from infra.fleet.controller.memory import Backoff
from infra.fleet.controller.observed import NodeSeen, Observed
from infra.fleet.controller.sorting import FleetNodes, sort
from infra.fleet.status.derive import asked_since, unserved_since, why_not_serving
from infra.fleet.status.look import Scene
from infra.model.json_shape import JsonShape
from infra.model.windows import is_open, openings

_AHEAD: Final = timedelta(days=60)
"""How far ahead the next opening of a window is looked for."""


class Cause(StrEnum):
    """Why a declared VM does not serve. The first five are what a create came to (`Trouble`)."""

    STOCKOUT = "stockout"
    QUOTA = "quota"
    OUTAGE = "outage"
    UNSERVED = "unserved"
    REFUSED = "refused"
    MAKING = "making"
    """It is being made, or the next sweep makes it."""
    BOOTING = "booting"
    """It is created and does not serve yet, and its time to do so is not over."""
    HELD = "held"
    """Something keeps the controller from making it: a limit's chips, a freeze window, a zone that was given up."""
    DRAIN = "drain"
    ROLLOUT = "rollout"
    WINDOW = "window"
    """Its window is closed."""
    STATE = "state"
    """The TPU API says another state than READY."""
    RUNNER = "runner"
    """It is READY, and no runner of it is online."""
    UNKNOWN = "unknown"
    """Its zone or GitHub did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingVm(JsonShape):
    """since: None where nobody saw when it began. next: when it is tried again or its window opens, where known."""

    vm: str
    pool: str
    zone: str
    cause: Cause
    says: str
    since: datetime | None = None
    next: datetime | None = None


@dataclass(frozen=True)
class Judged:
    """What was seen of a fleet whose manifest was read, with what the controller would decide of it."""

    scene: Scene
    desired: Desired
    observed: Observed

    @classmethod
    def of(cls, scene: Scene) -> Judged | None:
        """None of a fleet that nothing is published of."""
        if scene.desired is None or scene.observed is None:
            return None
        return cls(scene, scene.desired, scene.observed)

    @cached_property
    def decision(self) -> Decision:
        return decide(self.desired, self.observed, self.scene.memory, self.scene.at)

    @cached_property
    def fleet(self) -> FleetNodes:
        return sort(self.desired, self.observed)

    def stands(self, slot: DesiredSlot) -> NodeSeen | None:
        return self.fleet.slots.get(slot.name)

    def serves(self, slot: DesiredSlot) -> bool | None:
        """Whether its runner is online or, of one that is to have none, it is READY; None where nobody can say."""
        node = self.stands(slot)
        if node is None:
            return False if all(self.observed.zone_known(place.zone) for place in slot.places) else None
        if not slot.has_runner:
            return node.state == "READY"
        if not self.observed.hears(self.desired.scopes_of(slot.pool)):
            return None
        return any(runner.online for runner in self.observed.runners_of(slot.name))

    def missing(self) -> tuple[MissingVm, ...]:
        """Every declared VM that does not serve, those of closed windows behind the others."""
        gone = (slot for slot in self.desired.slots if not self.serves(slot))
        return (*map(self._missing, gone), *map(self._closed, self.desired.closed))

    def tries(self, zones: Iterable[str]) -> Iterator[tuple[BackoffKey, Backoff]]:
        """Creates that failed last in these zones."""
        wanted = set(zones)
        yield from sorted((key, each) for key, each in self.decision.memory.backoff.items() if key.zone in wanted)

    def _missing(self, slot: DesiredSlot) -> MissingVm:
        node = self.stands(slot)
        if self.serves(slot) is None:
            return self._unknown(slot, node)
        return self._absent(slot) if node is None else self._standing(slot, node)

    def _told(
        self, slot: DesiredSlot, cause: Cause, says: str, since: datetime | None = None, then: datetime | None = None
    ) -> MissingVm:
        node = self.stands(slot)
        zone = node.zone if node else slot.home.zone
        return MissingVm(vm=slot.name, pool=slot.pool, zone=zone, cause=cause, says=says, since=since, next=then)

    def _unknown(self, slot: DesiredSlot, node: NodeSeen | None) -> MissingVm:
        zones = self.observed.zones
        silent = [f"{zone}: {zones[zone].reason}" for zone in {p.zone for p in slot.places} if not self._knows(zone)]
        scopes = [self.observed.scope(each) for each in self.desired.scopes_of(slot.pool)]
        reasons = [each.reason for each in (self.observed.github, *scopes) if not each.known]
        return self._told(slot, Cause.UNKNOWN, "; ".join(dict.fromkeys(sorted(silent) if node is None else reasons)))

    def _knows(self, zone: str) -> bool:
        return self.observed.zone_known(zone)

    def _absent(self, slot: DesiredSlot) -> MissingVm:
        since = unserved_since(slot.name, self.fleet, self.scene.memory)
        asked = self.decision.memory.creating.get(slot.name)
        if asked is not None and asked.at < self.scene.at:
            return self._told(slot, Cause.MAKING, f"it is being made in {asked.zone}", asked.at)
        if any(isinstance(each, Create | Recreate) and subject(each) == slot.name for each in self.decision.actions):
            return self._told(slot, Cause.MAKING, "the next sweep makes it", since)
        held = next((each for each in self.decision.held if subject(each.action) == slot.name), None)
        if held is not None:
            return self._told(slot, Cause.HELD, held.why, since, held.until)
        waits = next((each for each in self.decision.waiting if each.subject == slot.name), None)
        if failed := self._failed(slot):
            last = failed[0][1]
            says = "; ".join(
                (_tries(*failed[0]), *(f"{each.trouble} of {_tries(key, each)}" for key, each in failed[1:]))
            )
            return self._told(slot, Cause(last.trouble.value), says, since or last.since or last.last, last.until)
        says, until = (waits.reason, waits.until) if waits else ("no sweep was there yet", None)
        return self._told(slot, Cause.HELD, says, since, until)

    def _failed(self, slot: DesiredSlot) -> list[tuple[BackoffKey, Backoff]]:
        """The places of a slot at which nothing is tried now, in their order."""
        keys = [BackoffKey(place.zone, slot.accelerator.name, place.capacity) for place in slot.places]
        known = self.decision.memory.backoff
        return [(key, known[key]) for key in dict.fromkeys(keys) if key in known and known[key].until > self.scene.at]

    def _standing(self, slot: DesiredSlot, node: NodeSeen) -> MissingVm:
        since = unserved_since(slot.name, self.fleet, self.scene.memory)
        judged = self.decision.pools[slot.pool].unhealthy.get(slot.name)
        says = why_not_serving(slot.name, judged, self.fleet, self.observed) if judged else ""
        if booting := self.decision.pools[slot.pool].booting.get(slot.name):
            says = why_not_serving(slot.name, booting, self.fleet, self.observed)
            begun = asked_since(slot.name, self.fleet, self.decision.memory)
            return self._told(slot, Cause.BOOTING, says, begun, booting.until)
        if node.state != "READY":
            return self._told(slot, Cause.STATE, says or node.state, since, judged.until if judged else None)
        drains = [each for each in self.observed.requests.drains if each.subject in (slot.name, slot.pool)]
        if drains:
            by = ", ".join(f"{each.by} drains {each.subject}" for each in drains)
            return self._told(slot, Cause.DRAIN, by, min(each.since for each in drains))
        rollout = self.decision.memory.rollouts.get(slot.pool)
        if rollout is not None and slot.name in {*rollout.waiting, *rollout.returning}:
            way = "goes back to" if slot.name in rollout.returning else "gets"
            version = rollout.stable if slot.name in rollout.returning else rollout.target
            return self._told(slot, Cause.ROLLOUT, f"it {way} {version.in_short}", rollout.since)
        said = says or "no runner of it is online between two jobs"
        return self._told(slot, Cause.RUNNER, said, since, judged.until if judged else None)

    def _closed(self, slot: DesiredSlot) -> MissingVm:
        windows = [each for each in self.desired.windows.get(slot.pool, ()) if slot.home.zone in each.adds]
        now = self.scene.at
        soon = sorted(
            (opening.start, each.name)
            for each in windows
            if not is_open(each, now)
            for opening in openings(each, now, now + _AHEAD)[:1]
        )
        names = ", ".join(each.name for each in windows)
        return self._told(slot, Cause.WINDOW, f"window {names} is closed", then=soon[0][0] if soon else None)


def _tries(place: BackoffKey, failed: Backoff) -> str:
    return f"{place}, {'once' if failed.failures == 1 else f'{failed.failures} times in a row'}"
