"""Work in progress, on a terminal counts and below them a row per resource that is working, elsewhere a line a kind.

A `Progress` is a watch for an operation. Failed resources and remarks are printed when they come, above the rows, and
stay; an error that is no resource's is told at the end, with the outcome. A phase ends with a line of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from infra.cli.render.console import is_live, say
from infra.model.plan import Event, PhaseBegun, Plan, Status, Step, StepEnded, StepStarted
from infra.model.planned_capacity import holds_slices
from infra.preview import plan_lines, run_lines, words

MARGIN_ROWS = 4
"""Terminal rows kept free of working resources: the counts, what is hidden, and the prompt's own."""
MOST_ROWS = 16
"""Working resources that are shown at once, so that the plan above stays in sight."""


@dataclass(frozen=True, slots=True)
class _Working:
    step: Step
    since: float


class Progress:
    """Shows an engine at work; hand it to the operation, which enters it.

    plan: what it will do, None where that is not known. total: how many resources it will work on, where they are not
    the plan's changes. lines: whether what is done is told where there is no terminal to draw on. quiet: failures and
    warnings alone are told.
    """

    def __init__(
        self, console: Console, plan: Plan | None = None, *, total: int | None = None, lines: bool = True,
        quiet: bool = False, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._console = console
        planned = sum(step.changes for step in plan.steps) if plan else None
        self._counts = run_lines.Counts(planned if total is None else total)
        self._heard = plan.diagnostics if plan else ()
        self._quiet = quiet
        self._tally = run_lines.Tally(plan) if lines and not quiet and not is_live(console) else None
        self._clock = clock
        self._begun = clock()
        self._over: float | None = None
        self._working: dict[str, _Working] = {}
        self._lock = Lock()
        self._live = Live(console=console, get_renderable=self.frame, refresh_per_second=8, transient=True)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if is_live(self._console) and not self._quiet:
            self._stack.enter_context(self._live)
        self._begun = self._clock()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._over = self._clock()
        if self._tally:
            say(self._console, *self._tally.rest())
        say(self._console, *self._counts.end_phase(self.seconds))

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            with self._lock:
                self._working[event.step.urn] = _Working(event.step, self._clock())
        elif isinstance(event, StepEnded):
            self._end(event.step)
        elif event.severity == "warning" or (event.severity == "info" and not self._quiet):
            if isinstance(event, PhaseBegun):
                say(self._console, *self._counts.begin(event, self.seconds))
            if event not in self._heard:
                say(self._console, plan_lines.remark(event))

    @property
    def seconds(self) -> float:
        """Since it was entered; until it was left."""
        return (self._clock() if self._over is None else self._over) - self._begun

    def frame(self) -> Group:
        """What the terminal shows now: counts first, so that they stay where there are more rows than it has."""
        with self._lock:
            working = sorted(self._working.values(), key=lambda each: not holds_slices(each.step))
            counts = self._counts.said(self.seconds, len(working))
        counts.truncate(self._console.width, overflow="ellipsis")
        room = max(min(self._console.height - MARGIN_ROWS, MOST_ROWS), 1)
        rows = Table.grid(padding=(0, 2))
        now = self._clock()
        for each in working[:room]:
            rows.add_row(
                Text(f"  {words.WORDS[each.step.op][0]}", style=plan_lines.STYLES[each.step.op], no_wrap=True),
                Text(each.step.name, overflow="ellipsis", no_wrap=True),
                Text(words.short_type(each.step.type), style="dim", overflow="ellipsis", no_wrap=True),
                Text(f"{now - each.since:.0f} s", justify="right", no_wrap=True),
            )
        hidden = len(working) - room
        more = [Text(f"  and {hidden} more at work", style="dim")] if hidden > 0 else []
        return Group(counts, rows, *more)

    def _end(self, step: Step) -> None:
        with self._lock:
            self._working.pop(step.urn, None)
            if not step.changes:
                return
            self._counts.end(step)
        if step.status is Status.FAILED:
            say(self._console, Text(f"FAILED {step.op.value} {step.name}: {step.error}", style="bold red"))
        if self._tally:
            say(self._console, *self._tally.told(step, self._counts.said(self.seconds)))
