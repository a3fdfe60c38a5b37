"""A stack with every section, from a reading with mistakes: what is not valid is taken as it was before.

Owns that one guess, so that a mistake in one line does not look like the loss of a pool: the mistake is a finding, and
everything beside it can still be explained. A new pool with a mistake is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from infra.model.partial import STAND_INS
from infra.model.schema import Bucket, StackConfig
from infra.model.stack import Reading


def whole(reading: Reading, earlier: StackConfig | None = None) -> StackConfig:
    """The stack that a reading declares; `earlier` is what it was before, for the parts that are not valid."""
    parts, values = reading.parts, {}
    for section in parts.refused:
        if section in parts.places:
            items = dict(parts.items(section))
            values[section] = tuple(_items(items, reading.raw[section], getattr(earlier, section, ())))
        elif earlier is not None:
            values[section] = getattr(earlier, section)
    pools = {pool.name: pool for pool in reversed(values.get("pools", parts.config.pools))}
    values["pools"] = tuple(reversed(pools.values()))  # two pools of one name would claim the same VMs
    return parts.config.model_copy(update=values)


def _items(valid: Mapping[int, Any], given: Sequence[object], earlier: Sequence[BaseModel]) -> Iterator[Any]:
    """The valid items, and for each other one what it was: the one of its name, or else of its place."""
    named = {getattr(each, "name", index): each for index, each in enumerate(earlier)}
    taken = {getattr(each, "name", index) for index, each in valid.items()}
    for index, raw in enumerate(given):
        name = raw.get("name") if isinstance(raw, Mapping) else None
        here = getattr(earlier[index], "name", index) if index < len(earlier) else None
        key = name if isinstance(name, str) and name in named else here
        if index in valid:
            yield valid[index]
        elif key in named and key not in taken:
            taken.add(key)
            yield named[key]


def gone(config: StackConfig) -> StackConfig:
    """The same stack with nothing in it: what a stack is before it exists and after it is removed."""
    fields = StackConfig.model_fields.items()
    defaults = {
        name: field.get_default(call_default_factory=True, validated_data={})
        for name, field in fields
        if not field.is_required()
    }
    return config.model_copy(update=defaults)


def nothing_but(*, stack: str, project: str, bucket: str) -> StackConfig:
    """A stack of which only this is known."""
    known = {"project": project, "bucket": Bucket.model_construct(name=bucket, location="us")}
    return StackConfig.model_validate({**STAND_INS, "stack": stack}).model_copy(update=known)
