"""Sweeps as people read them: what each did, what it holds, what waits, and what keeps a fleet from being settled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from infra.fleet.controller.actions import Held, Waiting, subject, verb
from infra.fleet.controller.events import Result
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.controller.sweep import Swept, summary
from infra.operations.reconcile import UnsettledError
from infra.preview.toned import Tone, TonedLine, lines_toned, toned
from infra.preview.words import clock, due, span

_SHOWN: Final = 10
"""Lines of what is left, so that a fleet that is held as a whole still fits a screen."""


@dataclass(slots=True, kw_only=True)
class SweepNews:
    """Sweeps in the order in which they are. only_changes: what the one before said is not said again."""

    only_changes: bool
    _count: int = 0
    _first: Swept | None = None
    _said: set[str] = field(default_factory=set)
    _serving: frozenset[str] | None = None

    def of(self, swept: Swept) -> list[TonedLine]:
        """What is to be said of the next sweep; nothing where it is as the one before."""
        serving, standing = swept.serving, list(_standing(swept))
        lines = list(_done(swept))
        if self.only_changes and serving is not None and self._serving is not None:
            lines += lines_toned(Tone.GOOD, (f"serves {vm}" for vm in sorted(serving - self._serving)), indent=2)
        lines += [line for line in standing if not (self.only_changes and str(line) in self._said)]
        if lines or not self.only_changes or self._first is None:
            lines.insert(0, toned(f"{swept.at:%Y-%m-%d %H:%M:%S} {summary(swept)}"))
        self._said = set(map(str, standing))
        self._serving = serving if serving is not None else self._serving
        self._count += 1
        self._first = self._first or swept
        return lines

    def settled(self, swept: Swept) -> str:
        """The last line, where nothing is left. Times are the cloud's."""
        took = swept.at - (self._first or swept).at
        sweeps = "1 sweep" if self._count == 1 else f"{self._count} sweeps"
        return f"settled after {sweeps}, {span(took)} of the cloud's clock"


def _done(swept: Swept) -> Iterator[TonedLine]:
    for outcome in swept.outcomes:
        tone = Tone.PROBLEM if outcome.result is Result.FAILED else Tone.PLAIN
        yield toned((outcome_words(outcome), tone), indent=2)


def _standing(swept: Swept) -> Iterator[TonedLine]:
    decision, now = swept.decision, swept.at
    held = (f"held {held_words(each, now)}" for each in decision.held)
    waiting = (f"waiting {waiting_words(each, now)}" for each in decision.waiting)
    stands = (f"stands {each.subject}: {each.reason} (since {clock(each.since, now)})" for each in decision.findings)
    yield from lines_toned(Tone.WARNING, held, indent=2)
    yield from lines_toned(Tone.QUIET, waiting, indent=2)
    yield from lines_toned(Tone.QUIET, stands, indent=2)


def unsettled(error: UnsettledError) -> str:
    """Why it ends, and all that is left."""
    if error.swept is None:
        return str(error)
    lines = left(error.swept)
    more = [f"and {len(lines) - _SHOWN} more (--json has all)"] if len(lines) > _SHOWN else []
    return "\n  ".join([f"{error}; what is left:", *lines[:_SHOWN], *more])


def left(swept: Swept) -> list[str]:
    """What keeps a fleet from being settled, a line for each thing; what cannot be asked comes first."""
    decision, now = swept.decision, swept.at
    unknown = [f"{each.subject} is unknown: {each.reason}" for each in decision.findings if each.rule == "unknown"]
    return [
        *unknown,
        *(held_words(each, now) for each in decision.held),
        *(waiting_words(each, now) for each in decision.waiting),
    ]


def outcome_words(outcome: ActionOutcome) -> str:
    """What an action came to. Google's own words on a create are long, and belong to the VM's timeline."""
    subject_ = subject(outcome.action)
    came_to = "; begun, and not made yet" if outcome.is_begun else ""
    if outcome.result is not Result.DONE:
        why = f"{outcome.trouble.value} (`./tidepool why {subject_}`)" if outcome.trouble else outcome.text
        came_to = f"; {outcome.result.value}: {why}"
    return f"{verb(outcome.action)} {subject_}: {outcome.action.reason}{came_to}"


def held_words(held: Held, now: datetime) -> str:
    until = f" until {due(held.until, now)}" if held.until else ""
    return f"{verb(held.action)} {subject(held.action)}: {held.why}{until}; {held.action.reason}"


def waiting_words(waiting: Waiting, now: datetime) -> str:
    until = f" (until {due(waiting.until, now)})" if waiting.until else ""
    return f"{waiting.subject}: {waiting.reason}{until}"
