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


def show_plan(console: Console, plan: Plan) -> None:
    say(console, *plan_lines.describe(plan, console.width))


def show_planned(console: Console, planned: Planned) -> None:
    """All but what the rules say of it."""
    show_plan(console, planned.plan)
    if planned.phases is not None:
        say(console, *stack_words.away_lines(planned), *plan_lines.describe_phases(planned.phases))
