"""Property values: secrets, unknowns, and the two wire forms they take.

Owns the in-memory form (plain Python values, `UNKNOWN`, `Secret`), its translation from and to the protobuf Struct of
the SDK, and masking. Does not own the form in the state (`bench.engine.state`), property paths or diffs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from google.protobuf import struct_pb2 as _struct_pb2

from bench.engine.provider import UNKNOWN
from infra.model.errors import EngineError
from infra.model.secret_values import (
    MASK,
    SECRET_SIGNATURE,
    SIGNATURE,
    UNKNOWN_MASK,
    UNKNOWN_TEXT,
    UNKNOWN_TEXTS,
    Secret,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


class RefusedError(EngineError):
    """The program or the state asks for something that this engine does not know; the message names it."""


struct_pb2: Any = _struct_pb2
"""Its classes come into being at import, where no type checker sees them; so Struct and Value are `Any` here."""

_REFUSED = {
    "c44067f5952c0a294b673a41bacd8c17": "an asset",
    "0def7320c3a5731c473e5ecbe6d01bc7": "an archive",
    "5cf8f73096256a8f31e491e813e4eb8e": "a resource reference",
    "d0e6a833031e9bbcd3f4e8bde6ca49a4": "an output value",
}


def from_struct(struct: Any) -> dict[str, Any]:
    """The properties that the SDK sent."""
    return {key: from_value(value) for key, value in struct.fields.items()}


def from_value(value: Any) -> Any:
    """One property value that the SDK sent; whole numbers become int."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return UNKNOWN if text in UNKNOWN_TEXTS else text
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "struct_value":
        return _from_object(value.struct_value)
    if kind == "list_value":
        return [from_value(item) for item in value.list_value.values]
    return None


def _from_object(struct: Any) -> Any:
    if SIGNATURE not in struct.fields:
        return from_struct(struct)
    signature = struct.fields[SIGNATURE].string_value
    if signature == SECRET_SIGNATURE:
        return Secret(from_value(struct.fields["value"]))
    raise RefusedError(
        f"{_REFUSED.get(signature, f'a value with signature {signature}')} as a property value is not supported by the "
        "embedded engine: pass plain values, or use --engine pulumi"
    )


def to_struct(properties: Mapping[str, Any]) -> Any:
    """Properties for the SDK; nothing is left out."""
    struct = struct_pb2.Struct()
    _fill(struct, properties)
    return struct


def _fill(struct: Any, properties: Mapping[str, Any]) -> None:
    fields = struct.fields
    for key, value in properties.items():
        _set(fields[key], value)


def _set(slot: Any, value: Any) -> None:
    if isinstance(value, str):
        slot.string_value = value
    elif value is None:
        slot.null_value = struct_pb2.NULL_VALUE
    elif isinstance(value, bool):
        slot.bool_value = value
    elif isinstance(value, int | float):
        slot.number_value = value
    elif value is UNKNOWN:
        slot.string_value = UNKNOWN_TEXT
    elif isinstance(value, Secret):
        fields = slot.struct_value.fields
        fields[SIGNATURE].string_value = SECRET_SIGNATURE
        _set(fields["value"], value.value)
    elif isinstance(value, Mapping):
        slot.struct_value.SetInParent()
        _fill(slot.struct_value, value)
    elif isinstance(value, list | tuple):
        slot.list_value.SetInParent()
        for item in value:
            _set(slot.list_value.values.add(), item)
    else:
        raise TypeError(f"a provider returned a value of type {type(value).__name__}")


def resealed(new: Any, old: Any) -> Any:
    """The new value, with the old ciphertext of every secret that has not changed."""
    if isinstance(new, Secret):
        return old if isinstance(old, Secret) and new == old else new
    if isinstance(new, dict) and isinstance(old, dict):
        return {key: resealed(item, old.get(key)) for key, item in new.items()}
    if isinstance(new, list) and isinstance(old, list):
        return [resealed(item, old[index] if index < len(old) else None) for index, item in enumerate(new)]
    return new


def masked(value: Any) -> Any:
    """The value as people may see it: secrets and unknowns replaced by `[secret]` and `[unknown]`."""
    if isinstance(value, Secret):
        return MASK
    if value is UNKNOWN:
        return UNKNOWN_MASK
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items() if key != DEFAULTS}
    if isinstance(value, list):
        return [masked(item) for item in value]
    return value


DEFAULTS = "__defaults"
"""A provider's note of which properties it defaulted; kept in the state, of no interest to people."""


def has_unknown(value: Any) -> bool:
    """Whether anything in it is known only after an apply."""
    if value is UNKNOWN:
        return True
    if isinstance(value, Secret):
        return has_unknown(value.value)
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return False


def without_unknown(value: Any) -> Any:
    """The value as a state may hold it: unknown parts become null, unknown members of the top level go."""
    if value is UNKNOWN:
        return None
    if isinstance(value, Secret):
        return Secret(without_unknown(value.value))
    if isinstance(value, dict):
        return {key: without_unknown(item) for key, item in value.items() if item is not UNKNOWN}
    if isinstance(value, list):
        return [without_unknown(item) for item in value]
    return value


def secret_places(value: Any, at: tuple[str | int, ...] = ()) -> Iterable[tuple[str | int, ...]]:
    """Paths of every `Secret` in it."""
    if isinstance(value, Secret):
        yield at
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from secret_places(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from secret_places(item, (*at, index))


def with_secrets(properties: dict[str, Any], places: Iterable[tuple[str | int, ...]]) -> dict[str, Any]:
    """Plain properties with what stands at these places made secret.

    A place that is not there any more (a provider reordered a list, say) makes the whole nearest part that is still
    there secret: too much rather than too little. A top-level property that is gone is no longer there to hide.
    """
    result: Any = properties
    for place in places:
        result = _hidden(result, place)
    return result


def _hidden(value: Any, place: tuple[str | int, ...]) -> Any:
    if not place:
        return value if isinstance(value, Secret) else Secret(value)
    head, rest = place[0], place[1:]
    if isinstance(value, dict):
        if head in value:
            return value | {head: _hidden(value[head], rest)}
        return value
    if isinstance(value, list) and isinstance(head, int) and head < len(value):
        return [*value[:head], _hidden(value[head], rest), *value[head + 1 :]]
    return value if isinstance(value, Secret) else Secret(value)
