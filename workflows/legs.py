"""Which legs a matrix has: the product of its axes, less what is excluded, with what is included. And circles of needs.

Owns GitHub's rules for `exclude` and `include`: its page on the workflow syntax, and MatrixBuilder.cs in
https://github.com/actions/runner (read 2026-11-21), which compares as expressions do. Leaves the values of
expressions in a matrix to the caller.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set
from typing import Any

from workflows.expressions import equal

MOST_LEGS = 256
"""Jobs that one matrix may make."""

Leg = dict[str, Any]


class MatrixError(ValueError):
    """A matrix that GitHub makes no job of; says why."""


def legs(matrix: Mapping[str, Any]) -> tuple[Leg, ...]:
    """The legs of a matrix in plain data, in GitHub's order: the first axis changes slowest, further legs come last.

    MatrixError where an axis has no values, which fails the job at GitHub, or no axis and no leg is there at all.
    """
    axes = {name: values for name, values in matrix.items() if name not in {"include", "exclude"}}
    if empty := next((name for name, values in axes.items() if not values), ""):
        raise MatrixError(f"the axis {empty} of the matrix has no values")
    if not axes and not matrix.get("include"):
        raise MatrixError("the matrix has no axes")
    excluded: Sequence[Mapping[str, Any]] = matrix.get("exclude") or ()
    product = itertools.product(*axes.values()) if axes else ()
    original = [dict(zip(axes, values, strict=True)) for values in product]
    original = [leg for leg in original if not any(_within(part, leg) for part in excluded)]
    made = [dict(leg) for leg in original]
    further: list[Leg] = []
    for addition in matrix.get("include") or ():
        # What an earlier addition set may be overwritten; what the axes gave may not.
        shared = {name: value for name, value in addition.items() if name in axes}
        extended = [whole for leg, whole in zip(original, made, strict=True) if _within(shared, leg)]
        for whole in extended:
            whole.update(addition)
        if not extended:
            further.append(dict(addition))
    return (*made, *further)


def legs_if_any(matrix: Mapping[str, Any]) -> tuple[Leg, ...]:
    """The legs; () of a matrix that GitHub makes no job of."""
    try:
        return legs(matrix)
    except MatrixError:
        return ()


def _within(part: Any, whole: Any) -> bool:
    """Whether all that `part` says stands in `whole`, leaf by leaf; what `whole` lacks is null."""
    if isinstance(part, Mapping):
        held = whole if isinstance(whole, Mapping) else {}
        return all(_within(value, held.get(name)) for name, value in part.items())
    if isinstance(part, list | tuple):
        held = whole if isinstance(whole, list | tuple) else ()
        return all(_within(value, held[index] if index < len(held) else None) for index, value in enumerate(part))
    return equal(part, whole)


def circle(needs: Mapping[str, Set[str]]) -> dict[str, Set[str]]:
    """The jobs that can never start because they wait for one another, with what each still waits for; {} if none."""
    waiting = dict(needs)
    while free := {each for each, left in waiting.items() if not left}:
        waiting = {each: left - free for each, left in waiting.items() if each not in free}
    return waiting
