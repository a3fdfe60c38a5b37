"""What deletes the VMs of a run: by its label, in every zone that runs may use, until none is left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from infra.fleet.runs import decide
from infra.fleet.runs.decide import LeftVm
from infra.fleet.runs.ports import RunError, RunPorts


def delete_all(zones: Iterable[str], run: str, ports: RunPorts, *, until: float) -> str:
    """Delete every VM with the run's label, of any attempt, in these zones; what is left, in words.

    Run twice it changes nothing. Every zone is looked at once in any case.
    """
    while True:
        nodes: dict[str, tuple[Mapping[str, Any], ...]] = {}
        silent: list[str] = []
        for zone in zones:
            try:
                nodes[zone] = tuple(ports.vms.listed(zone))
            except RunError:
                silent.append(zone)
        vms = decide.left(nodes, run)
        for vm in decide.to_delete(vms):
            _ask_to_delete(vm, ports)
        left = decide.not_deleted(vms, silent)
        if not left or ports.clock() >= until:
            return left
        ports.sleep(ports.poll)


def _ask_to_delete(vm: LeftVm, ports: RunPorts) -> None:
    """One that is still being made refuses; the next look finds it."""
    with contextlib.suppress(RunError):
        ports.vms.delete(vm.zone, vm.name)
        ports.mention(f"deleting {vm.name} in {vm.zone}")
