"""The days ahead of stacks, of their files alone: no cloud is asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time

from infra.model.stack import load_stack, stack_names
from infra.model.week import Week, week
from infra.operations.workspace import workspace


def calendar(stacks: Sequence[str], day: date) -> Week:
    """Seven days of those stacks, of all where none is named, from the beginning of a day in UTC.

    ConfigError with every problem of a file that is not right.
    """
    root = workspace().root
    begin = datetime.combine(day, time(), UTC)
    every = {name: load_stack(root, name) for name in sorted({*stack_names(root), *stacks})}
    shown = {name: every.pop(name) for name in stacks or tuple(every)}
    return week(tuple(shown.values()), begin, others=tuple(every.values()))


def calendar_picture(found: Week) -> str:
    """The same as an SVG."""
    from infra.pages.calendar import calendar_svg  # its packages are installed for this command, and load for a second

    return calendar_svg(found)
