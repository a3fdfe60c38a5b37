"""What an apply would do to a stack, what it came to, and how the stack stands then: its pools and its registries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.render.console import say, show
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
    strays = (f"neither declared nor in the state: {vm}, whose chips count while it stands" for vm in away.strays)
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
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_footer=True, header_style="bold")
    table.add_column("pool", overflow="fold", footer=Text("all pools", style="bold"))
    table.add_column("zone", no_wrap=True)
    table.add_column("accelerator", no_wrap=True)
    for title, total in (
        ("VMs", sum(pool.row.slices for pool in pools)),
        ("hosts", sum(pool.row.hosts for pool in pools)),
        ("chips", sum(pool.row.chips for pool in pools)),
    ):
        table.add_column(title, justify="right", no_wrap=True, footer=Text(str(total), style="bold"))
    table.add_column("state", overflow="fold")
    for pool in pools:
        row = pool.row
        counts = (str(row.slices), str(row.hosts), str(row.chips))
        table.add_row(row.pool, row.zone, row.accelerator, *counts, Text(str(pool) or "-", style=_style(pool)))
    return table


def _style(pool: PoolState) -> str:
    if pool.is_ready:
        return "green"
    return "yellow" if pool.is_partly_ready else "red"
