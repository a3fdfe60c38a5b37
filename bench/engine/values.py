"""Property values: secrets, unknowns, and the two wire forms they take.

Owns the in-memory form (plain Python values, `UNKNOWN`, `Secret`), its translation from and to the protobuf Struct of
the SDK, and masking. Does not own the form in the state (`bench.engine.state`), property paths or diffs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.json_format import MessageToDict

from bench.engine.provider import UNKNOWN
from infra.model.errors import EngineError
from infra.model.secret_values import MASK, SECRET_SIGNATURE, SIGNATURE, UNKNOWN_MASK, UNKNOWN_TEXT, Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class RefusedError(EngineError):
    """The program or the state asks for something that this engine does not know; the message names it."""


struct_pb2: Any = _struct_pb2
"""Its classes come into being at import, where no type checker sees them; so Struct and Value are `Any` here."""


def rebuilt(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """The value with `leaf` of every part that is neither a list nor a plain object; marked objects are parts too."""
    if isinstance(value, dict) and SIGNATURE not in value:
        return {key: rebuilt(item, leaf) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rebuilt(item, leaf) for item in value]
    return leaf(value)


def from_struct(struct: Any) -> dict[str, Any]:
    """The properties that the SDK sent; whole numbers become int."""
    return rebuilt(MessageToDict(struct), _received)


def _received(value: Any) -> Any:
    if isinstance(value, dict):
        if value[SIGNATURE] != SECRET_SIGNATURE:
            raise RefusedError(
                "a property is an asset, an archive or another special value, which the embedded engine does not "
                "support. Fix: pass plain values, or use --engine pulumi."
            )
        return Secret(rebuilt(value["value"], _received))
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return UNKNOWN if value == UNKNOWN_TEXT else value


def to_struct(properties: Mapping[str, Any]) -> Any:
    """Properties for the SDK; nothing is left out."""
    struct = struct_pb2.Struct()
    struct.update(rebuilt(properties, _sent))
    return struct


def _sent(value: Any) -> Any:
    if isinstance(value, Secret):
        return {SIGNATURE: SECRET_SIGNATURE, "value": rebuilt(value.value, _sent)}
    return UNKNOWN_TEXT if value is UNKNOWN else value


def masked(value: Any) -> Any:
    """The value as people may see it: secrets and unknowns replaced by `[secret]` and `[unknown]`."""
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items() if key != DEFAULTS}
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, Secret):
        return MASK
    return UNKNOWN_MASK if value is UNKNOWN else value


DEFAULTS = "__defaults"
"""A provider's note of which properties it defaulted; kept in the state, of no interest to people."""


def has_unknown(value: Any) -> bool:
    """Whether anything in it is known only after an apply."""
    if isinstance(value, Secret):
        return has_unknown(value.value)
    if isinstance(value, dict | list):
        return any(map(has_unknown, value.values() if isinstance(value, dict) else value))
    return value is UNKNOWN


def without_unknown(value: Any) -> Any:
    """The value as a state may hold it: unknown parts become null."""
    return rebuilt(value, _known)


def _known(value: Any) -> Any:
    if isinstance(value, Secret):
        return Secret(without_unknown(value.value))
    return None if value is UNKNOWN else value


def secret_places(value: Any, at: tuple[str | int, ...] = ()) -> Iterable[tuple[str | int, ...]]:
    """Paths of every `Secret` in it."""
    if isinstance(value, Secret):
        yield at
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from secret_places(item, (*at, key))


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
    head, rest = (place[0], place[1:]) if place else (None, ())
    if head is not None and isinstance(value, dict):
        return value | {head: _hidden(value[head], rest)} if head in value else value
    if isinstance(value, list) and isinstance(head, int) and head < len(value):
        return [*value[:head], _hidden(value[head], rest), *value[head + 1 :]]
    return value if isinstance(value, Secret) else Secret(value)
