"""How often a week each generated file starts, from its own triggers and from those of the files that start it.

Owns the chains: a schedule, a merge or a green run starts a file, and a job of that may start another by hand. What
people start is not counted. Leaves conditions to `workflows.runs`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from posixpath import basename
from typing import Any, Final

from infra.model.images.times import count
from workflows import events
from workflows.events import Event
from workflows.generate import Generated
from workflows.runs import Given, run
from workflows.triggering import triggers

_MONDAY: Final = datetime(2026, 1, 5, tzinfo=UTC)
_WEEK: Final = timedelta(days=7)
_STARTS = re.compile(r"\bgh workflow run (?P<file>[\w.-]+\.ya?ml)(?P<fields>[^\n]*)")
_FIELD = re.compile(r"-f (?P<name>\w+)=\"?\$\{?(?P<variable>\w+)")
_COMMIT: Final = "0" * 40
"""What an output says that a condition asks for: whatever is looked for is found."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a file starts, and how often a week."""

    why: str
    times: float


def started_a_week(files: Sequence[Generated], merged: float) -> Mapping[str, tuple[Cause, ...]]:
    """The causes of each file's runs. merged: pushes to the main branch a week, each of which touches what is watched.

    Every test is green, so that what follows tests is counted at the most.
    """
    data = {basename(file.path): file.workflow.plain() for file in files}
    found: dict[str, list[Cause]] = defaultdict(list)
    for file, each in data.items():
        for event, times in _of_itself(each, merged):
            found[file].append(Cause(event.title, times))
            for other, inputs in _started(each, event):
                found[other].append(Cause(f"{file}, {event.title}", times))
                for last, _ in _started(data[other], events.dispatch(inputs)) if other in data else ():
                    found[last].append(Cause(f"{file}, {event.title}, started anew", times))
    return {file: tuple(causes) for file, causes in found.items()}


def _of_itself(data: Mapping[str, Any], merged: float) -> Iterator[tuple[Event, float]]:
    on = triggers(data["on"])
    if "push" in on:
        yield events.push(title="a push to main"), merged
    if "workflow_run" in on:
        yield events.workflow_run("success"), merged
    for each in on.get("schedule") or ():
        yield events.schedule(each["cron"]), float(count(each["cron"], _MONDAY, _MONDAY + _WEEK))


def _started(data: Mapping[str, Any], event: Event) -> Iterator[tuple[str, dict[str, str]]]:
    """The files that jobs of an event's run start by hand, with the inputs that they send."""
    outputs: dict[str, dict[str, str]] = {
        job: dict.fromkeys(spec.get("outputs") or (), _COMMIT) for job, spec in data["jobs"].items()
    }
    for job in run(data, event, Given(outputs=outputs)).jobs:
        for step in data["jobs"][job.id].get("steps", ()) if job.starts else ():
            for found in _STARTS.finditer(step.get("run", "")):
                env = step.get("env") or {}
                sent = {each["name"]: str(env[each["variable"]]) for each in _FIELD.finditer(found["fields"])}
                yield found["file"], sent
