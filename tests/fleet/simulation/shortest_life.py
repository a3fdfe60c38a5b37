"""The few faults with which a life still breaks a promise: what people read of a seed that fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.fleet.simulation.fleet_faults import Fault
from tests.fleet.simulation.fleet_life import Life, live
from tests.fleet.simulation.promises import BrokenPromiseError

_REPLAYS = 80
"""Lives that shortening a life may take."""


def shortest(faults: Sequence[Fault], breaks: Callable[[Sequence[Fault]], bool]) -> list[Fault]:
    """Faults of which none can be left out without the promise being kept, as far as some replays tell."""
    kept, replays, size = list(faults), 0, max(1, len(faults) // 2)
    while size and replays < _REPLAYS:
        start = 0
        while start < len(kept) and replays < _REPLAYS:
            fewer = kept[:start] + kept[start + size :]
            replays += 1
            if breaks(fewer):
                kept = fewer
            else:
                start += size
        size //= 2
    return kept


def broken(seed: int, faults: Sequence[Fault]) -> str:
    """What a life breaks, empty where it keeps all promises."""
    try:
        live(seed, faults)
    except BrokenPromiseError as said:
        return str(said)
    return ""


def lives_well(seed: int, faults: Sequence[Fault]) -> Life:
    """A life with these faults. Raises AssertionError with the shortest life where it breaks a promise."""
    try:
        return live(seed, faults)
    except BrokenPromiseError:
        few = shortest(faults, lambda fewer: bool(broken(seed, fewer)))
    told = "\n".join(f"  {fault}" for fault in few)
    raise AssertionError(f"seed {seed}; these faults are enough:\n{told}\n{broken(seed, few)}")
