"""What the broker asks Google: which VMs are declared and drained, and what the TPU API says of one.

Owns the reading of the manifest and of people's requests, kept for some seconds so that many VMs at once cost few
reads, and the look-up of a node. Google's clients are one a thread, since their connections are not shared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from infra.fleet import operator_requests
from infra.fleet.broker.decide import Claims, DeclaredFleet, NodeLife, ObservedNode, Slot
from infra.fleet.broker.refusals import Reason, Refused, answered_by_google
from infra.fleet.google import Api, Clients, GoogleError, execute
from infra.fleet.operator_requests import OperatorRequests
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.manifest import possible_slots

KEPT: Final = timedelta(seconds=10)
"""How long the manifest and the requests are believed: a VM that leaves the manifest is served no longer than this."""
_MANIFEST_VERSION: Final = 1
_GONE: Final = 404


@dataclass(slots=True, kw_only=True)
class FleetReader:
    """Reads the declared fleet of one stack.

    groups: runner group by trust, of the organisation that the pools' repositories belong to; empty where runners are a
    repository's own.
    """

    stack: str
    groups: Mapping[str, str]
    clock: Callable[[], datetime]
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _held: DeclaredFleet | None = field(default=None, repr=False)
    _until: datetime = field(default=datetime.min.replace(tzinfo=UTC), repr=False)

    def fleet(self, records: Records) -> DeclaredFleet:
        """The fleet as declared. Raises Refused where it cannot be read."""
        with self._lock:
            now = self.clock()
            if self._held is None or not now < self._until <= now + KEPT:
                self._held, self._until = self._read(records), now + KEPT
            return self._held

    def _read(self, records: Records) -> DeclaredFleet:
        with answered_by_google():
            manifest = records.read(bucket_names.manifest_object(self.stack))
            requests = operator_requests.newest(records, self.stack).value or OperatorRequests()
        if manifest is None:
            raise Refused(Reason.NO_MANIFEST, "there is none")
        return fleet_of(manifest.body, requests, self.groups, self.clock())


def fleet_of(
    manifest: Mapping[str, Any], requests: OperatorRequests, groups: Mapping[str, str], now: datetime
) -> DeclaredFleet:
    """The fleet of a manifest's document. Raises Refused where it is not one that is known."""
    if manifest.get("version") != _MANIFEST_VERSION:
        raise Refused(Reason.NO_MANIFEST, f"version {manifest.get('version')!r} is not known")
    try:
        return DeclaredFleet(
            stack=manifest["stack"],
            slots={slot["name"]: _slot(slot, groups) for slot in possible_slots(manifest)},
            drained=frozenset(each.subject for each in requests.at(now).drains),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refused(Reason.NO_MANIFEST, f"{type(error).__name__}: {error}") from None


def node(clients: Clients, slot: Slot, claims: Claims) -> ObservedNode | None:
    """The slot's VM: in the zone that the token names, else in the first of its zones that has one."""
    zones = (claims.instance.zone,) if claims.instance else slot.zones
    return next((found for zone in zones if (found := _node(clients, zone, slot.vm))), None)


def _node(clients: Clients, zone: str, vm: str) -> ObservedNode | None:
    name = f"projects/{clients.project}/locations/{zone}/nodes/{vm}"
    try:
        found = execute(clients.api(Api.TPU).projects().locations().nodes().get(name=name), f"looking up {name}")
    except GoogleError as error:
        if error.status == _GONE:
            return None
        raise Refused(Reason.GOOGLE_DOWN, str(error)) from None
    life = NodeLife(found.get("id", ""), found.get("createTime", ""))
    return ObservedNode(zone=zone, state=found.get("state", ""), life=life, labels=found.get("labels", {}))


def _slot(slot: Mapping[str, Any], groups: Mapping[str, str]) -> Slot:
    scope, group = _home(slot, groups)
    zones = [slot["zone"], *(place["zone"] for place in slot.get("fallbacks", ()))]
    return Slot(
        vm=slot["name"],
        pool=slot["pool"],
        account=slot["service_account"],
        zones=tuple(dict.fromkeys(zones)),
        labels=tuple(slot["runner_labels"]),
        scope=scope,
        group=group,
        serves=tuple(slot["serves"]),
    )


def _home(slot: Mapping[str, Any], groups: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Where a slot's runner registers, and in which group.

    A runner of a repository serves that one alone, so the slots of a pool that serves several take turns by their
    index. A trust without a group has no home: the group that every organisation has may serve any repository.
    """
    serves = slot["serves"]
    if not serves:
        return None, None
    if not groups:
        return f"repos/{serves[slot['index'] % len(serves)]}", None
    group, owners = groups.get(slot["trust"]), {repository.partition("/")[0].lower() for repository in serves}
    if group is None or len(owners) != 1:
        return None, None
    return f"orgs/{serves[0].partition('/')[0]}", group
