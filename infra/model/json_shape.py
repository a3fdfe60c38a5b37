"""Frozen shapes as JSON: what `--json` prints of a dataclass.

Owns how a value looks there. Does not own what stands on disk between two runs, which pydantic reads and checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from operator import attrgetter
from typing import Any, ClassVar


def _camel(name: str) -> str:
    from pydantic.alias_generators import to_camel  # loads pydantic, which `--help` does without

    return to_camel(name)


def plain(value: Any) -> Any:
    """A value as JSON has it: dates as ISO texts, a Decimal as the nearest number, anything in several as a list.

    Whatever says itself how it is told is told so.
    """
    if callable(tell := getattr(value, "to_json", None)):
        return tell()
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping) or hasattr(type(value), "model_fields"):  # a model of pydantic's
        return {str(key): plain(each) for key, each in dict(value).items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def told(shape: Any) -> dict[str, Any]:
    """What a shape tells, without what its own `to_json` may make of it."""
    body: dict[str, Any] = {}
    for said in shape.JSON or [each.name for each in fields(shape)]:
        key, _, path = said.rpartition("=")
        value = plain(attrgetter(path.removesuffix(".*"))(shape))
        body |= value if path.endswith(".*") else {key or shape.JSON_KEY(path.rpartition(".")[2]): value}
    return body


class JsonShape:
    """A dataclass that tells itself as JSON.

    JSON: fields and properties in the order in which they are told; empty for the fields, all of them. One of what a
    field holds is told by its path (`place.zone`), another key stands before it (`account=wanted.deployer`), and `.*`
    behind it tells what it has in its own place.
    """

    __slots__ = ()
    JSON: ClassVar[tuple[str, ...]] = ()
    JSON_KEY: ClassVar[Callable[[str], str]] = str

    def to_json(self) -> dict[str, Any]:
        return told(self)


class CamelShape(JsonShape):
    """One whose keys are told as `heldElsewhere`."""

    __slots__ = ()
    JSON_KEY = staticmethod(_camel)
