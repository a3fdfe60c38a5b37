"""Sweeps for people: what each did, what is held and why, what is waited for and until when.

Owns what is told of sweeps that follow each other: where only changes are asked for, what stood in the sweep before is
not said again. The record of a sweep is `Swept.to_json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from rich.console import Console
from rich.text import Text

from infra.cli.render.console import indented, say
from infra.cli.render.times import clock, due, span
from infra.operations.reconcile import Held, Outcome, Result, Swept, Waiting, subject, summary, verb


@dataclass(slots=True, kw_only=True)
class SweepTeller:
    """Tells sweeps in the order in which they are. only_changes: what the one before said is not said again."""

    console: Console
    only_changes: bool
    _count: int = 0
    _first: Swept | None = None
    _said: set[str] = field(default_factory=set)
    _serving: frozenset[str] | None = None

    def tell(self, swept: Swept) -> None:
        serving, standing = swept.serving, list(_standing(swept))
        lines = [*_done(swept)]
        if self.only_changes and serving is not None and self._serving is not None:
            lines += [Text(f"serves {vm}", style="green") for vm in sorted(serving - self._serving)]
        lines += [line for line in standing if not (self.only_changes and line.plain in self._said)]
        self._said = {line.plain for line in standing}
        self._serving = serving if serving is not None else self._serving
        if lines or not self.only_changes or self._first is None:
            say(self.console, f"{swept.at:%Y-%m-%d %H:%M:%S} {summary(swept)}")
        for line in lines:
            indented(self.console, line)
        self._count += 1
        self._first = self._first or swept

    def settled(self, swept: Swept) -> None:
        """The last line, where nothing is left. Times are the cloud's."""
        took = swept.at - (self._first or swept).at
        sweeps = "1 sweep" if self._count == 1 else f"{self._count} sweeps"
        say(self.console, f"settled after {sweeps}, {span(took)} of the cloud's clock")


def left(swept: Swept) -> list[str]:
    """What keeps a fleet from being settled, a line for each thing; what cannot be asked comes first."""
    decision, now = swept.decision, swept.at
    unknown = [f"{each.subject} is unknown: {each.reason}" for each in decision.findings if each.rule == "unknown"]
    return [
        *unknown,
        *(_held(each, now) for each in decision.held),
        *(_waiting(each, now) for each in decision.waiting),
    ]


def _done(swept: Swept) -> Iterator[Text]:
    for outcome in swept.outcomes:
        came_to = "" if outcome.result is Result.DONE else f"; {outcome.result.value}: {_came_to(outcome)}"
        style = "red" if outcome.result is Result.FAILED else ""
        yield Text(f"{verb(outcome.action)} {subject(outcome.action)}: {outcome.action.reason}{came_to}", style=style)


def _came_to(outcome: Outcome) -> str:
    """Google's own words on a create are long, and belong to the VM's story."""
    if outcome.trouble is None:
        return outcome.text
    return f"{outcome.trouble.value} (`./tidepool why {subject(outcome.action)}`)"


def _standing(swept: Swept) -> Iterator[Text]:
    decision, now = swept.decision, swept.at
    yield from (Text(f"held {_held(each, now)}", style="yellow") for each in decision.held)
    yield from (Text(f"waiting {_waiting(each, now)}", style="dim") for each in decision.waiting)
    for finding in decision.findings:
        yield Text(f"stands {finding.subject}: {finding.reason} (since {clock(finding.since, now)})", style="dim")


def _held(held: Held, now: datetime) -> str:
    until = f" until {due(held.until, now)}" if held.until else ""
    return f"{verb(held.action)} {subject(held.action)}: {held.why}{until}; {held.action.reason}"


def _waiting(waiting: Waiting, now: datetime) -> str:
    until = f" (until {due(waiting.until, now)})" if waiting.until else ""
    return f"{waiting.subject}: {waiting.reason}{until}"
