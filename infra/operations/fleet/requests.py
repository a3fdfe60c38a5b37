"""What people ask of the controller, which obeys at its next sweep, and zones that are given up.

Owns how a request is written. What follows of it is the controller's (`infra.fleet.controller`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from infra.fleet import operator_requests
from infra.fleet.controller import memory as memories
from infra.fleet.controller.lease import LeaseKind
from infra.fleet.google import GoogleError
from infra.fleet.records import Body
from infra.model import bucket_names
from infra.model.errors import meant
from infra.operations.declared.stack_file import stack_file
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import Fleet, fleets_declared, open_fleet
from infra.operations.leased import leased
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.workspace import login


def request(fleet: Fleet, change: Callable[[Body | None], Body]) -> None:
    """Change the record of requests under the lease. Failure where the bucket refuses, or another holds the lease."""
    try:
        with (
            leased(fleet.config, fleet.session, LeaseKind.DRAIN),
            fleet.place.records() as records,
        ):
            operator_requests.update(records, fleet.stack, change)
    except GoogleError as error:
        raise Failure(f"nothing was changed: {error}") from None


def fleet_in(zone: str, stack: str | None, cloud: CloudName | None = None, teller: Teller = SILENT) -> Fleet:
    """The fleet that may have VMs in a zone, or that had some there once. Refusal where there is none, or several."""
    zones = {
        name: {each for pool in stack_file(name).config.pools for each in pool.reach} for name in fleets_declared(stack)
    }
    having = [name for name, each in zones.items() if zone in each]
    if len(having) > 1:
        raise Refusal(f"{' and '.join(having)} have VMs in {zone}: run it once for each, with --stack")
    if not having and stack is None:
        raise Refusal(f"{_nowhere(zone, zones)}. For a zone that a stack file had once, add --stack")
    fleet = open_fleet(having[0] if having else stack or "", cloud, teller)
    if not having and zone not in _remembered(fleet):
        raise Refusal(f"{_nowhere(zone, zones)}. The controller remembers no VM there either")
    return fleet


def give_up_zone(fleet: Fleet, zone: str) -> None:
    """Nothing is made there any more; while it cannot be asked its VMs count as gone."""
    since = fleet.place.clock()
    request(fleet, lambda body: operator_requests.with_lost(body, zone, login(), since))


def take_back_zone(fleet: Fleet, zone: str) -> None:
    """VMs are made there again."""
    request(fleet, lambda body: operator_requests.without_lost(body, zone))


def _nowhere(zone: str, zones: Mapping[str, set[str]]) -> str:
    every = sorted({each for found in zones.values() for each in found})
    return f"no pool has the zone {zone}.{meant(zone, every)} Zones are {', '.join(every) or 'none'}"


def _remembered(fleet: Fleet) -> set[str]:
    """Zones that the controller watches, or that were given up, though nothing is declared there any more."""
    try:
        with fleet.place.records() as records:
            memory = memories.read(records.content(bucket_names.memory_object(fleet.stack)))
            return {*memory.zones, *operator_requests.requested(records, fleet.stack).lost}
    except (GoogleError, memories.UnreadableMemoryError) as error:
        raise Failure(f"nothing was changed: {error}") from None
