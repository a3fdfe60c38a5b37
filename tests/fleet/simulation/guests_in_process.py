"""The guests of a simulated world: the local cloud's own, which reach bucket, broker and GitHub in this process.

Stands in the place of `Surroundings` and of the cloud's control. Owns no state; the world and a VM's disk do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from infra.fleet.broker.audit import Story
from infra.fleet.broker.decide import Instance, Request
from infra.fleet.broker.refusals import Refused
from infra.fleet.proofs import ForgedReportError, Proofs
from infra.local.guests.disk import Disk
from infra.local.guests.guest import Guest
from infra.local.guests.surroundings import Orders, Registration, Vm
from infra.model import names, report_proof
from infra.model.catalogue import AcceleratorType

if TYPE_CHECKING:
    from tests.fleet.simulation.simulated_tpus import Node
    from tests.fleet.simulation.simulated_world import World

_SLOW_BOOT = 1500.0
"""Seconds by which a boot is longer; more than the allowance of 20 minutes."""


def live(world: World, node: Node) -> None:
    """Let a VM's guest do everything that there was time for; a VM that nobody declared has none."""
    metadata = node.body.get("metadata") or {}
    if "tidepool-stack" not in metadata:
        return
    if node.disk is None:
        node.disk = Disk(life=f"{node.body['id']} {node.body['createTime']}")
    vm = Vm(
        name=node.body["name"],
        machine=node.body["id"],
        state=node.state,
        life=node.disk.life,
        since=node.since,
        hosts=AcceleratorType.parse(node.body["acceleratorType"]).hosts,
        **{key: metadata[f"tidepool-{key}"] for key in ("stack", "pool", "region", "bucket")},
    )
    guest = Guest(
        vm,
        node.disk,
        _Around(world),  # ty: ignore[invalid-argument-type]
        now=world.now,
        compression=1.0,
        jobs_wait=world.github.queued > 0,
        faults=bool(world.struck or world.bad),
    )
    guest.live()


@dataclass(frozen=True, slots=True)
class _Around:
    """What a guest reaches: as `Surroundings`, without HTTP."""

    world: World

    @property
    def control(self) -> Any:
        return _Control(self.world)

    def startup(self, vm: Vm) -> Mapping[str, Any] | None:
        return self.world.document(names.startup_object())

    def orders(self, vm: Vm) -> Orders:
        told = self.world.document(names.orders_object(vm.id)) or {}
        return Orders.read(told, self.world.document(names.pointer_object()) or {}, vm.pool, vm.region, vm.zone)

    def has_bundle(self, vm: Vm, sha256: str) -> bool:
        return True

    def report(self, vm: Vm, body: Mapping[str, Any]) -> None:
        """At the time of the VM's own clock."""
        if not self.world.is_down("bucket"):
            ahead = timedelta(seconds=self.world.clocks.get(vm.id, 0.0))
            at = (datetime.fromisoformat(body["at"]) + ahead).isoformat()
            content = json.dumps({**body, "at": at}).encode()
            content = report_proof.sealed(content, signed(vm, report_proof.audience(content)))
            self.world.write(names.report_object(vm.pool, vm.id), content)

    def register(self, vm: Vm) -> Registration:
        request = Request(stack=vm.stack, vm=vm.id, pool=vm.pool)
        token = f"{vm.name}|{self.world.number():x}"
        try:
            granted = self.world.broker.register(token, request, Story(request=request))
        except Refused as refused:
            return Registration(reason=refused.reason.word, again=float(refused.again))
        return Registration(jit=granted.jit, runner=granted.runner)


def signed(vm: Vm, audience: str) -> str:
    """A token of the VM's metadata server, whose signature is not simulated."""
    return f"{vm.name}|{vm.machine}|{audience}"


def signer(_: Proofs, token: str, audience: str, _written: datetime) -> Instance:
    """As `Proofs` finds the machine that a report's token is for."""
    name, machine, signed_for = token.split("|")
    if signed_for != audience:
        raise ForgedReportError("its proof is of another report")
    return Instance(id=machine, zone=name.split("/")[3])


class _Control:
    def __init__(self, world: World) -> None:
        github = world.github
        self._world = world
        self.connect, self.disconnect = github.connect, github.disconnect
        self.take_work, self.end_job = github.take_work, github.end_job

    def clock(self) -> dict[str, Any]:
        return {"seconds": self._world.now}

    def strike_guest(self, node: str, kind: str, running: str = "") -> dict[str, Any] | None:
        struck = self._world.strike(node.rpartition("/")[2], kind, running)
        return {"seconds": _SLOW_BOOT, "message": ""} if struck else None
