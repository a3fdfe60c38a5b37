"""What a concurrency group makes of the runs or jobs that come: who runs, who waits, who is cancelled and by whom.

Owns GitHub's rule that one runs and one waits (`queue: single`), or up to a hundred wait (`queue: max`):
https://docs.github.com/en/actions/how-tos/write-workflows/choose-when-workflows-run/control-workflow-concurrency
(read 2026-11-22). Leaves which event starts what to `workflows.runs`. GitHub says nothing of the order of those that
come within the same moment: here it is the order in which they are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from workflows.events import GitHubEvent
from workflows.expressions import Scope, expand
from workflows.expressions.values import folded
from workflows.runs import Given, contexts
from workflows.triggering import started

MOST_WAITING = 100
"""Places of a queue with `queue: max`."""


class RunEnd(StrEnum):
    RAN = "runs"
    REPLACED = "is cancelled while it waits"
    CUT_OFF = "is cancelled while it runs"
    REFUSED = "is cancelled, the queue is full"


@dataclass(frozen=True, slots=True)
class Group:
    """A group as one run asks for it. cancels: the newest ends the one that runs. most: how many may wait."""

    name: str
    cancels: bool = False
    most: int = 1


@dataclass(frozen=True, slots=True)
class Arrival:
    """One run or job that asks for its group: when, and how long it takes, in any unit. None: no group."""

    name: str
    at: float
    lasts: float
    group: Group | None


@dataclass(frozen=True, slots=True)
class GroupResult:
    """How an arrival ended; `began` is None of one that never ran, `by` who cancelled it."""

    name: str
    end: RunEnd
    began: float | None = None
    by: str = ""


@dataclass(slots=True)
class _Queue:
    running: Arrival | None = None
    began: float = 0
    waiting: list[Arrival] = field(default_factory=list)


def group_of(workflow: Mapping[str, Any], event: GitHubEvent, given: Given | None = None) -> Group | None:
    """The group of a workflow's runs at an event, None where it has none."""
    scope = Scope(contexts(workflow, event, started(workflow["on"], event).subject, given or Given()))
    return group(workflow.get("concurrency"), scope)


def group(asked: Any, scope: Scope) -> Group | None:
    """A `concurrency` with its expressions evaluated."""
    if asked is None:
        return None
    settings: Mapping[str, Any] = asked if isinstance(asked, Mapping) else {"group": asked}
    return named({key: expand(each, scope) if isinstance(each, str) else each for key, each in settings.items()})


def named(settings: Mapping[str, Any]) -> Group:
    """The group of settings that have no expression, or of which none matters."""
    most = MOST_WAITING if settings.get("queue") == "max" else 1
    name = folded(str(settings.get("group", "")))
    return Group(name, cancels=settings.get("cancel-in-progress") is True, most=most)


def outcomes(arrivals: Iterable[Arrival]) -> tuple[GroupResult, ...]:
    """How each of them ends, in the order in which they came."""
    found: dict[str, GroupResult] = {}
    queues: dict[str, _Queue] = {}
    told = sorted(arrivals, key=lambda each: each.at)
    for each in told:
        if each.group is None:
            found[each.name] = GroupResult(each.name, RunEnd.RAN, each.at)
            continue
        queue = queues.setdefault(each.group.name, _Queue())
        _until(queue, each.at, found)
        _comes(queue, each, each.group, found)
    for queue in queues.values():
        _until(queue, float("inf"), found)
    return tuple(found[each.name] for each in told)


def _comes(queue: _Queue, new: Arrival, wanted: Group, found: dict[str, GroupResult]) -> None:
    if wanted.cancels or wanted.most == 1:
        found.update({each.name: GroupResult(each.name, RunEnd.REPLACED, by=new.name) for each in queue.waiting})
        queue.waiting = []
    if wanted.cancels and queue.running:
        found[queue.running.name] = GroupResult(queue.running.name, RunEnd.CUT_OFF, queue.began, new.name)
        queue.running = None
    if queue.running is None:
        queue.running, queue.began = new, new.at
    elif len(queue.waiting) >= wanted.most:
        found[new.name] = GroupResult(new.name, RunEnd.REFUSED)
    else:
        queue.waiting.append(new)


def _until(queue: _Queue, now: float, found: dict[str, GroupResult]) -> None:
    """What ends by then, and who comes next each time."""
    while queue.running and queue.began + queue.running.lasts <= now:
        ended = queue.began + queue.running.lasts
        found[queue.running.name] = GroupResult(queue.running.name, RunEnd.RAN, queue.began)
        queue.running = queue.waiting.pop(0) if queue.waiting else None
        queue.began = ended
