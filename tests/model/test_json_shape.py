"""A shape tells its fields in their order, or the names that it lists, as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from infra.model.json_shape import CamelShape, JsonShape, plain, told


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Inner(JsonShape):
    first_one: int
    second: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed(CamelShape):
    JSON = ("held_elsewhere", "doubled", "inner")

    hidden: str
    held_elsewhere: int
    inner: Inner

    @property
    def doubled(self) -> int:
        return 2 * self.held_elsewhere


@dataclass(frozen=True, slots=True)
class Own(JsonShape):
    value: int

    def to_json(self) -> dict[str, Any]:
        return told(self) | {"more": True}


@dataclass(frozen=True)
class Bare:
    shapes: Mapping[Colour, tuple[Own, ...]] = field(default_factory=dict)


def test_listed_names_are_told_in_that_order_properties_too_and_no_other() -> None:
    said = Listed("secret", 3, Inner(1)).to_json()
    assert list(said.items()) == [
        ("heldElsewhere", 3), ("doubled", 6), ("inner", {"first_one": 1, "second": []}),
    ]  # fmt: skip


def test_what_a_shape_says_of_itself_is_said_wherever_it_stands() -> None:
    assert plain(Bare({Colour.RED: (Own(1),)})) == {"shapes": {"red": [{"value": 1, "more": True}]}}


def test_values_that_json_lacks_become_those_that_it_has() -> None:
    value = MappingProxyType(
        {"at": datetime(2026, 11, 23, 8, tzinfo=UTC), "day": date(2026, 11, 23), "usd": Decimal("1.50")}
    )
    assert plain(value) == {"at": "2026-11-23T08:00:00+00:00", "day": "2026-11-23", "usd": 1.5}
    assert plain([None, True, Colour.RED]) == [None, True, "red"]
