"""A job's matrix, counted when it is built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workflows.builders.expression import Expression
from workflows.builders.step import Complaint
from workflows.legs import MOST_LEGS, Leg, legs_if_any

Cell = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Axes and what is added and left out; or, `computed`, a matrix that an earlier job puts out as JSON."""

    axes: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    include: Sequence[Mapping[str, Cell]] = ()
    exclude: Sequence[Mapping[str, Cell]] = ()
    computed: Expression | None = None
    fail_fast: bool = False
    max_parallel: int | None = None

    def legs(self) -> tuple[Leg, ...]:
        """The legs, which are not known of a computed matrix and none of an empty one: ()."""
        return legs_if_any(self._matrix())

    def _matrix(self) -> dict[str, Any]:
        written: dict[str, Any] = {name: list(values) for name, values in self.axes.items()}
        if self.include:
            written["include"] = [dict(leg) for leg in self.include]
        if self.exclude:
            written["exclude"] = [dict(leg) for leg in self.exclude]
        return written

    def keys(self) -> frozenset[str] | None:
        """The names of the values of its legs; None of a computed matrix."""
        return None if self.computed else frozenset().union(self.axes, *self.include)

    def reads(self) -> frozenset[str]:
        return self.computed.reads if self.computed else frozenset()

    def plain(self) -> dict[str, Any]:
        parallel = {} if self.max_parallel is None else {"max-parallel": self.max_parallel}
        matrix = self._matrix() if self.computed is None else str(self.computed)
        return {"fail-fast": self.fail_fast, **parallel, "matrix": matrix}

    def complaints(self) -> Iterator[Complaint]:
        if self.computed is not None:
            if self.axes or self.include or self.exclude:
                yield str(self.computed), "a computed matrix is the whole matrix", "axes, or computed"
        elif named := self.axes.keys() & {"include", "exclude"}:
            yield ", ".join(sorted(named)), "include and exclude are no axes", "Matrix(include=...)"
        else:
            yield from self._counted()
        if self.max_parallel is not None and self.max_parallel < 1:
            yield f"max-parallel {self.max_parallel}", "at least one leg runs at a time", "max_parallel=1"

    def _counted(self) -> Iterator[Complaint]:
        count = len(self.legs())
        if not count:
            yield "a matrix without legs", "a matrix makes at least one job", "an axis with values, or include"
        if count > MOST_LEGS:
            yield f"{count} legs", f"GitHub makes at most {MOST_LEGS} jobs of a matrix", "fewer values, or two jobs"
        for name, values in self.axes.items():
            if len(set(map(str, values))) < len(values):
                yield f"{name}: {', '.join(map(str, values))}", "a value of an axis stands once", "each value once"
        for leg in self.exclude:
            if not leg.keys() <= self.axes.keys():
                unknown = ", ".join(sorted(leg.keys() - self.axes.keys()))
                yield unknown, "exclude names axes alone, or it leaves nothing out", ", ".join(self.axes)
