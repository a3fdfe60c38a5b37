"""`./tidepool bench`: what explanations, previews and applies cost, in figures and ratios.

What is measured is `infra.operations.checkout.bench`. Nothing here judges: a benchmark prints, a test asserts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.table import Table

from infra.cli.echo import echo
from infra.cli.render.console import people, show
from infra.operations.checkout.bench import SIZES, Figure, beside, figures, growth, ratio


@click.command(name="bench", short_help="Measure previews and applies at several sizes of fleet.")
@click.option("--size", "sizes", type=int, multiple=True, default=SIZES, show_default=True, help="VMs in the fleet.")
@click.option("--runs", default=3, show_default=True, help="Runs of the cold cases; the median counts.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def command(*, sizes: Sequence[int], runs: int, as_json: bool) -> None:
    """Print what explanations, previews and applies cost: seconds, CPU seconds, peak memory, cost per VM, and ratios.

    Where the pulumi CLI is on PATH it runs side by side; else its published figures stand in for it.
    """
    measured = list(figures(sizes, runs))
    if as_json:
        echo(json.dumps({"figures": [asdict(figure) for figure in measured]}, indent=2))
    else:
        report(measured)


def report(found: Sequence[Figure]) -> None:
    console = people()
    measured = {(figure.case, figure.vms): figure for figure in found if figure.engine == "pulumi"}
    table = Table(title="Previews and applies", box=None, pad_edge=False)
    for column in ("case", "engine"):
        table.add_column(column)
    for column in ("VMs", "seconds", "CPU s", "peak MB", "ms/VM", "time ratio", "memory ratio"):
        table.add_column(column, justify="right")
    for figure in found:
        seconds, peak = beside(figure, measured)
        table.add_row(
            figure.case,
            figure.engine,
            f"{figure.vms:,}",
            f"{figure.seconds:.2f}",
            f"{figure.cpu_seconds:.2f}",
            f"{figure.peak_mb:.0f}",
            f"{figure.per_vm_ms:.1f}",
            ratio(figure.seconds, seconds),
            ratio(figure.peak_mb, peak),
        )
    show(console, table)
    source = "measured beside it" if measured else "published figures (CLI 3.259, 2 cores)"
    console.print(f"Ratios are to the official engine, {source}; below 1 is faster or smaller.")
    console.print(growth(found))
