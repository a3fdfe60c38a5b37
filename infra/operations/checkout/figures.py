"""What measured commands cost, beside the official engine: a table, ratios, and what one more VM adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from infra.preview.toned import Shown, text_table

START_LIMIT: Final = 0.25
"""Seconds of processor time that the start of a command without engine and cloud may take, on an idle machine."""
OFFICIAL: dict[tuple[str, int], tuple[float, float | None]] = {
    ("preview", 10): (2.1, 480), ("up", 10): (1.8, None), ("preview again", 10): (1.6, None),
    ("preview", 100): (2.7, 580), ("up", 100): (5.9, 610), ("preview again", 100): (3.2, None),
    ("preview", 1000): (13.7, 820), ("up", 1000): (340.0, 1850), ("preview again", 1000): (20.2, 970),
    ("preview", 3000): (46.5, 1260), ("preview again", 3000): (72.0, 1750),
}  # fmt: skip
"""Seconds and peak MB of the official engine, for the same case and number of VMs.

Measured with the official CLI 3.259 and the official Google provider, file backend, 2 cores, Python SDK 3.272, against
a server that answers TPU calls at once; its `up` of 3,000 was not done after 540 s."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured run. `peak_mb` is the largest resident size of the command's process, in 10^6 bytes."""

    case: str
    vms: int
    engine: str
    seconds: float
    cpu_seconds: float
    peak_mb: float

    @property
    def per_vm_ms(self) -> float:
        """Wall milliseconds a VM, start included."""
        return 1000 * self.seconds / self.vms


def beside(figure: Figure, measured: dict[tuple[str, int], Figure]) -> tuple[float | None, float | None]:
    """The official engine's seconds and peak MB for the same case: measured side by side, else published."""
    if figure.engine == "pulumi":
        return None, None
    if other := measured.get((figure.case, figure.vms)):
        return other.seconds, other.peak_mb
    return OFFICIAL.get((figure.case, figure.vms), (None, None))


def ratio(ours: float, theirs: float | None) -> str:
    return "" if theirs is None else f"{ours / theirs:.2f}"


def figures_shown(measured: Sequence[Figure]) -> Iterator[Shown]:
    """The figures as a table, with what they are compared with."""
    official = {(figure.case, figure.vms): figure for figure in measured if figure.engine == "pulumi"}
    counted = ("VMs", "seconds", "CPU s", "peak MB", "ms/VM", "time ratio", "memory ratio")
    rows = (cells(figure, official) for figure in measured)
    yield replace(text_table(("case", "engine", *counted), rows, right=counted), caption="Previews and applies")
    source = "measured beside it" if official else "published figures (CLI 3.259, 2 cores)"
    yield f"Ratios are to the official engine, {source}; below 1 is faster or smaller."
    yield growth(measured)


def starts_shown(measured: Sequence[Figure]) -> Iterator[Shown]:
    """Starts of commands as a table, and which of them are over the limit."""
    counted = ("seconds", "CPU s", "peak MB")
    rows = ((each.case, f"{each.seconds:.2f}", f"{each.cpu_seconds:.2f}", f"{each.peak_mb:.0f}") for each in measured)
    yield text_table(("command", *counted), rows, right=counted)
    over = [each.case for each in measured if each.cpu_seconds > START_LIMIT]
    said = f"over it: {', '.join(over)}" if over else "all are within it"
    yield f"A start may take {START_LIMIT} s of processor time; {said}."


def cells(figure: Figure, official: dict[tuple[str, int], Figure]) -> tuple[str, ...]:
    """A figure in a table: case, engine, VMs, seconds, CPU seconds, peak MB, ms a VM, and two ratios."""
    seconds, peak = beside(figure, official)
    costs = f"{figure.seconds:.2f}", f"{figure.cpu_seconds:.2f}", f"{figure.peak_mb:.0f}", f"{figure.per_vm_ms:.1f}"
    ratios = ratio(figure.seconds, seconds), ratio(figure.peak_mb, peak)
    return figure.case, figure.engine, f"{figure.vms:,}", *costs, *ratios


def growth(figures: Sequence[Figure]) -> str:
    """What one more VM costs in CPU at large sizes against what it costs at small ones: 1.0 is linear.

    Both leave out the start, which is the same at every size.
    """
    lines = []
    for case in ("preview", "up", "preview again"):
        mine = {figure.vms: figure for figure in figures if figure.case == case and figure.engine == "local"}
        sizes = sorted(mine)
        if len(sizes) > 2:
            first, largest = sizes[0], sizes[-1]
            middle = min(sizes[1:-1], key=lambda size: abs(size - largest / 10))
            early, late = slope(mine[first], mine[middle]), slope(mine[middle], mine[largest])
            lines.append(
                f"{case}: one more VM costs {late:.1f} ms of CPU up to {largest:,}, {early:.1f} ms up to {middle:,}: "
                f"{late / early:.2f} times"
            )
    return "\n".join(lines)


def slope(small: Figure, large: Figure) -> float:
    """Milliseconds of CPU that one more VM costs between two sizes."""
    return 1000 * (large.cpu_seconds - small.cpu_seconds) / (large.vms - small.vms)
