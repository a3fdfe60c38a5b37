"""What the hosts of a run's VM say, believed where Google signed it for a machine of that VM.

All VMs of a pool run as one account, so each could write the end of another's run, did it know the run's prefix. A host
therefore proves each report as runners do (`infra.fleet.proofs`). Its first report comes before any code of the run is
on the VM, and binds the machine that signed it: from then on no other speaks for that host.

Owns what is believed. What follows from it is `decide`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from infra.fleet.broker.decide import Claims
from infra.fleet.google import GoogleError
from infra.fleet.proofs import ForgedReportError, parted, signer
from infra.fleet.records import Record
from infra.fleet.runs.decide import HostStatus
from infra.fleet.runs.ports import RunError, RunPorts

_SKEW: Final = timedelta(minutes=1)
_NO_MACHINE: Final = ""


@dataclass(kw_only=True)
class HostReports:
    """Those of one VM's hosts. doubts: by host, why its last report is not believed."""

    ports: RunPorts
    doubts: dict[int, str] = field(default_factory=dict)
    _believed: dict[int, HostStatus] = field(default_factory=dict)
    _generations: dict[int, int] = field(default_factory=dict)
    _machines: dict[int, str] = field(default_factory=dict)

    def read(self, host: int, name: str, node: Mapping[str, Any], zone: str) -> HostStatus | None:
        """What a host says: the last that is believed, None where nothing is.

        name: of its object. node: the run's VM in that zone, as the API shows it. Raises RunError.
        """
        found = self.ports.objects.report(name)
        if found is None or self._generations.get(host) == found.generation:
            return self._believed.get(host)
        try:
            self._believed[host] = self._proved(host, found, name, node, zone)
        except ForgedReportError as error:
            self.doubts[host] = f"host {host}: {error}"
        except GoogleError as error:
            raise RunError(str(error)) from None
        else:
            self._generations[host] = found.generation
            self.doubts.pop(host, None)
        return self._believed.get(host)

    def _proved(self, host: int, found: Record, name: str, node: Mapping[str, Any], zone: str) -> HostStatus:
        text, token = parted(found.content)
        if not token:
            raise ForgedReportError("it has no proof")
        claims = signer(self.ports.keys, token, text, found.updated)
        machine = _machine(claims, node, zone)
        others = {each for other, each in self._machines.items() if other != host and each != _NO_MACHINE}
        if self._machines.get(host, machine) != machine or machine in others:
            raise ForgedReportError("another machine wrote it")
        if found.body.get("object") != name:
            raise ForgedReportError("it was written for another run")
        status = _status(found.body)
        self._machines[host] = machine
        return status


def _machine(claims: Claims, node: Mapping[str, Any], zone: str) -> str:
    """The number of the machine that signed, which can be the VM's; `_NO_MACHINE` where tokens name none.

    Raises ForgedReportError for one that cannot be.
    """
    if claims.email != node.get("serviceAccount", {}).get("email"):
        raise ForgedReportError(f"{claims.email} wrote it, which is not the VM's account")
    instance = claims.instance
    if instance is None:
        return _NO_MACHINE
    if instance.zone != zone:
        raise ForgedReportError(f"it was written in {instance.zone}, and the VM is in {zone}")
    with suppress(ValueError):
        made = datetime.fromisoformat(str(node.get("createTime", "")))
        if instance.made is not None and instance.made + _SKEW < made:
            raise ForgedReportError(f"machine {instance.id} wrote it, which is older than the VM")
    return instance.id


def _status(body: Mapping[str, Any]) -> HostStatus:
    """Raises ForgedReportError for what the VM's program does not write."""
    code = body.get("code")
    if isinstance(code, bool) or not isinstance(code, int | None):
        raise ForgedReportError("its code is no number")
    phase, why, log, results = (str(body.get(key) or "") for key in ("phase", "why", "log", "results"))
    return HostStatus(phase, code, why, log, results)
