"""All guests of a local cloud: letting them live until now, and moving the cloud's clock so that none is late.

Owns which nodes have a guest, and what people do to guests: end a job, lose a registration. One holder at a time: who
makes one sees to that.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from bench.cloud.control import Control, ControlError
from bench.guests.disk import Disk
from bench.guests.guest import Guest
from bench.guests.machine import end_runner
from bench.guests.surroundings import Endpoints, Vm

_SHORTEST = 0.001
"""Seconds by which the clock moves at least, so that rounding holds nobody up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Guests as they were left. vms: those that stand, by name. due: cloud time of what comes next, if anything."""

    now: float
    vms: dict[str, tuple[Vm, Disk]] = field(default_factory=dict)
    due: float | None = None


class Guests:
    """broker: the address of a stack's broker, asked for only where a guest registers; None where there is none."""

    def __init__(self, control: Control, broker: Callable[[str], str | None]) -> None:
        self._control = control
        self._broker = broker

    def settle(self) -> Look:
        """Let every guest do what it had time for."""
        told = self._control.guests()
        around = Endpoints(self._control, self._broker)
        before: dict[str, dict[str, Any]] = told["disks"]
        found = {vm.name: vm for each in told["nodes"] if (vm := _vm(each)) is not None}
        after: dict[str, Disk] = {}
        for name, vm in found.items():
            disk = Disk.from_json(before[name]) if name in before else Disk(life=vm.life)
            if disk.life != vm.life:
                end_runner(around, disk)
                disk = Disk(life=vm.life)
            now, compression = told["seconds"], told["compression"]
            waits = told["queued"] > 0
            Guest(vm, disk, around, now=now, compression=compression, jobs_wait=waits, faults=told["faults"]).live()
            after[name] = disk
        for name in before.keys() - after.keys():
            end_runner(around, Disk.from_json(before[name]))
        kept = {name: disk.to_json() for name, disk in after.items()} | dict.fromkeys(before.keys() - after.keys())
        if changed := {name: disk for name, disk in kept.items() if disk != before.get(name)}:
            self._control.write_disks(changed)
        dues = [disk.until for disk in after.values()] + [each["due"] for each in told["nodes"]]
        coming = [due for due in dues if due is not None and due > told["seconds"]]
        vms = {name: (found[name], disk) for name, disk in sorted(after.items())}
        return Look(now=told["seconds"], vms=vms, due=min(coming, default=None))

    def advance(self, seconds: float) -> None:
        """Move the clock, with a stop wherever something happens to a guest or its VM."""
        end = self._control.clock()["seconds"] + seconds
        while (look := self.settle()).now < end:
            stop = end if look.due is None else min(look.due, end)
            self._control.advance(max(stop - self._control.clock()["seconds"], _SHORTEST))

    def end_job(self, number: int, conclusion: str) -> None:
        """Let a running job end now. Raises ControlError where no guest has it."""
        look = self.settle()
        for name, (_, disk) in look.vms.items():
            if disk.number == number:
                disk.ends, disk.conclusion = look.now, conclusion
                self._control.write_disks({name: disk.to_json()})
                self.settle()
                return
        running = ", ".join(str(disk.number) for _, disk in look.vms.values() if disk.number)
        raise ControlError(f"no VM has a job {number}; running jobs: {running or 'none'}")

    def lose_runner(self, vm: str) -> str:
        """Let GitHub forget the registration of a VM, which hears nothing of it; the answer is the runner's name.

        Raises ControlError where the VM has none.
        """
        for seen, disk in self.settle().vms.values():
            if vm in (seen.id, seen.name) and disk.jit:
                self._control.lose_runner(_registered_at(disk.jit), disk.state.runner)
                return disk.state.runner
        raise ControlError(f"{vm} has no registration that could be lost")


def _vm(told: dict[str, Any]) -> Vm | None:
    """A node as its guest's machine; None where its metadata makes it nobody of a fleet."""
    node = told["node"]
    metadata = node.get("metadata") or {}
    own: dict[str, Any] = {key: metadata.get(f"tidepool-{key}") for key in ("stack", "pool", "region", "bucket")}
    if not all(own.values()):
        return None
    return Vm(
        name=node["name"],
        machine=str(node.get("id", "")),
        state=node["state"],
        life=f"{node.get('id', '')} {node['createTime']}",
        since=told["since"],
        hosts=told["hosts"],
        **own,
    )


def _registered_at(jit: str) -> str:
    """The repository or organisation that a registration is of, as its files say."""
    runner = json.loads(base64.b64decode(json.loads(base64.b64decode(jit))[".runner"]))
    return urlsplit(runner["gitHubUrl"]).path.removeprefix("/github/").strip("/")
