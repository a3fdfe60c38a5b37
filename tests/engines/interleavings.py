"""What may befall a small fleet, drawn from a seed, and where it must end: as declared, after one more `up`.

Owns the moves and their order. How an engine is run, killed and asked is the world's that plays them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, Protocol

Verb = Literal["declare", "up", "kill", "stockout", "sweep", "refresh"]

ACCELERATORS: Final = ("v5litepod-4", "v5litepod-8")
MOST_VMS: Final = 4
_WEIGHTS: Final[dict[Verb, int]] = {"declare": 4, "up": 3, "kill": 5, "stockout": 2, "sweep": 3, "refresh": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One thing that happens. count, accelerator: of `declare`. at: of `kill` and `stockout`, from 0 to 1: how far the
    `up` comes, and how many creates find no capacity."""

    verb: Verb
    count: int = 0
    accelerator: str = ""
    at: float = 0.0

    def __str__(self) -> str:
        if self.verb == "declare":
            return f"declare {self.count} {self.accelerator}"
        return f"{self.verb} at {self.at:.3f}" if self.verb in {"kill", "stockout"} else self.verb


class Fleet(Protocol):
    """What plays moves. Each may fail as it likes: only `settle` must succeed."""

    def declare(self, count: int, accelerator: str) -> None: ...
    def up(self) -> object: ...
    def kill(self, at: float) -> object: ...
    def stockout(self, at: float) -> object: ...
    def sweep(self) -> object: ...
    def refresh(self) -> object: ...


def moves(seed: int, length: int) -> tuple[Move, ...]:
    """A sequence of so many moves, the same for the same seed; it begins with a declaration and ends with none open."""
    return tuple(_drawn(Random(f"interleaving {seed}"), length))


def play(fleet: Fleet, sequence: tuple[Move, ...]) -> None:
    for move in sequence:
        match move.verb:
            case "declare":
                fleet.declare(move.count, move.accelerator)
            case "kill":
                fleet.kill(move.at)
            case "stockout":
                fleet.stockout(move.at)
            case "up":
                fleet.up()
            case "sweep":
                fleet.sweep()
            case "refresh":
                fleet.refresh()


def _drawn(draw: Random, length: int) -> Iterator[Move]:
    verbs: list[Verb] = draw.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=length - 1)
    for verb in ("declare", *verbs):
        if verb == "declare":
            yield Move(verb=verb, count=draw.randint(1, MOST_VMS), accelerator=draw.choice(ACCELERATORS))
        else:
            yield Move(verb=verb, at=draw.random())
