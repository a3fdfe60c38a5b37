"""What an apply would do to a stack, as lines that fit the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from infra.cli.render.console import say
from infra.model.plan import Plan
from infra.operations.stacks import stack_words
from infra.preview import plan_lines

if TYPE_CHECKING:  # it loads engines, which a comment needs not
    from infra.operations.stacks.preview import Planned


def show_plan(console: Console, plan: Plan, detail: str | None) -> None:
    """detail: a `plan_lines.Detail`, as text."""
    say(console, *plan_lines.describe(plan, console.width, plan_lines.Detail(detail or "folded")))


def show_planned(console: Console, planned: Planned, detail: str | None) -> None:
    """All but what the rules say of it."""
    show_plan(console, planned.plan, detail)
    if planned.phases is not None and detail != plan_lines.Detail.QUIET:
        say(console, *stack_words.away_lines(planned), *plan_lines.describe_phases(planned.phases))
