"""Orders to VMs: one object a VM, which its supervisor polls. All pools may read all of them: they hold no secret.

Owns the document's shape (version 1) and the change of one of its parts, conditional on what was read.
"""

from __future__ import annotations

from typing import Any, Final

from infra.fleet.controller.versions import AssignedVersion
from infra.fleet.records import Body, Records, UnreadableRecordError
from infra.model import names

VERSION: Final = 1
EMPTY: Final[Body] = {
    "version": VERSION,
    "image": None,
    "bundle": None,
    "restart": 0,
    "drain": False,
}
"""What a VM without orders does: what the records that all VMs read say, and taking jobs."""


def order(records: Records, vm: str, **changes: Any) -> None:
    """Change parts of a VM's orders. Raises GoogleError where the bucket refuses or does not answer."""
    records.update(names.orders_object(vm), lambda current: {**EMPTY, **(current or {}), **changes})


def told(records: Records, vm: str) -> AssignedVersion | None:
    """What a VM's orders say that it runs; None where they leave that to the records that all VMs read.

    Raises GoogleError where the bucket refuses or does not answer.
    """
    try:
        record = records.read(names.orders_object(vm))
    except UnreadableRecordError:
        return None
    orders = record.body if record else {}
    image = str(orders.get("image") or "")
    if not image:
        return None
    return AssignedVersion(image="" if image == names.NO_IMAGE else image, bundle=str(orders.get("bundle") or ""))


def restart(records: Records, vm: str, number: int) -> None:
    """Order a restart by a number that the VM has not obeyed yet.

    One that is behind what was ordered last is of a memory that was lost; the same once more is the same order. Raises
    GoogleError where the bucket refuses or does not answer.
    """

    def ordered(current: Body | None) -> Body:
        orders = {**EMPTY, **(current or {})}
        last = int(orders["restart"])
        return {**orders, "restart": number if number >= last else last + 1}

    records.update(names.orders_object(vm), ordered)
