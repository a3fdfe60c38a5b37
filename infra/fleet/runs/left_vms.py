"""Which VMs of a run are still there, and which of them nobody has asked to go yet. Pure: no call, no clock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from infra.model import run_labels


@dataclass(frozen=True, slots=True, order=True)
class LeftVm:
    """A VM of the run that is still listed. state, made: of the API, the latter its time of creation."""

    zone: str
    name: str
    state: str
    made: str = ""


@dataclass(frozen=True, slots=True)
class VmSeen:
    """When a VM was seen READY last, and when it was created, which nobody who finds it later knows better."""

    made: int
    last: int


def left_of(nodes: Mapping[str, Iterable[Mapping[str, Any]]], run: str) -> tuple[LeftVm, ...]:
    """The VMs of one run, by zone and what is listed there: by their labels, whatever made them, and no others."""
    found = (
        LeftVm(
            zone=zone,
            name=str(node["name"]).rpartition("/")[2],
            state=str(node.get("state", "")),
            made=str(node.get("createTime", "")),
        )
        for zone, listed in nodes.items()
        for node in listed
        if (labels := run_labels.read(node.get("labels") or {})) is not None and labels.run == run
    )
    return tuple(sorted(found))


def seen_ready(vms: Iterable[LeftVm], now: int) -> dict[str, VmSeen]:
    """Those of them for which Google bills, by name."""
    return {each.name: VmSeen(_seconds(each.made) or now, now) for each in vms if each.state == "READY"}


def _seconds(text: str) -> int:
    """UNIX seconds of a time of the API, 0 for what is none."""
    try:
        return int(datetime.fromisoformat(text).timestamp())
    except ValueError:
        return 0


def to_delete(vms: Iterable[LeftVm]) -> tuple[LeftVm, ...]:
    """Those of which nobody has asked yet that they be deleted."""
    return tuple(each for each in vms if each.state != "DELETING")


def not_deleted(vms: Iterable[LeftVm], silent: Collection[str]) -> str:
    """What is still there, in words; empty where nothing is. silent: zones that could not be listed."""
    said = [f"{each.name} in {each.zone} ({each.state})" for each in vms]
    said += [f"{zone} could not be listed" for zone in sorted(silent)]
    return ", ".join(said)
