"""The guests of a simulated world: the local cloud's own, which reach bucket, broker and GitHub in this process.

Stands in the place of `Surroundings` and of the cloud's control. Owns no state; the world and a VM's disk do.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from bench.guests.disk import Disk
from bench.guests.guest import Guest
from bench.guests.surroundings import Vm
from infra.fleet.broker.audit import AuditedRequest, entry
from infra.fleet.broker.decide import Claims, Instance, RegistrationRequest
from infra.fleet.broker.identity import GoogleKeys
from infra.fleet.broker.refusals import Refused
from infra.fleet.proofs import ForgedReportError, audience
from infra.fleet.runner.supervisor import report
from infra.fleet.runner.supervisor.effects import Answer
from infra.model import bucket_names
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

    def document(self, vm: Vm, name: str) -> Any:
        return self.world.document(name)

    def has_bundle(self, vm: Vm, sha256: str) -> bool:
        return True

    def report(self, vm: Vm, text: str) -> None:
        """At the time of the VM's own clock."""
        if not self.world.is_down("bucket"):
            if ahead := self.world.clocks.get(vm.id, 0.0):
                body = json.loads(text)
                at = datetime.fromisoformat(body["at"]) + timedelta(seconds=ahead)
                text = report.line({**body, "at": report.moment(at.timestamp())})
            content = report.sealed(text, signed(vm, report.audience(text)))
            self.world.write(bucket_names.report_object(vm.pool, vm.id), content.encode())

    def register(self, vm: Vm) -> Answer:
        request = RegistrationRequest(stack=vm.stack, vm=vm.id, pool=vm.pool)
        token, audited = f"{vm.name}|{self.world.number():x}", AuditedRequest(registration=request)
        try:
            granted = self.world.broker.register(token, request, audited)
        except Refused as refused:
            self.world.refusals.append(entry(audited, refused, at=self.world.moment(), milliseconds=0.0))
            return Answer(refused.reason.status, again=refused.again, reason=f"{refused.reason.word}: {refused}")
        return Answer(200, jit=granted.jit, runner=granted.runner)


def signed(vm: Vm, audience: str) -> str:
    """A token of the VM's metadata server, whose signature is not simulated."""
    return f"{vm.name}|{vm.machine}|{audience}".encode().hex()


def signer(_: GoogleKeys, token: str, text: bytes, written: datetime) -> Claims:
    """As `infra.fleet.proofs.signer` finds the machine that a report's token is for."""
    name, machine, signed_for = bytes.fromhex(token).decode().split("|")
    if signed_for != audience(text):
        raise ForgedReportError("its proof is of another report")
    instance = Instance(id=machine, zone=name.split("/")[3])
    return Claims(email="", fingerprint=token, issued=written, expires=written, instance=instance)


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
