"""Whether inputs can be, and what they become before they are compared and recorded.

Owns the refusal of unknown and missing properties, and the defaults. Does not own values: what the program declares is
checked by the stack's schema and by the SDK's types, and the rest by the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.engine.values import DEFAULTS
from bench.providers.google.differ import under
from bench.providers.google.fields import Field, Fields, Given, JsonObject, Shape
from infra.model.errors import meant

Failures = dict[str, str]
"""What is wrong, by path."""


def missing(name: str) -> str:
    return f"the required property {name!r} is missing"


def check_fields(failures: Failures, fields: Fields, given: Given, path: str = "") -> Any:
    """The given properties with defaults filled in and marked; what is wrong joins `failures`."""
    inputs = {name: field for name, field in fields.items() if not field.computed}
    checked: JsonObject = {}
    for name, value in given.items():
        if value is None or name.startswith("__"):
            continue
        at = under(path, name)
        if name in inputs:
            checked[name] = _check_value(failures, at, inputs[name], value)
        else:
            failures[at] = f"the embedded provider knows no input {name!r}.{meant(name, [*inputs])}"
    for name, field in inputs.items():
        if field.required and name not in checked:
            failures[under(path, name)] = missing(name)
    defaults = {name: each.default for name, each in inputs.items() if each.default is not None and name not in checked}
    return {**checked, **defaults, DEFAULTS: sorted(defaults)}


def _check_value(failures: Failures, path: str, field: Field, value: Any) -> Any:
    if isinstance(value, list):
        return [_check_value(failures, under(path, index), field, item) for index, item in enumerate(value)]
    if isinstance(value, Mapping) and field.kind is Shape.TABLE:
        return {key: item for key, item in value.items() if item is not None and key != DEFAULTS}
    return check_fields(failures, field.inner, value, path) if isinstance(value, Mapping) else value
