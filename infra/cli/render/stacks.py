"""What an apply would do to a stack, what it came to, and how the stack stands then: its pools and its registries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.render.console import say, show
from infra.model.plan import Plan
from infra.preview.plan_lines import describe, describe_findings, describe_phases
from infra.preview.run_lines import outcome
from infra.rules.finding import Finding

if TYPE_CHECKING:  # they load engines and Google's clients, which a comment needs not
    from infra.operations.stacks.pools import GrantsSeen, PoolState
    from infra.operations.stacks.preview import Planned


def show_plan(console: Console, plan: Plan) -> None:
    for line in describe(plan, console.width):
        say(console, line)


def show_planned(console: Console, planned: Planned) -> None:
    """All but what the rules say of it."""
    show_plan(console, planned.plan)
    if planned.phases is None:
        return
    away = planned.away
    for vm in away.leaving:
        say(console, f"at a fallback: {vm}, where it is deleted")
    for vm in away.changing:
        say(console, f"at a fallback: {vm}, where it is changed")
    for vm in away.strays:
        say(console, f"neither declared nor in the state: {vm}, whose chips count while it stands")
    for line in describe_phases(planned.phases):
        say(console, line)


def show_findings(console: Console, findings: Iterable[Finding]) -> None:
    for line in describe_findings(findings):
        say(console, line)


def show_grants(console: Console, found: GrantsSeen) -> None:
    for grant in found.strange:
        say(console, Text(f"granted by hand: {grant.resource}: {grant.says}", style="bold red"))
    for why in found.unread:
        say(console, Text(f"not known: {why}", style="yellow"))


def grants_document(found: GrantsSeen) -> dict[str, Any]:
    return {"grants": {"strange": [each.to_json() for each in found.strange], "unread": list(found.unread)}}


def show_outcome(console: Console, run: Plan, seconds: float) -> None:
    for line in outcome(run, seconds):
        say(console, line)


def show_pools(console: Console, stack: str, pools: Sequence[PoolState]) -> None:
    """The table of pools, and below it what VMs that have ended need."""
    show(console, pools_table(pools))
    if ended := [name for pool in pools for name in pool.ended]:
        say(console, "")
        say(console, ended_line(stack, ended))


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


def ended_line(stack: str, names: Sequence[str]) -> Text:
    """What VMs that have ended mean, and the command that makes them again."""
    what = f"{names[0]} gives" if len(names) == 1 else f"{len(names)} VMs give"
    again = "it" if len(names) == 1 else "them"
    return Text(
        f"{what} no capacity until the controller makes {again} again, which up does not: ./tidepool reconcile {stack}",
        style="yellow",
    )


def registries_line(repositories: Mapping[str, Sequence[str]]) -> Text:
    """The regions that have registries, and the repositories in each."""
    names = sorted({name for region in repositories.values() for name in region})
    return Text.assemble(
        ("registries ", "bold"),
        f"in {len(repositories)} regions: {', '.join(repositories)} (each has {', '.join(names)})",
    )


def _style(pool: PoolState) -> str:
    if pool.is_ready:
        return "green"
    return "yellow" if pool.is_partly_ready else "red"
