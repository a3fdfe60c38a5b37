"""US dollars of which a part may be unknown: a sum with an unknown part is unknown itself, whoever adds it up.

Owns the arithmetic, the spelling for people, and the JSON form: a number, or null where a part is unknown. Does not own
prices (catalogue).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

UNKNOWN: Final = "?"
_CENT: Final = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Dollars:
    """A known part, and how much of what is unknown: chip-hours by price, or 1 of something that nobody measured.

    Equal unknown parts cancel in a difference, so that an edit beside them still has a known cost.
    """

    known: Decimal = Decimal(0)
    unknown: tuple[tuple[str, Decimal], ...] = ()

    @classmethod
    def of(cls, known: Decimal, unknown: Mapping[str, Decimal]) -> Dollars:
        return cls(known, tuple(sorted((what, amount) for what, amount in unknown.items() if amount)))

    @classmethod
    def missing(cls, what: str, amount: Decimal = Decimal(1)) -> Dollars:
        """An unknown amount. what: its reason for people, such as `v5p flex-start in us-east5-a has no list price`."""
        return cls.of(Decimal(0), {what: amount})

    @property
    def exact(self) -> Decimal | None:
        """The amount; None where a part is unknown."""
        return None if self.unknown else self.known

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is unknown."""
        return tuple(what for what, _ in self.unknown)

    def over(self, limit: Decimal) -> bool | None:
        """Whether it is more than a limit; None where the known part is not, and the unknown part may be."""
        return True if self.known > limit else None if self.unknown else False

    def __add__(self, other: Dollars) -> Dollars:
        unknown = dict(self.unknown)
        for what, amount in other.unknown:
            unknown[what] = unknown.get(what, Decimal(0)) + amount
        return Dollars.of(self.known + other.known, unknown)

    def __sub__(self, other: Dollars) -> Dollars:
        return self + other * Decimal(-1)

    def __mul__(self, factor: Decimal) -> Dollars:
        return Dollars.of(self.known * factor, {what: amount * factor for what, amount in self.unknown})

    def __truediv__(self, divisor: Decimal) -> Dollars:
        return Dollars.of(self.known / divisor, {what: amount / divisor for what, amount in self.unknown})

    @property
    def cents(self) -> Dollars:
        """The same in whole cents."""
        return Dollars(self.known.quantize(_CENT, ROUND_HALF_UP), self.unknown)

    def __format__(self, spec: str) -> str:
        """`$1,234.50`; `?` where all of it is unknown, `$1,234.50 + ?` where a part is. spec: of a number, `,.2f`."""
        said = f"{'-' if self.known < 0 else ''}${abs(self.known):{spec or ',.2f'}}"
        if not self.unknown:
            return said
        return f"{said} + {UNKNOWN}" if self.known else UNKNOWN

    def __str__(self) -> str:
        return format(self, "")

    def to_json(self) -> Any:
        return None if self.unknown else float(self.known)


NOTHING: Final = Dollars()


def dearest(choices: Iterable[Dollars]) -> Dollars:
    """The most that any of several amounts comes to; one that is unknown may be it."""
    found = list(choices)
    unknown = {what: max(amount, Decimal(0)) for each in found for what, amount in each.unknown}
    return Dollars.of(max((each.known for each in found), default=Decimal(0)), unknown)
