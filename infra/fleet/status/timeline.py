"""One VM's timeline, in order: made, booted step by step, registered, jobs, taken away, healed. Pure.

Told from the controller's memory, the VM's own report, the broker's record and what the TPU API and GitHub say now. A
VM's report has its own clock and its last 50 events, and a VM that was made again begins a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from itertools import groupby
from typing import Any, Final

from infra.fleet import reports
from infra.fleet.controller.events import EventKind, FleetEvent, Verb
from infra.fleet.controller.notice import HEARD
from infra.fleet.controller.observed import NodeSeen
from infra.fleet.status.derive import status
from infra.fleet.status.look import Scene
from infra.fleet.status.shape import Next
from infra.model import runner_names
from infra.model.errors import meant
from infra.model.json_shape import JsonShape
from infra.model.secret_values import without_secrets

API, CONTROLLER, VM, BROKER = "tpu api", "controller", "vm", "broker"

_SOURCES: Final = (API, BROKER, VM, CONTROLLER)
"""In one second: a VM is made, heard, says what it does, and then the controller sees it and decides."""

_CLOCKS_DIFFER: Final = timedelta(minutes=1)
_AT_ONCE: Final = timedelta(seconds=5)
"""A VM is bound when its first question is admitted."""

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


class LineKind(Enum):
    MADE_ANEW = auto()
    """By a decision of the same second, which it follows."""
    ASKED = auto()
    REGISTERED = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(JsonShape):
    """One thing that happened. source: who says so. turn: its place among what that source says of one second."""

    JSON = ("at", "what", "source")

    at: datetime
    what: str
    source: str
    turn: int = 0
    kind: LineKind = LineKind.OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class VmTimeline(JsonShape):
    """now: how the VM stands, as sentences. lines: the oldest first. next: what the controller does with it.

    stands: whether a zone lists it, None where one that may have it does not answer. nowhere: where it is neither
    declared nor listed, the sentence that says so with the nearest name; else empty.
    """

    JSON = ("vm", "stack", "at", "now", "story=lines", "next")

    vm: str
    stack: str
    at: datetime
    now: tuple[str, ...]
    lines: tuple[Line, ...]
    next: tuple[Next, ...]
    stands: bool | None = None
    nowhere: str = ""


def timeline(vm: str, scene: Scene, report: Mapping[str, Any] | None, binding: Mapping[str, Any] | None) -> VmTimeline:
    """A VM's timeline, secrets masked. report, binding: its records as they are in the bucket, None if not there."""
    nodes = [node for node in scene.observed.nodes if node.name == vm] if scene.observed else []
    own, asked = list(_reported(report or {})), list(_bound(binding or {}))
    before = _answers(asked, own)
    lines = [*_remembered(vm, scene), *_made(vm, scene, nodes), *asked, *own]
    found = status(scene)
    ordered = sorted(lines, key=lambda line: (*_order(before.get(line, line)), line not in before))
    return VmTimeline(
        vm=vm,
        stack=scene.stack,
        at=scene.at,
        now=tuple(map(without_secrets, _now(vm, scene, nodes, report))),
        lines=tuple(replace(line, what=without_secrets(line.what)) for line in _folded(ordered)),
        next=tuple(each for each in found.next if each.subject == vm),
        stands=True if nodes else False if _answered(scene) else None,
        nowhere=nowhere(vm, scene),
    )


def nowhere(vm: str, scene: Scene) -> str:
    """That a VM is neither declared nor listed anywhere, with the nearest that is; empty where it may be."""
    desired, observed = scene.desired, scene.observed
    if desired is None or observed is None or not _answered(scene):
        return ""
    known = {each.name for each in (*desired.possible, *observed.nodes)}
    return "" if vm in known else f"{vm} is not declared, and no VM of this name is there.{meant(vm, sorted(known))}"


def _answered(scene: Scene) -> bool:
    """Whether every zone was listed."""
    return scene.observed is not None and all(source.known for source in scene.observed.zones.values())


def _folded(lines: Iterable[Line]) -> Iterable[Line]:
    """The same thing several times in a row, such as a VM that asks until its runner of before is gone, as one line."""
    for _, alike in groupby(lines, key=lambda line: (line.source, line.what)):
        first, *more = alike
        if more:
            last = max(line.at for line in more)
            first = replace(first, what=f"{first.what}, {len(more) + 1} times, the last at {last:%H:%M:%S}")
        yield first


def _order(line: Line) -> tuple[datetime, int, int]:
    """By the second, for a VM's clock tells no less; within one as causes come before what they bring about."""
    source = CONTROLLER if line.kind is LineKind.MADE_ANEW else line.source
    return line.at.replace(microsecond=0), _SOURCES.index(source), line.turn


def _answers(asked: Iterable[Line], own: Iterable[Line]) -> dict[Line, Line]:
    """What the broker says, with the registration that came of it: one asks before one has it, whatever clocks say.

    The clocks of VM and broker differ, so that each registration goes with what was asked for nearest to it.
    """
    found: dict[Line, Line] = {}
    questions = list(asked)
    for registered in sorted((line for line in own if line.kind is LineKind.REGISTERED), key=_order, reverse=True):
        left = [line for line in questions if line not in found and line.kind is LineKind.ASKED]
        near = min(left, key=lambda line: abs(line.at - registered.at), default=None)
        if near is not None and abs(near.at - registered.at) <= _CLOCKS_DIFFER:
            found[near] = registered
            bound = [
                line for line in questions if line.kind is not LineKind.ASKED and abs(line.at - near.at) <= _AT_ONCE
            ]
            found.update(dict.fromkeys(bound, registered))
    return found


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
        near = "" if slot else meant(vm, sorted({each.name for each in (*desired.slots, *observed.nodes)}))
        yield "; ".join(seen) or f"no VM of this name is there{near and f'.{near}'}"
    if unknown:
        yield f"not known of {', '.join(unknown)}"
    silent = [
        scope for scope in (desired.scopes_of(slot.pool) if slot else desired.scopes) if not observed.scope(scope).known
    ]
    if silent or not observed.github.known:
        reasons = dict.fromkeys(observed.scope(scope).reason for scope in silent)
        yield f"its runner is not known: {'; '.join(reasons) or observed.github.reason}"
    else:
        runners = [f"{each.name} {_work(online=each.online, busy=each.busy)}" for each in observed.runners_of(vm)]
        yield f"runner {'; '.join(runners)}" if runners else "no runner of it is registered"
    if report is not None:
        yield _own_word(report, nodes, scene.at, gone=not unknown)
    found = status(scene)
    troubles = (*(each for pool in found.pools for each in pool.unhealthy), *found.strangers)
    yield from (trouble.reason for trouble in troubles if trouble.subject == vm)
    for request in observed.requests.drains:
        if request.subject in (vm, slot.pool if slot else ""):
            yield f"{request.by} drains {request.subject}"


def _own_word(report: Mapping[str, Any], nodes: Iterable[NodeSeen], now: datetime, *, gone: bool) -> str:
    """What its last report says, as said now or as said once. gone: no zone that did not answer may have its VM."""
    at, node = reports.moment(report.get("at")), next(iter(nodes), None)
    why = f": {report['reason']}" if report.get("reason") else ""
    said = f"{report.get('phase')}{why}" + (f" (at {at:%m-%d %H:%M:%S})" if at else "")
    if node is None and gone:
        return f"it last said {said}; that VM is gone"
    if node is not None and at is not None and node.made is not None and at < node.made:
        return f"the VM before it last said {said}; this one has not reported yet"
    if node is not None and node.state != "READY":
        return f"it last said {said}; it is {node.state} now"
    if at is not None and now - at >= HEARD:
        return f"it last said {said}; nothing since"
    return f"it says {said}"


def _work(*, online: bool, busy: bool) -> str:
    return ("has a job" if busy else "is online") if online else "is offline"


def _made(vm: str, scene: Scene, nodes: Iterable[NodeSeen]) -> Iterable[Line]:
    decided = {
        event.at.replace(microsecond=0): turn
        for turn, event in enumerate(scene.memory.events)
        if event.subject == vm and event.kind is EventKind.DECIDED and event.verb in (Verb.CREATE, Verb.RECREATE)
    }
    for node in nodes:
        if node.made is not None:
            what = f"created in {node.zone}: {node.accelerator}, {node.capacity.value}"
            turn = decided.get(node.made.replace(microsecond=0))
            kind = LineKind.OTHER if turn is None else LineKind.MADE_ANEW
            yield Line(at=node.made, what=what, source=API, turn=turn or 0, kind=kind)


def _remembered(vm: str, scene: Scene) -> Iterable[Line]:
    for turn, event in enumerate(scene.memory.events):
        if event.subject == vm:
            yield Line(at=event.at, what=remembered_as(event), source=CONTROLLER, turn=turn)
        elif runner_names.vm_of(event.subject) == vm:
            what = f"runner {event.subject}: {remembered_as(event)}"
            yield Line(at=event.at, what=what, source=CONTROLLER, turn=turn)


def remembered_as(event: FleetEvent) -> str:
    """What the controller remembers of one event, for people."""
    match event.kind:
        case EventKind.LISTED:
            return f"listed in {event.zone} as {event.state}"
        case EventKind.STATE:
            return f"{event.before} -> {event.state}"
        case EventKind.SILENT:
            return "no runner of it is online any more"
        case EventKind.HEARD:
            return "a runner of it is online again"
        case EventKind.NOT_MADE:
            return f"could not be made in {event.zone}: {event.trouble}: {event.what}"
        case EventKind.DECIDED:
            return f"{event.verb}: {event.what}"
        case EventKind.CAME_TO:
            return f"{event.verb} {event.result}: {event.what}"
        case EventKind.SENTENCE:
            return event.what


def _reported(report: Mapping[str, Any]) -> Iterable[Line]:
    """A VM's events in their order. Steps of its last boot that are not among the last events came before these."""
    events = [each for each in _objects(report.get("events")) if reports.moment(each.get("at")) is not None]
    steps = [step for step in _objects(report.get("boot")) if reports.moment(step.get("ended")) is not None]
    ended = {_end_of(event, "at"): turn for turn, event in enumerate(events) if event.get("event") == "step-ended"}
    began = {_end_of(step, "ended"): step.get("began") for step in steps}
    earlier = [step for step in steps if _end_of(step, "ended") not in ended]
    for turn, step in enumerate(earlier, -len(earlier)):
        yield from _step(step, step.get("ended"), step.get("began"), turn)
    over = {str(step.get("step")) for step in steps} | {step for step, _ in ended}
    for turn, event in enumerate(events):
        at, name = reports.moment(event.get("at")), str(event.get("event"))
        if name == "step-ended":
            yield from _step(event, event.get("at"), began.get(_end_of(event, "at")), turn)
        elif at is not None and not (name == "step-began" and str(event.get("step")) in over):
            kind = LineKind.REGISTERED if name == "registered" else LineKind.OTHER
            yield Line(at=at, what=_told(name, event), source=VM, turn=turn, kind=kind)


def _end_of(step: Mapping[str, Any], key: str) -> tuple[str, datetime | None]:
    return str(step.get("step")), reports.moment(step.get(key))


def _step(step: Mapping[str, Any], ended: Any, began: Any, turn: int) -> Iterable[Line]:
    at, since = reports.moment(ended), reports.moment(began)
    if at is not None:
        took = f" in {(at - since).total_seconds():.0f} s" if since else ""
        why = f": {step['reason']}" if step.get("reason") else ""
        yield Line(at=at, what=f"boot: {step.get('step')} {step.get('outcome')}{took}{why}", source=VM, turn=turn)


def _told(name: str, event: Mapping[str, Any]) -> str:
    if name == "phase":
        return f"{event.get('phase')}" + (f": {event['reason']}" if event.get("reason") else "")
    try:
        return _TELL[name].format_map({"status": "not told", **event})
    except KeyError:
        rest = ", ".join(f"{key} {value}" for key, value in event.items() if key not in ("at", "event"))
        return f"{name} {rest}".strip()


def _bound(binding: Mapping[str, Any]) -> Iterable[Line]:
    if (since := reports.moment(binding.get("since"))) is not None:
        machine = (
            f"machine {binding['instance']}" if binding.get("instance") else "no machine, for its token named none"
        )
        yield Line(at=since, what=f"bound to {machine}", source=BROKER)
    asked = binding.get("asked")
    for moment_asked in asked if isinstance(asked, list) else []:
        if (at := reports.moment(moment_asked)) is not None:
            yield Line(at=at, what="asked for a runner", source=BROKER, turn=1, kind=LineKind.ASKED)


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
