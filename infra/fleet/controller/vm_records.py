"""The records between a sweep and VMs: what they say of themselves, and orders, which their supervisors poll.

Owns whose reports are read, the shape of orders (version 1, one object a VM) and the change of one of their parts,
conditional on what was read. All pools may read all orders: they hold no secret. Does not own what of a report is
believed (`infra.fleet.reports`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from infra.fleet.controller.desired import Desired, DesiredSlot
from infra.fleet.controller.keys import NodeKey
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import NodeSeen
from infra.fleet.controller.rules import GIVEN_BACK
from infra.fleet.controller.sorting import pool_of
from infra.fleet.google import GoogleError
from infra.fleet.proofs import Proofs, proved_report
from infra.fleet.records import Body, Records, UnreadableRecordError
from infra.fleet.reports import ReportSeen
from infra.fleet.versions import AssignedVersion
from infra.model import bucket_names
from infra.model.fleet import owns

EMPTY: Final[Body] = {
    "version": 1,
    "image": None,
    "bundle": None,
    "restart": 0,
    "drain": False,
}
"""What a VM without orders does: what the records that all VMs read say, and taking jobs."""
_UNPROVED: Final = 4
"""Of how many VMs that serve and have proved no report yet one is read a sweep, in turns."""
_RUNS_NOTHING: Final = GIVEN_BACK | {"CREATING", "DELETING"}


class WantedReport(NamedTuple):
    """made: by zone, when the VM of that name there was made. proves: whether its reports were proved before.

    unlisted: zones in which it may stand and nobody can say so: a report from there shows that it does.
    """

    pool: str
    name: str
    made: Mapping[str, str] = {}
    proves: bool = False
    unlisted: Collection[str] = ()


def to_be_asked(
    desired: Desired,
    memory: Memory,
    online: Collection[str | None],
    nodes: Iterable[NodeSeen],
    unlisted: Collection[str] = (),
) -> list[WantedReport]:
    """VMs whose report matters: nobody of theirs is online, or a rollout waits for them. Mostly there are none.

    What no zone lists, or Google took back or still makes, runs nothing that could write one: after a wave that is all.
    What may stand in a zone that cannot be listed is asked all the same.
    Orphans too: what they run may be of a repository that is served no more, whose runners nobody lists. And a few that
    serve: once their report is proved no other VM speaks for them, as it might when they next have no runner.
    """
    waiting = {vm for rollout in memory.rollouts.values() for vm in (*rollout.waiting, *rollout.returning)}
    pools: dict[str, str] = {}
    made: dict[str, dict[str, str]] = {}
    proving, unproved, standing = set(), set(), set()
    for node in nodes:
        if owns(desired.stack, node.labels) and pool_of(node):
            pools[node.name] = pool_of(node)
            made.setdefault(node.name, {})[node.zone] = node.created
            if node.state not in _RUNS_NOTHING:
                standing.add(node.name)
            known = memory.nodes.get(node.key)
            if known is not None and known.proved and known.created == node.created:
                proving.add(node.name)
            elif node.state == "READY" and node.name in online:
                unproved.add(node.name)
    proving |= _able(desired, memory, proving)
    turn = memory.sweeps * _UNPROVED % max(1, len(unproved))
    asked = {*waiting, *(sorted(unproved) * 2)[turn : turn + _UNPROVED]}
    pools |= {slot.name: slot.pool for slot in desired.slots}
    hidden = {slot.name: [zone for zone in unlisted if _may_stand(slot, zone, memory)] for slot in desired.slots}
    return [
        WantedReport(pool, name, made.get(name, {}), name in proving, () if name in made else hidden.get(name, ()))
        for name, pool in pools.items()
        if name in asked or (name not in online and (name in standing or hidden.get(name)))
    ]


def _may_stand(slot: DesiredSlot, zone: str, memory: Memory) -> bool:
    """Whether a slot's VM may be in a zone: it is declared there, or one was asked for or listed there."""
    known = memory.vms.get(slot.name)
    asked = known is not None and zone in known.tried
    return asked or slot.place_in(zone) is not None or NodeKey(zone, slot.name) in memory.nodes


def _able(desired: Desired, memory: Memory, proving: Collection[str]) -> set[str]:
    """VMs whose orders name a bundle with which another of their pool proved a report: they can prove theirs too."""
    bundles = {
        slot.name: (slot.pool, known.assigned.bundle if known.assigned else "")
        for slot in desired.slots
        if (known := memory.vms.get(slot.name)) is not None
    }
    proved = {bundles[vm] for vm in proving if vm in bundles and bundles[vm][1]}
    return {vm for vm, bundle in bundles.items() if bundle in proved}


def read(records: Records, asked: Sequence[WantedReport], proofs: Proofs) -> tuple[dict[str, ReportSeen], str]:
    """What these VMs say of themselves, and why the first of them cannot be read, empty where all can.

    A report that cannot be read or understood says nothing, and hides no other.
    """
    found: dict[str, ReportSeen] = {}
    failure = ""
    for vm in asked:
        try:
            report = proved_report(records, vm.pool, vm.name, proofs, vm.made, vm.unlisted, proves=vm.proves)
        except GoogleError as error:
            failure = failure or str(error)
            continue
        if report is not None:
            found[vm.name] = report
    return found, failure


def order(records: Records, vm: str, **changes: Any) -> None:
    """Change parts of a VM's orders. Raises GoogleError where the bucket refuses or does not answer."""
    records.update(bucket_names.orders_object(vm), lambda current: {**EMPTY, **(current or {}), **changes}, mends=True)


def told(records: Records, vm: str) -> AssignedVersion | None:
    """What a VM's orders say that it runs; None where they leave that to the records that all VMs read.

    Raises GoogleError where the bucket refuses or does not answer.
    """
    try:
        record = records.read(bucket_names.orders_object(vm))
    except UnreadableRecordError:
        return None
    orders = record.body if record else {}
    image = str(orders.get("image") or "")
    if not image:
        return None
    return AssignedVersion(
        image="" if image == bucket_names.NO_IMAGE else image, bundle=str(orders.get("bundle") or "")
    )


def restart(records: Records, vm: str, number: int) -> None:
    """Order a restart by a number that the VM has not obeyed yet.

    One that is behind what was ordered last is of a memory that was lost; the same once more is the same order. Raises
    GoogleError where the bucket refuses or does not answer.
    """

    def ordered(current: Body | None) -> Body:
        orders = {**EMPTY, **(current or {})}
        last = orders["restart"]
        return {**orders, "restart": last + 1 if isinstance(last, int) and number < last else number}

    records.update(bucket_names.orders_object(vm), ordered, mends=True)
