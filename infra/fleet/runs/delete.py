"""What deletes the VMs of a run: by its label, in every zone that runs may use, until none is left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.fleet.runs import left_vms
from infra.fleet.runs.left_vms import LeftVm, VmSeen
from infra.fleet.runs.ports import RunError, RunPorts
from infra.model.run_records import RunVmRecord


@dataclass(frozen=True, slots=True)
class Deletion:
    """left: what is still there, in words. stood: the VMs that were READY when they were asked to go, by name."""

    left: str
    stood: Mapping[str, VmSeen]


def delete_all(
    zones: Iterable[str], run: str, ports: RunPorts, *, until: float, counted: Iterable[RunVmRecord] = ()
) -> Deletion:
    """Delete every VM with the run's label, of any attempt, in these zones.

    counted: records of the run. Their VMs are asked for by name where a list does not have them, since lists lag.
    Run twice it changes nothing. Every zone is looked at once in any case.
    """
    stood: dict[str, VmSeen] = {}
    while True:
        nodes: dict[str, tuple[Mapping[str, Any], ...]] = {}
        silent: list[str] = []
        for zone in zones:
            try:
                listed = tuple(ports.vms.listed(zone))
                names = {str(each["name"]).rpartition("/")[2] for each in listed}
                unlisted = {each.vm for each in counted if each.zone == zone} - names
                found = (ports.vms.node(zone, name) for name in sorted(unlisted))
                nodes[zone] = (*listed, *(each for each in found if each is not None))
            except RunError:
                silent.append(zone)
        vms = left_vms.left_of(nodes, run)
        stood |= left_vms.seen_ready(vms, int(ports.clock()))
        for vm in left_vms.to_delete(vms):
            _ask_to_delete(vm, ports)
        left = left_vms.not_deleted(vms, silent)
        if not left or ports.clock() >= until:
            return Deletion(left, stood)
        ports.sleep(ports.poll)


def clean_up(zones: Iterable[str], run: str, ports: RunPorts, *, until: float) -> str:
    """Delete what a client may have left of its run, and end its record; what is left, in words.

    A client that ended its run by itself has written its end, which stands. Where a VM could not be deleted the record
    stays open, since the VM stands and counts. A record that cannot be written keeps no run from being cleaned up: the
    VMs are gone, and it counts them until their time to live is over.
    """
    counted: Sequence[RunVmRecord] = ()
    with contextlib.suppress(RunError):  # then the labels alone say what is to go
        counted = ports.ledger.of_run(run, int(ports.clock()))
    done = delete_all(zones, run, ports, until=until, counted=counted)
    if not done.left:
        try:
            ports.ledger.end_run(run, int(ports.clock()), done.stood)
        except RunError as error:
            ports.mention(f"::warning::the record of run {run} is not ended, and counts it on: {error}")
    return done.left


def _ask_to_delete(vm: LeftVm, ports: RunPorts) -> None:
    """One that is still being made refuses; the next look finds it."""
    with contextlib.suppress(RunError):
        ports.vms.delete(vm.zone, vm.name)
        ports.mention(f"deleting {vm.name} in {vm.zone}")
