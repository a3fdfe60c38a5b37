"""One VM's story, in order: made, booted step by step, registered, jobs, taken away, healed. Pure.

Told from the controller's memory, the VM's own report, the broker's record and what the TPU API and GitHub say now. A
VM's report has its own clock and its last 50 events, and a VM that was made again begins a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from infra.fleet.controller.observed import NodeSeen
from infra.fleet.status.derive import status
from infra.fleet.status.look import Scene
from infra.fleet.status.shape import Next, moment
from infra.model import runner_names

API, CONTROLLER, VM, BROKER = "tpu api", "controller", "vm", "broker"

_TELL: Final[Mapping[str, str]] = {
    "registered": "registered as runner {runner}",
    "runner-ended": "runner {runner} ended, status {status}",
    "job-began": "job {job} began",
    "job-ended": "job {job} ended: {result}",
    "restart": "its supervisor obeyed restart {number}",
    "halted": "halted: {reason}",
    "step-began": "boot: {step} began",
}
"""How events of a report are told; others are told by their name and what belongs to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that happened. source: who says so."""

    at: datetime
    what: str
    source: str

    def to_json(self) -> dict[str, Any]:
        return {"at": self.at.isoformat(), "what": self.what, "source": self.source}


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """now: how the VM stands, as sentences. lines: the oldest first. next: what the controller does with it."""

    vm: str
    stack: str
    at: datetime
    now: tuple[str, ...]
    lines: tuple[Line, ...]
    next: tuple[Next, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "vm": self.vm,
            "stack": self.stack,
            "at": moment(self.at),
            "now": list(self.now),
            "story": [line.to_json() for line in self.lines],
            "next": [each.to_json() for each in self.next],
        }


def story(vm: str, scene: Scene, report: Mapping[str, Any] | None, binding: Mapping[str, Any] | None) -> Story:
    """A VM's story. report, binding: its records as they are in the bucket, None where there is none."""
    nodes = [node for node in scene.observed.nodes if node.name == vm] if scene.observed else []
    lines = [*_made(nodes), *_remembered(vm, scene), *_reported(report or {}), *_bound(binding or {})]
    found = status(scene)
    return Story(
        vm=vm,
        stack=scene.stack,
        at=scene.at,
        now=tuple(_now(vm, scene, nodes, report)),
        lines=tuple(sorted(lines, key=_order)),
        next=tuple(each for each in found.next if each.subject == vm),
    )


def _order(line: Line) -> tuple[datetime, int]:
    """By the second, for a VM's clock tells no less; within one, a VM is made, then heard, then says what it does."""
    return line.at.replace(microsecond=0), (API, CONTROLLER, BROKER, VM).index(line.source)


def _now(vm: str, scene: Scene, nodes: Iterable[NodeSeen], report: Mapping[str, Any] | None) -> Iterable[str]:
    yield from scene.problems
    desired, observed = scene.desired, scene.observed
    if desired is None or observed is None:
        return
    slot = desired.slot(vm)
    yield f"declared in pool {slot.pool}, {slot.accelerator.name} in {slot.home.zone}" if slot else "not declared"
    unknown = [f"{zone} ({source.reason})" for zone, source in observed.zones.items() if not source.known]
    seen = [f"{node.state} in {node.zone}" + (f", {node.health}" if node.health else "") for node in nodes]
    if seen or not unknown:
        yield "; ".join(seen) or "no VM of this name is there"
    if unknown:
        yield f"not known of {', '.join(unknown)}"
    if not observed.github.known:
        yield f"its runner is not known: {observed.github.reason}"
    else:
        runners = [f"{each.name} {_work(online=each.online, busy=each.busy)}" for each in observed.runners_of(vm)]
        yield f"runner {'; '.join(runners)}" if runners else "no runner of it is registered"
    if report is not None:
        why = f": {report['reason']}" if report.get("reason") else ""
        yield f"it says {report.get('phase')}{why} (at {report.get('at')})"
    found = status(scene)
    troubles = (*(each for pool in found.pools for each in pool.unhealthy), *found.strangers)
    yield from (trouble.reason for trouble in troubles if trouble.subject == vm)
    for wish in observed.wishes.drains:
        if wish.subject in (vm, slot.pool if slot else ""):
            yield f"{wish.by} drains {wish.subject}"


def _work(*, online: bool, busy: bool) -> str:
    return ("has a job" if busy else "is online") if online else "is offline"


def _made(nodes: Iterable[NodeSeen]) -> Iterable[Line]:
    for node in nodes:
        if (at := _time(node.created)) is not None:
            yield Line(at=at, what=f"created in {node.zone}: {node.accelerator}, {node.capacity.value}", source=API)


def _remembered(vm: str, scene: Scene) -> Iterable[Line]:
    for event in scene.memory.events:
        if event.subject == vm:
            yield Line(at=event.at, what=event.what, source=CONTROLLER)
        elif runner_names.vm_of(event.subject) == vm:
            yield Line(at=event.at, what=f"runner {event.subject}: {event.what}", source=CONTROLLER)


def _reported(report: Mapping[str, Any]) -> Iterable[Line]:
    steps = [step for step in _objects(report.get("boot")) if _time(step.get("ended")) is not None]
    for step in steps:
        began, ended = _time(step.get("began")), _time(step.get("ended"))
        took = f" in {(ended - began).total_seconds():.0f} s" if began and ended else ""
        if ended is not None:
            yield Line(at=ended, what=f"boot: {step.get('step')} {step.get('outcome')}{took}", source=VM)
    over = {step.get("step") for step in steps}
    for event in _objects(report.get("events")):
        at, name = _time(event.get("at")), str(event.get("event"))
        if at is None or (name in ("step-began", "step-ended") and event.get("step") in over):
            continue
        yield Line(at=at, what=_told(name, event), source=VM)


def _told(name: str, event: Mapping[str, Any]) -> str:
    if name == "phase":
        return f"{event.get('phase')}" + (f": {event['reason']}" if event.get("reason") else "")
    try:
        return _TELL[name].format_map(event)
    except KeyError:
        rest = ", ".join(f"{key} {value}" for key, value in event.items() if key not in ("at", "event"))
        return f"{name} {rest}".strip()


def _bound(binding: Mapping[str, Any]) -> Iterable[Line]:
    if (since := _time(binding.get("since"))) is not None:
        machine = (
            f"machine {binding['instance']}" if binding.get("instance") else "no machine, for its token named none"
        )
        yield Line(at=since, what=f"bound to {machine}", source=BROKER)
    asked = binding.get("asked")
    for moment_asked in asked if isinstance(asked, list) else []:
        if (at := _time(moment_asked)) is not None:
            yield Line(at=at, what="asked for a runner", source=BROKER)


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _time(text: Any) -> datetime | None:
    """A moment with its time zone, None where it is none: whatever a VM writes, its story is told."""
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at if at.tzinfo else None
