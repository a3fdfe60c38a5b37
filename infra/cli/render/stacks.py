"""What an apply would do to a stack, what it came to, and how the stack stands then: its pools and its registries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.render.console import say, show, table
from infra.model.plan import Plan
from infra.preview.plan_lines import describe, describe_findings, describe_phases
from infra.preview.run_lines import ended_line
from infra.rules.finding import Finding

if TYPE_CHECKING:  # they load engines and Google's clients, which a comment needs not
    from infra.operations.stacks.pools import GrantsSeen, PoolState
    from infra.operations.stacks.preview import Planned


def show_plan(console: Console, plan: Plan) -> None:
    say(console, *describe(plan, console.width))


def show_planned(console: Console, planned: Planned) -> None:
    """All but what the rules say of it."""
    show_plan(console, planned.plan)
    if planned.phases is None:
        return
    away = planned.away
    say(console, *(f"at a fallback: {vm}, where it is deleted" for vm in away.leaving))
    say(console, *(f"at a fallback: {vm}, where it is changed" for vm in away.changing))
    strays = (f"{vm.whose}: {vm}, whose chips count while it stands" for vm in away.strays)
    say(console, *strays, *describe_phases(planned.phases))


def show_findings(console: Console, findings: Iterable[Finding]) -> None:
    say(console, *describe_findings(findings))


def show_grants(console: Console, found: GrantsSeen) -> None:
    said = ((f"granted by hand: {each.resource}: {each.says}", "bold red") for each in found.strange)
    unread = ((f"not known: {why}", "yellow") for why in found.unread)
    say(console, *(Text(line, style=style) for line, style in (*said, *unread)))


def show_pools(console: Console, stack: str, pools: Sequence[PoolState]) -> None:
    """The table of pools, and below it what VMs that have ended need."""
    show(console, pools_table(pools))
    if ended := [name for pool in pools for name in pool.ended]:
        say(console, "", ended_line(stack, ended))


def pools_table(pools: Sequence[PoolState]) -> Table:
    """One row a pool and zone, and their sum."""
    counted = ("VMs", "hosts", "chips")
    drawn = table("pool", "zone", "accelerator", *counted, "state", right=counted, folded=("pool", "state"))
    counts = [(pool.row.slices, pool.row.hosts, pool.row.chips) for pool in pools]
    drawn.show_footer = True
    for column, total in zip(drawn.columns[3:], map(sum, zip((0, 0, 0), *counts, strict=True)), strict=False):
        column.footer = Text(str(total), style="bold")
    drawn.columns[0].footer = Text("all pools", style="bold")
    for pool, numbers in zip(pools, counts, strict=True):
        row, state = pool.row, Text(str(pool) or "-", style=_style(pool))
        drawn.add_row(row.pool, row.zone, row.accelerator, *map(str, numbers), state)
    return drawn


def _style(pool: PoolState) -> str:
    if pool.is_ready:
        return "green"
    return "yellow" if pool.is_partly_ready else "red"
