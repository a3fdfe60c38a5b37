"""A stack with every field, from a reading that may lack some: what could not be read is taken as it was before.

Nothing half valid leaves the model but by this. Owns that one guess, so that a mistake in one line does not look like
the loss of a pool: the mistake is a finding, and everything beside it can still be told. A new pool with a mistake in
what it is made of is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from infra.model.partial import has
from infra.model.schema import Bucket, Pool, StackConfig
from infra.model.stack import Reading

M = TypeVar("M", bound=BaseModel)

# For a new stack whose head has mistakes: none of these is shown, they only have to be the same everywhere.
_STAND_INS: dict[str, Any] = {
    "project": "not-known",
    "owner": "not-known",
    "bucket": Bucket.model_construct(name="not-known", location="us"),
}
_LISTS = ("slices", "batch", "groups", "reservations", "quotas", "mirrors", "secrets", "freezes", "exceptions")


def whole(reading: Reading, earlier: StackConfig | None = None) -> StackConfig:
    """The stack that a reading declares; `earlier` is what it was before, for the parts that cannot be read."""
    given = reading.partial
    if not reading.problems:
        return given
    values = {name: _value(given, name, earlier) for name in StackConfig.model_fields}
    for name in _LISTS:
        if (name,) not in reading.refused:
            values[name] = tuple(_items(values[name], getattr(earlier, name, ())))
    for name, value in values.items():
        if isinstance(value, BaseModel) and not _is_whole(value):
            values[name] = getattr(earlier, name) if earlier else _stand_in(StackConfig, name)
    if ("pools",) not in reading.refused:
        values["pools"] = tuple(_pools(reading, earlier))
    else:
        values["pools"] = earlier.pools if earlier else ()
    return StackConfig.model_construct(**values)


def _value(given: BaseModel, name: str, earlier: BaseModel | None) -> Any:
    if has(given, name):
        return getattr(given, name)
    return getattr(earlier, name) if earlier is not None else _stand_in(type(given), name)


def _stand_in(model: type[BaseModel], name: str) -> Any:
    return _STAND_INS[name] if name in _STAND_INS else _default(model, name)


def _default(model: type[BaseModel], name: str) -> Any:
    return model.model_fields[name].get_default(call_default_factory=True, validated_data={})


def _items(given: Sequence[M], earlier: Sequence[M]) -> Iterator[M]:
    """The items that are whole, and for each other one what it was: the one of its name, or else of its place."""
    for index, item in enumerate(given):
        if has(item, *type(item).model_fields):
            yield _without_gaps(item)
        elif (before := _earlier(item, index, given, earlier)) is not None:
            yield before


def _without_gaps(item: M) -> M:
    """The item without what could not be read in its lists."""
    gaps = {
        name: tuple(each for each in value if each is not None)
        for name, value in item.__dict__.items()
        if isinstance(value, tuple) and None in value
    }
    return item.model_copy(update=gaps) if gaps else item


def _earlier(item: BaseModel, index: int, given: Sequence[BaseModel], earlier: Sequence[M]) -> M | None:
    if "name" not in type(item).model_fields:
        return earlier[index] if index < len(earlier) else None
    named = {getattr(each, "name", None): each for each in earlier}
    if has(item, "name"):
        return named.get(getattr(item, "name", None))
    here = earlier[index] if index < len(earlier) else None
    taken = {getattr(each, "name", None) for each in given}
    return here if here is not None and getattr(here, "name", None) not in taken else None


def _is_whole(value: Any) -> bool:
    """Whether a section could be read with all that is in it."""
    if isinstance(value, BaseModel):
        return has(value, *type(value).model_fields) and all(map(_is_whole, value.__dict__.values()))
    return not isinstance(value, tuple) or all(each is not None and _is_whole(each) for each in value)


def _pools(reading: Reading, earlier: StackConfig | None) -> Iterator[Pool]:
    """Pools with every field, one of a name: two of one name would claim the same VMs."""
    seen: set[str] = set()
    for index, pool in enumerate(reading.partial.pools):
        before = _earlier(pool, index, reading.partial.pools, earlier.pools if earlier else ())
        made = _pool(pool, before, {path[3] for path in reading.refused if _is_count(path, index)})
        if made is not None and made.name not in seen:
            seen.add(made.name)
            yield made


def _is_count(path: tuple[str | int, ...], index: int) -> bool:
    return len(path) == 4 and path[:3] == ("pools", index, "zones")


def _pool(pool: Pool, earlier: Pool | None, wrong_counts: set[str | int]) -> Pool | None:
    values: dict[str, Any] = {}
    for name, field in Pool.model_fields.items():
        if has(pool, name):
            values[name] = getattr(pool, name)
        elif earlier is not None:
            values[name] = getattr(earlier, name)
        elif name == "label" and has(pool, "name"):
            values[name] = pool.name
        elif field.is_required() and field.default is PydanticUndefined:
            return None
        else:
            values[name] = field.get_default(call_default_factory=True, validated_data=values)
    values["fallback"] = tuple(_items(values["fallback"], earlier.fallback if earlier else ()))
    values["windows"] = tuple(_items(values["windows"], earlier.windows if earlier else ()))
    was = earlier.zones if earlier else {}
    zones = values["zones"].items()
    values["zones"] = {zone: was.get(zone, 0) if zone in wrong_counts else count for zone, count in zones}
    return _without_gaps(Pool.model_construct(**values))


def gone(config: StackConfig) -> StackConfig:
    """The same stack with nothing in it: what a stack is before it exists and after it is removed."""
    optional = (name for name, field in StackConfig.model_fields.items() if not field.is_required())
    return config.model_copy(update={name: _default(StackConfig, name) for name in optional})


def nothing_but(*, stack: str, project: str, bucket: str) -> StackConfig:
    """A stack of which only this is known."""
    values = {name: _stand_in(StackConfig, name) for name in StackConfig.model_fields if name != "stack"}
    known = {"project": project, "bucket": Bucket.model_construct(name=bucket, location="us")}
    return StackConfig.model_construct(None, **values | known, stack=stack)
