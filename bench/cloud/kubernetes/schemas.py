"""What a custom kind's schema refuses, by the library jsonschema.

Owns how a CustomResourceDefinition's dialect is read (`nullable`, `x-kubernetes-int-or-string`). Its CEL rules
(`x-kubernetes-validations`) are not evaluated here: a real API server does that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from bench.cloud.errors import JsonObject
from bench.cloud.kubernetes.kinds import Kind
from bench.cloud.kubernetes.status import StatusError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_TYPED: Final = ("apiVersion", "kind", "metadata")
"""Fields that no schema describes."""


@cache
def _dialect() -> Any:
    """The library's validator with this dialect's types. Few clouds have a custom kind, and the library's import is a
    fifth of what one takes to start."""
    from jsonschema import Draft4Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def of_type(validator: Any, types: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
        if instance is None and schema.get("nullable"):
            return
        if schema.get("x-kubernetes-int-or-string") and isinstance(instance, str | int):
            return
        if not validator.is_type(instance, types):
            yield ValidationError(f"{instance!r} must be of type {types}")

    return extend(Draft4Validator, {"type": of_type})


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    return _dialect()(json.loads(schema))


def insist(kind: Kind, entity: JsonObject) -> None:
    """Refuse what the schema of a custom kind does not allow. Raises 422 with every fault."""
    if kind.schema is None:
        return
    body = {name: each for name, each in entity.items() if name not in _TYPED}
    described = {name: each for name, each in kind.schema.get("properties", {}).items() if name not in _TYPED}
    validator = _validator(json.dumps({**kind.schema, "properties": described}))
    found: list[ValidationError] = sorted(validator.iter_errors(body), key=lambda error: list(map(str, error.path)))
    if found:
        raise invalid(kind, entity, [f"{error.json_path.removeprefix('$.')}: {error.message}" for error in found])


def invalid(kind: Kind, entity: JsonObject, faults: Sequence[str]) -> StatusError:
    """The refusal of an object by its fields. faults: `FIELD: what is wrong`."""
    name = entity["metadata"].get("name", "")
    about = {"group": kind.group, "kind": kind.kind, "name": name}
    return StatusError(422, f'{kind.named} "{name}" is invalid: {", ".join(faults)}', about=about)
