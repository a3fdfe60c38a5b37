"""How a refused value is said: what validators raise, and pydantic's own errors in this project's words.

Owns the translation of a pydantic ValidationError to Problems. Does not own the rules (schema, rules).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from infra.model.errors import Problem, shown, suggestion
from infra.model.yamlfile import YamlPath

Subject = Callable[[YamlPath], str]

# What a pool's author may be tempted to write down although the catalogue says it.
DERIVED_KEYS = frozenset(
    (
        "chips",
        "cost",
        "generation",
        "hosts",
        "machine_type",
        "physical_hosts",
        "price",
        "region",
        "regions",
        "runtime",
        "runtime_version",
        "slices",
        "topology",
        "vms",
    )
)

# Other ways in which people say how slices are obtained, beside `capacity`.
_CAPACITY_KEYS = frozenset(("on-demand", "on_demand", "preemptible", "reservation", "reserved", "spot"))


def refuse(rule: str, fix: str) -> NoReturn:
    """Raise from a validator: the value breaks `rule`; write `fix` instead."""
    raise PydanticCustomError("refused", "{rule}", {"rule": rule, "fix": fix})


def problems(
    error: ValidationError, model: type[BaseModel], subject: Subject, *, page: str = "docs/stack-file.md"
) -> Iterator[Problem]:
    """Each error of a validation of `model`; `page` is the one that explains the keys."""
    for detail in error.errors(include_url=False):
        # A default that depends on a refused field says nothing new.
        if detail["type"] != "default_factory_not_called":
            yield _problem(detail, model, subject, page)


def _problem(detail: ErrorDetails, model: type[BaseModel], subject: Subject, page: str) -> Problem:
    loc = tuple(step for step in detail["loc"] if step != "[key]")
    where = subject(loc)
    value = detail["input"]
    context: Mapping[str, Any] = detail.get("ctx", {})
    if detail["type"] == "missing":
        return Problem(where, "", f"{loc[-1]} is required", f"{loc[-1]}: and its value (see {page})")
    if detail["type"] == "extra_forbidden":
        return _extra_key(str(loc[-1]), value, where, loc, model, page)
    if value is None:
        this = _fields_at(model, loc).get(str(loc[-1]))
        fix = "a value" if this and this.is_required() else "a value, or remove the line"
        return Problem(where, "nothing", "the key has no value", fix)
    if detail["type"] == "string_type" and isinstance(value, bool | int | float):
        return Problem(where, shown(value), "not text", f'"{shown(value)}", in quotes')
    if detail["type"] == "enum":
        known = re.split(r", | or ", context["expected"].replace("'", ""))
        return Problem(where, shown(value), f"not a kind of {loc[-1]}", suggestion(str(value), known, f"see {page}"))
    if detail["type"] == "refused":
        return Problem(where, shown(value), context["rule"], context["fix"])
    rule, fix = _SHAPES.get(detail["type"], (detail["msg"], f"see {page}"))
    return Problem(where, shown(value), rule, fix)


def _extra_key(
    key: str, value: object, where: str, loc: tuple[int | str, ...], model: type[BaseModel], page: str
) -> Problem:
    section = loc[0]
    if section in ("pools", "slices") and key in DERIVED_KEYS:
        return _derived_key(key, shown(value), where)
    if section in ("pools", "slices") and key in _CAPACITY_KEYS:
        rule = "a second kind of capacity: `capacity` alone says how slices are obtained"
        return Problem(where, shown(value), rule, "capacity: on-demand, spot, preemptible, or {reserved: NAME}")
    if section == "mirrors" and key.startswith("keep_"):
        rule = f"a mirror has no {key}: it would pin the upstream's mutable tags for ever"
        return Problem(where, shown(value), rule, "remove the line; delete_older_than says what goes")
    # What stands beside a secret's name may be the secret.
    return unknown_key(key, "" if section == "secrets" else shown(value), where, _fields_at(model, loc), page)


def unknown_key(key: str, value: str, where: str, known: Iterable[str], page: str = "docs/stack-file.md") -> Problem:
    """A key that no schema has, with the one that was meant."""
    fix = suggestion(key, known, f"a key of {page}")
    return Problem(where, value, f"no such key: {key}", f"{fix}; or remove the line")


def _derived_key(key: str, value: str, where: str) -> Problem:
    override = ", or say runtime_override: {version, reason}" if key.startswith("runtime") else ""
    rule = f"{key} comes from the catalogue and cannot be set"
    return Problem(where, value, rule, f"remove the line{override}")


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> Mapping[str, FieldInfo]:
    """The fields that the mapping which holds `loc` may have."""
    current: Any = model
    for step in loc[:-1]:
        if isinstance(step, str) and step in current.model_fields:
            current = _model_of(current.model_fields[step].annotation) or current
    return current.model_fields


def _model_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_of(each) for each in getattr(annotation, "__args__", ()))
    return next((model for model in found if model is not None), None)


_LIST = ("not a list", "a list: one item a line, each after a hyphen; or remove the line")
_MAPPING = ("not a mapping of keys to values", "key: value lines, indented")
_SHAPES = {
    "string_type": ("not text", "plain or quoted text"),
    "tuple_type": _LIST,
    "mapping_type": _MAPPING,
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
}
