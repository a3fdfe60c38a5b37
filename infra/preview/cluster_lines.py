"""A cluster's nodes for people: a row for each entry of slices and each pool without chips, then what is amiss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra.model.cluster_state import MISSING, ClusterNow, NodesNow
from infra.preview.toned import Shown, TextTable, Tone, TonedLine, lines_toned, text_table, toned
from infra.preview.words import number

_LONGEST_NAME: Final = 13


def cluster_shown(cluster: ClusterNow) -> Iterator[Shown]:
    """After an empty line."""
    yield ""
    yield toned((f"cluster {cluster.name}", Tone.HEADING), f" in {cluster.region}: {cluster.state}")
    if cluster.state != MISSING:
        yield _table(cluster)
    yield from lines_toned(Tone.PROBLEM, cluster.troubles, indent=2)
    yield from lines_toned(Tone.WARNING, cluster.problems, indent=2)


def _table(cluster: ClusterNow) -> TextTable:
    """declared: slices where it is of slices, else nodes. zone: without the region, which all have alike."""
    figures = ("declared", "standing", "free", "ready")
    titles = ("nodes", "zone", "type", *figures, "node pools")
    # Names are broken only where states had no room beside them on 80 columns.
    broken = ("nodes",) if any(len(row.name) > _LONGEST_NAME for row in cluster.rows) else ()
    rows = ((row.name, _zones(row, cluster.region), row.kind, *_counts(row), _state(row)) for row in cluster.rows)
    return text_table(titles, rows, right=figures, folded=(*broken, "node pools"))


def _zones(row: NodesNow, region: str) -> str:
    return ", ".join(zone.removeprefix(f"{region}-") for zone in row.zones)


def _counts(row: NodesNow) -> tuple[str, str, str, str]:
    slices = row.slices
    declared = (slices.least, slices.most) if slices else (row.least, row.most)
    standing, free = (number(slices.standing), number(slices.free)) if slices else ("-", "-")
    return "-".join(map(str, dict.fromkeys(declared))), standing, free, f"{number(row.ready)}/{number(row.there)}"


def _state(row: NodesNow) -> TonedLine:
    """A line each, so that names of nodes are whole on 80 columns."""
    said = ",\n".join(f"{count} {state}" for state, count in sorted(row.pools.items()))
    tone = Tone.PROBLEM if any(row.troubles) else Tone.GOOD if row.known else Tone.WARNING
    return toned((said or "none declared", tone))
