"""Checks of queries, bodies and answers against discovery schemas, with Google's own wording.

Owns names, JSON kinds, formats and enums. The documents mark next to nothing as required and say no further rule:
those are the handlers' business. A body comes out with camelCase names and without read-only fields, as the
service itself would see it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bench.cloud.clock import seconds_of
from bench.cloud.differences import (
    DURATIONS_WITH_UNITS,
    IGNORED_FIELDS,
    NULL_REMOVES,
    SECRETIVE,
    SYSTEM_QUERY,
    UNDECLARED_QUERY,
    camel,
)
from bench.cloud.discovery import DiscoveryDocument, Method, Schema
from bench.cloud.errors import ApiError, JsonObject

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
_KINDS: Mapping[str, str] = {"string": "TYPE_STRING", "boolean": "TYPE_BOOL", "integer": "TYPE_INT32"}
_ABSENT = object()


def checked_query(method: Method, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Query parameters by their discovery names, with their types. Raises one 400 that names every offender."""
    checker = _Checker(method.api, request=True)
    values: dict[str, Any] = {}
    known = {**SYSTEM_QUERY, **method.api.parameters, **UNDECLARED_QUERY.get(method.id, {}), **method.parameters}
    for sent, text in pairs:
        # Parameters of every method may have a `$` before them.
        name = next((name for name in (sent, sent.removeprefix("$")) if name in known), camel(sent.removeprefix("$")))
        declared = known.get(name, {})
        if declared.get("location") != "query":
            checker.wrong.append((sent, _unknown(sent, "")))
            continue
        said = {"true": True, "false": False}.get(text.lower(), text) if declared["type"] == "boolean" else text
        value = checker.scalar(declared, said, sent)
        if declared.get("repeated"):
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    needed = (name for name, each in method.parameters.items() if each.get("required") and each["location"] == "query")
    checker.wrong.extend((name, f"Required parameter: {name}") for name in needed if name not in values)
    checker.settle()
    return values


def checked_body(method: Method, body: Any) -> JsonObject:
    """The body as the service sees it. Raises one 400 that names every offending field."""
    if method.request is None and body in (None, {}):
        return {}
    if method.request is None or not isinstance(body, dict | None):
        said = "takes no body" if method.request is None else "takes an object as its body"
        raise ApiError(400, f"Invalid JSON payload received. {method.id} {said}.")
    checker = _Checker(method.api, request=True)
    clean = checker.object(method.request, body or {}, method.request[:1].lower() + method.request[1:])
    checker.settle()
    return clean


def problems_of_answer(method: Method, body: Any) -> list[str]:
    """What in an answer the discovery document does not allow; empty when all is well."""
    if method.response is None:
        return [] if body in (None, {}) else [f"{method.id} has no answer body"]
    checker = _Checker(method.api, request=False)
    checker.object(method.response, body, method.response)
    return [text for _, text in checker.wrong]


def _name_of(declared: Mapping[str, Any], value: Any) -> Any:
    """The name of an enum value that was sent as a number; whatever else was sent stays as it is."""
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    return next((name for name, known in declared["numbers"].items() if known == number), value)


def _unknown(name: str, where: str) -> str:
    at = f" at '{where}': Cannot find field." if where else ": Cannot bind query parameter."
    return f'Invalid JSON payload received. Unknown name "{name}"{at}'


class _Checker:
    """wrong: (field, description) pairs, in the order found.

    request: drop read-only fields and take snake case; an answer gets neither.
    """

    def __init__(self, api: DiscoveryDocument, *, request: bool) -> None:
        self.wrong: list[tuple[str, str]] = []
        self._api = api
        self._request = request

    def settle(self) -> None:
        """Raises a 400 that names every offender."""
        violations = [{"field": field, "description": text} for field, text in self.wrong]
        if violations:
            detail = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}
            raise ApiError(400, "\n".join(text for _, text in self.wrong), details=[detail])

    def object(self, name: str, value: JsonObject, where: str) -> JsonObject:
        ignored = IGNORED_FIELDS.get((self._api.service, name), {})
        return self._fields(self._api.schemas[name], value, where, ignored)

    def _fields(self, schema: Schema, value: JsonObject, where: str, ignored: Mapping[str, str]) -> JsonObject:
        properties = schema.get("properties", {})
        extra = schema.get("additionalProperties")
        clean: JsonObject = {}
        for sent, inner in value.items():
            name = sent if sent in properties or not self._request else camel(sent)
            declared = properties.get(name)
            if declared is None and extra is not None:
                name, declared = sent, extra
            if declared is not None:
                checked = self._value(declared, inner, f"{where}.{name}")
                if checked is not _ABSENT and not (self._request and declared.get("readOnly")):
                    clean[name] = checked
            elif not (self._request and name in ignored) and properties.keys() != {"@type"}:
                self.wrong.append((f"{where}.{sent}", _unknown(sent, where)))
        return clean

    def _value(self, schema: Schema, value: Any, where: str) -> Any:
        kind = "object" if "$ref" in schema else schema.get("type", "any")
        if value is None:
            return None if self._api.service in NULL_REMOVES else _ABSENT
        if kind == "any":
            return value
        if kind == "object":
            return self._object(schema, value, where) if isinstance(value, dict) else self._refuse(where, kind, value)
        if kind != "array":
            return self.scalar(schema, value, where)
        if not isinstance(value, list):
            return self._refuse(where, "a list", value)
        return [self._value(schema["items"], inner, f"{where}[{index}]") for index, inner in enumerate(value)]

    def _object(self, schema: Schema, value: JsonObject, where: str) -> JsonObject:
        """An object that stands inside another; what an operation holds is of the type that it names."""
        if "$ref" in schema:
            return self.object(schema["$ref"], value, where)
        held = schema if self._request else self._api.described(schema, value)
        content = value if held is schema else {key: inner for key, inner in value.items() if key != "@type"}
        return self._fields(held, content, where, {})

    def scalar(self, schema: Schema, value: Any, where: str) -> Any:
        kind = schema["type"]
        if isinstance(value, bool) or kind == "boolean":
            return value if isinstance(value, bool) and kind == "boolean" else self._refuse(where, kind, value)
        if kind in ("integer", "number"):
            if isinstance(value, str) and _NUMBER.fullmatch(value):
                value = float(value) if kind == "number" else int(float(value))
            right = isinstance(value, int) or (kind == "number" and isinstance(value, float))
        else:
            if "numbers" in schema:
                value = _name_of(schema, value)
            if isinstance(value, int) and schema.get("format") in ("int64", "uint64"):
                value = str(value)
            right = isinstance(value, str) and self._is_spelled(schema, value)
        return value if right else self._refuse(where, kind, value)

    def _is_spelled(self, schema: Schema, text: str) -> bool:
        pattern = _FORMATS.get(schema.get("format", ""))
        if schema.get("format") == "google-duration" and self._api.service in DURATIONS_WITH_UNITS:
            pattern = _DURATION_WITH_UNIT
        if pattern and not pattern.fullmatch(text):
            return False
        try:
            if pattern is _MOMENT:
                seconds_of(text)
        except ValueError:
            return False
        # An answer's form may carry options: `json;enum-encoding=int`.
        return "enum" not in schema or text.partition(";")[0] in schema["enum"]

    def _refuse(self, where: str, kind: str, value: Any) -> Any:
        text = f"Invalid value at '{where}' ({_KINDS.get(kind, kind)})"
        if self._api.service not in SECRETIVE:
            shown = f'"{value}"' if isinstance(value, str) else str(value)
            text = f"{text}, {shown[:200]}"
        self.wrong.append((where, text))
        return _ABSENT
