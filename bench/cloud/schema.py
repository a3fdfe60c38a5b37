"""Checks of queries, bodies and answers against discovery schemas. The first offender is named, and no value is told.

Owns names, JSON kinds, formats and enums. The documents mark next to nothing as required and say no further rule:
those are the handlers' business. A body comes out with camelCase names and without read-only fields, as the
service itself would see it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.cloud.differences import (
    DURATIONS_WITH_UNITS,
    IGNORED_FIELDS,
    NULL_REMOVES,
    SYSTEM_QUERY,
    UNDECLARED_QUERY,
    camel,
)
from bench.cloud.discovery import DiscoveryDocument, Method, Schema
from bench.cloud.errors import ApiError, JsonObject, invalid

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_FORMATS: Mapping[str, re.Pattern[str]] = {
    "int64": re.compile(r"-?\d+"),
    "uint64": re.compile(r"\d+"),
    "google-datetime": _MOMENT,
    "date-time": _MOMENT,
    "google-duration": re.compile(r"-?\d+(\.\d+)?s"),
    # Either alphabet, with or without the padding, as proto JSON has it.
    "byte": re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?"),
}
_DURATION_WITH_UNIT = re.compile(r"\d+(\.\d+)?[smhd]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "array": (list,),
    "object": (dict,),
}  # fmt: skip


def checked_query(method: Method, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Query parameters by their discovery names, with their types. Raises 400."""
    checker = _Checker(method.api, request=True)
    values: dict[str, Any] = {}
    known = {**SYSTEM_QUERY, **method.api.parameters, **UNDECLARED_QUERY.get(method.id, {}), **method.parameters}
    for sent, text in pairs:
        # Parameters of every method may have a `$` before them.
        name = sent if sent in known else camel(sent.removeprefix("$"))
        declared = known.get(name, {})
        if declared.get("location") != "query":
            raise invalid(f'Unknown name "{sent}": Cannot bind query parameter.', field=sent)
        said = {"true": True, "false": False}.get(text.lower(), text) if declared["type"] == "boolean" else text
        value = checker.value(declared, said, sent)
        values[name] = [*values.get(name, []), value] if declared.get("repeated") else value
    for name, each in method.parameters.items():
        if each.get("required") and each["location"] == "query" and name not in values:
            raise invalid(f"Required parameter: {name}", field=name)
    return values


def checked_body(method: Method, body: Any) -> JsonObject:
    """The body as the service sees it. Raises 400."""
    if method.request is None:
        if body:
            raise ApiError(400, f"Invalid JSON payload received. {method.id} takes no body.")
        return {}
    where = method.request[:1].lower() + method.request[1:]
    return _Checker(method.api, request=True).value({"$ref": method.request}, {} if body is None else body, where)


def check_answer(method: Method, body: Any) -> None:
    """Raises AssertionError for what the discovery document does not allow."""
    try:
        _Checker(method.api, request=False).value({"$ref": method.response} if method.response else {}, body, "answer")
    except ApiError as wrong:
        raise AssertionError(wrong.message) from None


def _converted(schema: Schema, kind: str, value: Any) -> Any:
    """A number that was sent as a text, or the other way, and the name of an enum value that was sent as a number."""
    if kind in ("integer", "number") and isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value) if kind == "number" else int(float(value))
    if kind == "string" and type(value) is int and schema.get("format") in ("int64", "uint64"):
        return str(value)
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    return next((name for name, known in schema.get("numbers", {}).items() if known == number), value)


@dataclass(frozen=True, slots=True)
class _Checker:
    """request: drop read-only fields and take snake case; an answer gets neither."""

    api: DiscoveryDocument
    request: bool

    def value(self, schema: Schema, value: Any, where: str) -> Any:
        """A value as it is kept. Raises 400."""
        kind = "object" if "$ref" in schema else schema.get("type", "any")
        if kind == "any":
            return value
        value = _converted(schema, kind, value)
        if type(value) not in _TYPES[kind] or (kind == "string" and not self._is_spelled(schema, value)):
            raise invalid(f"Invalid value at '{where}' ({kind})", field=where)
        if kind == "array":
            return [self.value(schema["items"], inner, f"{where}[{index}]") for index, inner in enumerate(value)]
        return self._fields(schema, value, where) if kind == "object" else value

    def _fields(self, schema: Schema, value: JsonObject, where: str) -> JsonObject:
        """An object; what an operation holds is of the type that it names."""
        held = schema if self.request and "$ref" not in schema else self.api.described(schema, value)
        properties, extra = held.get("properties", {}), held.get("additionalProperties")
        clean: JsonObject = {}
        for sent, inner in value.items():
            name = sent if sent in properties or not self.request else camel(sent)
            declared = properties.get(name)
            if declared is None and extra is not None:
                name, declared = sent, extra
            if declared is None:
                ignored = self.request and name in IGNORED_FIELDS.get((self.api.service, schema.get("$ref")), ())
                if not ignored and properties.keys() != {"@type"} and (sent != "@type" or held is schema):
                    raise invalid(f"Unknown name \"{sent}\" at '{where}': Cannot find field.", field=f"{where}.{sent}")
            elif inner is None:
                if self.api.service in NULL_REMOVES:
                    clean[name] = None
            else:
                checked = self.value(declared, inner, f"{where}.{name}")
                if not (self.request and declared.get("readOnly")):
                    clean[name] = checked
        return clean

    def _is_spelled(self, schema: Schema, text: str) -> bool:
        pattern = _FORMATS.get(schema.get("format", ""))
        if schema.get("format") == "google-duration" and self.api.service in DURATIONS_WITH_UNITS:
            pattern = _DURATION_WITH_UNIT
        # An answer's form may carry options: `json;enum-encoding=int`.
        return (pattern is None or bool(pattern.fullmatch(text))) and (
            "enum" not in schema or text.partition(";")[0] in schema["enum"]
        )
