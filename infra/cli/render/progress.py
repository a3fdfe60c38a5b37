"""Work in progress, on a terminal a row per resource that is working, elsewhere a line each; and what a run came to.

A `Progress` is a watch for an operation. Failed resources and remarks are printed when they come, above the rows, and
stay; an error that is no resource's is told at the end, with the outcome.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from infra.cli.render.console import is_live, say
from infra.model.plan import Diagnostic, Event, Status, Step, StepEnded, StepStarted
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

    total: how many resources it will work on, None where that is not known. heard: remarks that the plan has told.
    lines: whether each resource that is done gets a line where there is no terminal to draw on.
    """

    def __init__(
        self, console: Console, *, total: int | None = None, heard: Collection[Diagnostic] = (), lines: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._console = console
        self._total = total
        self._heard = heard
        self._lines = lines and not is_live(console)
        self._clock = clock
        self._begun = clock()
        self._over: float | None = None
        self._working: dict[str, _Working] = {}
        self._ended: Counter[Status] = Counter()
        self._lock = Lock()
        self._live = Live(console=console, get_renderable=self.frame, refresh_per_second=8, transient=True)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if is_live(self._console):
            self._stack.enter_context(self._live)
        self._begun = self._clock()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._over = self._clock()

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            with self._lock:
                self._working[event.step.urn] = _Working(event.step, self._clock())
        elif isinstance(event, StepEnded):
            self._end(event.step)
        elif event.severity in {"info", "warning"} and event not in self._heard:
            say(self._console, plan_lines.remark(event))

    @property
    def seconds(self) -> float:
        """Since it was entered; until it was left."""
        return (self._clock() if self._over is None else self._over) - self._begun

    def frame(self) -> Group:
        """What the terminal shows now."""
        with self._lock:
            working, ended = list(self._working.values()), Counter(self._ended)
        room = max(min(self._console.height - MARGIN_ROWS, MOST_ROWS), 1)
        rows = Table.grid(padding=(0, 2))
        now = self._clock()
        for each in working[:room]:
            rows.add_row(
                Text(f"  {words.WORDS[each.step.op][0]}", style=plan_lines.STYLES[each.step.op]),
                Text(each.step.name, overflow="fold"),
                Text(words.short_type(each.step.type), style="dim", no_wrap=True),
                Text(f"{now - each.since:.0f} s", justify="right"),
            )
        hidden = len(working) - room
        more = [Text(f"  and {hidden} more at work", style="dim")] if hidden > 0 else []
        return Group(rows, *more, self._counts(len(working), ended))

    def _counts(self, working: int, ended: Counter[Status]) -> Text:
        minutes, seconds = divmod(int(self.seconds), 60)
        total = "" if self._total is None else f"/{self._total}"
        line = Text(f"{ended[Status.DONE]}{total} done", style="bold")
        line.append(f", {working} at work, {minutes}:{seconds:02d}", style="")
        if ended[Status.FAILED]:
            line.append(f", {ended[Status.FAILED]} failed", style="bold red")
        return line

    def _end(self, step: Step) -> None:
        with self._lock:
            self._working.pop(step.urn, None)
            if not step.changes:
                return
            self._ended[step.status] += 1
        if step.status is Status.FAILED:
            say(self._console, Text(f"FAILED {step.op.value} {step.name}: {step.error}", style="bold red"))
        elif self._lines:
            say(self._console, run_lines.step_line(step))
