"""The pools of a stack for people: what each is, how its VMs stand, and where the registries are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.render.console import say, show
from infra.operations.stacks.pools import READY, PoolState


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
    return "yellow" if READY in pool.states else "red"
