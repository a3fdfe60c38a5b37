"""What a VM wrote: its supervisor's own events, and what Google keeps of its machine, masked.

The supervisor leaves its steps and events in the fleet bucket (docs/runner.md). The Cloud TPU API has no call for the
serial console of a TPU VM, whose machine stands in a project of Google's (methods of `projects.locations.nodes` of v2,
read 2026-11); what Google logs of it is in Cloud Logging, for the monitored resource `tpu_worker`
(https://docs.cloud.google.com/tpu/docs/monitor-tpu, read 2026-11).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.reports import moment
from infra.fleet.status.timeline import VM
from infra.model import runner_names
from infra.model.json_shape import JsonShape
from infra.model.secret_values import without_secrets
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import open_fleet
from infra.operations.fleet.status import vm_timeline
from infra.operations.fleet.subjects import stack_of
from infra.operations.ports import SILENT, CloudName, Teller

CONSOLE, SUPERVISOR = "console", "supervisor"
_SIMULATED: Final = ", for guests of the local cloud are simulated: they have no machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine(JsonShape):
    """source: `supervisor`, or `console` for what Google keeps."""

    at: datetime
    source: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VmLog(JsonShape):
    """The oldest line first. notes: what could not be had, and why."""

    vm: str
    stack: str
    lines: tuple[LogLine, ...]
    notes: tuple[str, ...]


def vm_log(
    name: str, *, tail: int = 100, stack: str | None = None, cloud: CloudName | None = None, teller: Teller = SILENT
) -> VmLog:
    """The last lines of a VM, or of a runner's VM.

    Refusal where no pool has such a VM, or it is neither declared nor there; Failure where it is declared, does not
    stand, and left nothing.
    """
    vm = runner_names.vm_of(name) or name
    fleet = open_fleet(stack_of(vm, stack), cloud, teller)
    notes, unread = [], ""
    told = vm_timeline(fleet, vm)
    lines = [LogLine(at=each.at, source=SUPERVISOR, text=each.what) for each in told.lines if each.source == VM]
    if not lines:
        notes.append(f"its supervisor has left nothing: {'; '.join(told.now)}")
    try:
        with clients(fleet.config.project, fleet.place.endpoint) as google:
            console = console_lines(google, vm, tail)
    except GoogleError as error:
        console, unread = (), f"{error}; who reads logs needs roles/logging.viewer"
        notes.append(unread)
    else:
        if not console:
            notes.append(f"Cloud Logging has nothing of {vm}{_SIMULATED if fleet.place.endpoint else ''}")
    if not (lines or console):
        if told.nowhere:
            raise Refusal(told.nowhere)
        if told.stands is False:
            left = f"its supervisor has left nothing; {unread}" if unread else "nothing is left of it"
            raise Failure(f"{vm} does not stand, and {left}; `./tidepool why {vm}` says why")
    kept = sorted((*lines, *console), key=lambda line: line.at)[-tail:]
    masked = (replace(each, text=without_secrets(each.text)) for each in kept)
    return VmLog(vm=vm, stack=fleet.stack, lines=tuple(masked), notes=tuple(notes))


def log_lines(log: VmLog) -> Iterator[str]:
    """As people read it."""
    yield from (f"{each.at:%m-%d %H:%M:%S}  {each.source:<10}  {each.text}" for each in log.lines)


def console_lines(google: Clients, vm: str, tail: int) -> tuple[LogLine, ...]:
    """What Cloud Logging has of a TPU VM, the newest entry first. Raises GoogleError."""
    asked = f'resource.type="tpu_worker" AND resource.labels.node_id={json.dumps(vm)}'
    whose = [f"projects/{google.project}"]
    body = {"resourceNames": whose, "filter": asked, "orderBy": "timestamp desc", "pageSize": tail}
    found = execute(google.api(Api.LOGS).entries().list(body=body), f"reading the log of {vm}")
    return tuple(
        LogLine(at=at, source=CONSOLE, text=text)
        for each in found.get("entries", ())
        if (at := moment(each.get("timestamp"))) is not None
        for text in _said(each).splitlines()
    )


def _said(entry: Mapping[str, Any]) -> str:
    """The text of an entry; one that is an object says its message, or all of it."""
    if "textPayload" in entry:
        return str(entry["textPayload"])
    payload = entry.get("jsonPayload") or entry.get("protoPayload") or {}
    return str(payload.get("message") or json.dumps(payload, sort_keys=True))
