"""What one property of a resource type is: its kind, what a change of it means, and where it stands on the wire.

Owns the vocabulary that the tables of types are written in. Does not own what is done with it: `check` validates,
`differ` compares, `codec` translates to and from the REST bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from bench.engine.provider import UNKNOWN


class Shape(StrEnum):
    """The shape of a property's value."""

    TEXT = "string"
    WHOLE = "integer"
    REAL = "number"
    FLAG = "boolean"
    TEXTS = "list of strings"
    REALS = "list of numbers"
    TABLE = "map of strings"
    BLOCK = "object"
    BLOCKS = "list of objects"


JsonObject = dict[str, Any]
"""Properties of a resource, or a body, by name."""

Given = Mapping[str, Any]
"""The same of somebody else's, not to be changed."""

Compare = Callable[[Any, Any], bool]
"""Something that holds between an old and a new value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One property.

    wire: dotted path in the REST body, the property's own name where empty; `.` for a block whose properties stand
        beside those of the block that it is in.
    required: must be given. replaces: a change makes a new resource.
    server: the service fills it in where it is not given, so that leaving it out is never a difference.
    default: what the provider fills in where it is not given; false, 0 and an empty text are never filled in.
    replaces_when: of an old and a new value, whether this change makes a new resource.
    same: of an old and a new value, whether they are two spellings of one (`30d` and `2592000s`), or differ by what
        means nothing; a value that is not there is told as its kind's zero.
    unordered: a list whose order means nothing.
    unread: sent, but never shown by the service: the state keeps what was sent.
    local: never in the body; the provider itself or a path uses it. computed: only the service sets it.
    always: sent whatever it is, as its kind's zero where it is not given, once its block says anything; elsewhere
        false, 0, empty texts and empty lists are left out. keeps_empty: sent where it is given, whatever it is.
    shown, stored: how the state has what the service says, and what the program says. unsaid: what a value that the
        service does not mention reads as, where that is not its kind's zero.
    wire_text: a number that stands as text in JSON (int64). spelled: how the service wants the value written. tidied:
        how it stands in paths (`bucket` without `b/`).
    keyed: a list that is a map on the wire, by this property of its elements.
    inner: the properties of a block.
    """

    kind: Shape
    wire: str = ""
    required: bool = False
    replaces: bool = False
    server: bool = False
    default: Any = None
    replaces_when: Compare | None = None
    same: Compare | None = None
    unordered: bool = False
    unread: bool = False
    local: bool = False
    computed: bool = False
    always: bool = False
    keeps_empty: bool = False
    wire_text: bool = False
    shown: Callable[[Any], Any] | None = None
    stored: Callable[[Any], Any] | None = None
    spelled: Callable[[Any], Any] | None = None
    tidied: Callable[[str], str] | None = None
    unsaid: str = ""
    keyed: str = ""
    inner: Fields = field(default_factory=dict)

    @property
    def zero(self) -> Any:
        """What a value that the service does not mention reads as."""
        return self.unsaid or _ZEROS[self.kind]()

    def is_same(self, old: Any, new: Any) -> bool:
        """Whether the change from one value to the other means nothing."""
        if self.same is None or new is UNKNOWN:
            return False
        return self.same(self.zero if old is None else old, self.zero if new is None else new)


Fields = Mapping[str, Field]

_ZEROS: Final[Mapping[Shape, Callable[[], Any]]] = MappingProxyType(
    {
        Shape.TEXT: str,
        Shape.WHOLE: int,
        Shape.REAL: float,
        Shape.FLAG: bool,
        Shape.TEXTS: list,
        Shape.REALS: list,
        Shape.TABLE: dict,
        Shape.BLOCK: lambda: None,
        Shape.BLOCKS: list,
    }
)


def is_empty(value: Any) -> bool:
    """Whether a value says nothing: absent, false, zero, or without content. An object that is there says something."""
    return value is None or value is False or (isinstance(value, (str, int, float, list)) and not value) or value == {}
