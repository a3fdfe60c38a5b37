"""A cluster's nodes on a screen: a row for each entry of slices and each pool without chips, then what is amiss."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.render.console import indented, say, show, table
from infra.model.cluster_state import MISSING, ClusterNow, NodesNow
from infra.preview.words import number


def show_cluster(console: Console, cluster: ClusterNow) -> None:
    say(console, "")
    say(console, Text.assemble((f"cluster {cluster.name}", "bold"), f" in {cluster.region}: {cluster.state}"))
    if cluster.state != MISSING:
        show(console, _table(cluster))
    for trouble in cluster.troubles:
        indented(console, Text(trouble, style="red"))
    for problem in cluster.problems:
        indented(console, Text(problem, style="yellow"))


def _table(cluster: ClusterNow) -> Table:
    """declared: slices where it is of slices, else nodes. zone: without the region, which all have alike."""
    figures = ("declared", "standing", "free", "ready")
    drawn = table("nodes", "zone", "type", *figures, "node pools", right=figures, folded=("nodes", "node pools"))
    for row in cluster.rows:
        zones = ", ".join(zone.removeprefix(f"{cluster.region}-") for zone in row.zones)
        drawn.add_row(row.name, zones, row.kind, *_counts(row), _state(row))
    return drawn


def _counts(row: NodesNow) -> tuple[str, str, str, str]:
    slices = row.slices
    declared = (slices.least, slices.most) if slices else (row.least, row.most)
    standing, free = (number(slices.standing), number(slices.free)) if slices else ("-", "-")
    return "-".join(map(str, dict.fromkeys(declared))), standing, free, f"{number(row.ready)}/{number(row.there)}"


def _state(row: NodesNow) -> Text:
    said = ", ".join(f"{count} {state}" for state, count in sorted(row.pools.items()))
    style = "red" if any(row.troubles) else "green" if row.known else "yellow"
    return Text(said or "none declared", style=style)
