"""Whether inputs can be, and what they become before they are compared and recorded.

Owns the refusal of unknown and missing properties, and the defaults. Does not own values: what the program declares is
checked by the stack's schema and by the SDK's types, and the rest by the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.engine.provider import CheckFailure
from bench.engine.values import DEFAULTS
from bench.providers.google.differ import under
from bench.providers.google.fields import Field, Shape
from infra.model.errors import meant


def check_fields(
    failures: list[CheckFailure], path: str, fields: Mapping[str, Field], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The given properties with defaults filled in and marked; what is wrong joins `failures`."""
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or name.startswith("__"):
            continue
        known = fields.get(name)
        if known is None or known.computed:
            failures.append(CheckFailure(under(path, name), _unknown_property(name, fields)))
        else:
            checked[name] = _check_value(failures, under(path, name), known, value)
    defaulted = [name for name, known in fields.items() if name not in checked and known.default is not None]
    failures += [
        CheckFailure(under(path, name), f"the required property {name!r} is missing")
        for name, known in fields.items()
        if known.required and name not in checked
    ]
    return {**checked, **{name: fields[name].default for name in defaulted}, DEFAULTS: sorted(defaulted)}


def _unknown_property(name: str, fields: Mapping[str, Field]) -> str:
    inputs = [known for known, field in fields.items() if not field.computed]
    hint = meant(name, inputs) or f" It takes {', '.join(sorted(inputs))}"
    return f"the embedded provider knows no input {name!r}.{hint}"


def _check_value(failures: list[CheckFailure], path: str, known: Field, value: Any) -> Any:
    if isinstance(value, Mapping):
        if known.kind is Shape.BLOCK:
            return check_fields(failures, path, known.inner, value)
        return {key: item for key, item in value.items() if item is not None and key != DEFAULTS}
    if known.kind is Shape.BLOCKS and isinstance(value, list):
        return [
            check_fields(failures, f"{path}[{index}]", known.inner, item) if isinstance(item, Mapping) else item
            for index, item in enumerate(value)
        ]
    return value
