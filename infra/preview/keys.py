"""Every key of a stack file that an edit changes, with what it was and what it becomes, whatever else is told of it.

Owns how a stack is flattened into keys. Items of a list go by their name, where they have one, so that a pool that
moves in the file is no change; what is added or removed as a whole is one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from infra.model.schema import StackConfig
from infra.preview.meaning import KeyChange, Words

_NAMES = ("name", "repository", "rule")
_IS_THERE = "declared"
_LONGEST = 120
"""Characters of what an item says; one that says more is only called declared."""


def key_changes(before: StackConfig, after: StackConfig) -> tuple[KeyChange, ...]:
    """Sorted as a file has them; nothing where both say the same."""
    return tuple(_differences("", before, after))


def _differences(key: str, before: Any, after: Any) -> Iterator[KeyChange]:
    if before == after:
        return
    was, becomes = _parts(before), _parts(after)
    if was is None or becomes is None:
        yield KeyChange(key=key, value=Words(_shown(before), _shown(after)))
        return
    for part in dict.fromkeys((*was, *becomes)):
        where = f"{key}{part}" if key else part.lstrip(".")
        if part in was and part in becomes:
            yield from _differences(where, was[part], becomes[part])
        else:
            yield KeyChange(key=where, value=Words(_shown(was.get(part)), _shown(becomes.get(part))))


def _parts(value: Any) -> dict[str, Any] | None:
    """What a value consists of, by its key below it; None for what is one value."""
    if isinstance(value, BaseModel):
        return {f".{name}": getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {f".{name}": each for name, each in value.items()}
    if isinstance(value, tuple) and all(isinstance(each, BaseModel) for each in value):
        return {f"[{_name(each, index)}]": each for index, each in enumerate(value)}
    return None


def _name(item: BaseModel, index: int) -> str:
    """Two rules may be excepted for several subjects each, so an exception's name has both."""
    own = [str(getattr(item, name)) for name in (*_NAMES, "subject") if hasattr(item, name)]
    return " ".join(own) or str(index)


def _shown(value: Any) -> str | None:
    """One value on a line; a section or item says what it consists of, or where that is long only that it is there."""
    if value is None:
        return None
    if isinstance(value, BaseModel):
        said = ", ".join(_leaves(value))
        return said if 0 < len(said) <= _LONGEST else _IS_THERE
    if isinstance(value, Mapping) or (isinstance(value, tuple) and value and _parts(value) is not None):
        return _IS_THERE
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _leaves(item: BaseModel) -> Iterator[str]:
    """Its keys with their values, as `zone us-west4-a`, those of what stands in it too."""
    for name in type(item).model_fields:
        value = getattr(item, name, None)
        if isinstance(value, BaseModel):
            yield from _leaves(value)
        elif value not in (None, (), {}):
            yield f"{name} {_shown(value)}"
