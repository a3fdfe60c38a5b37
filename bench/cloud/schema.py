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


def _is_in_a_calendar(moment: str) -> bool:
    try:
        seconds_of(moment)
    except ValueError:
        return False
    return True


class _Violations(list[tuple[str, str]]):
    """(field, description) pairs of one input, in the order found."""

    def check(self) -> None:
        if self:
            raise ApiError(
                400,
                "\n".join(description for _, description in self),
                details=[
                    {
                        "@type": "type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations": [{"field": field, "description": text} for field, text in self],
                    }
                ],
            )


def checked_query(method: Method, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Query parameters by their discovery names, with their types. Raises one 400 that names every offender."""
    wrong = _Violations()
    values: dict[str, Any] = {}
    known = {**SYSTEM_QUERY, **method.api.parameters, **UNDECLARED_QUERY.get(method.id, {}), **method.parameters}
    for sent, text in pairs:
        name = _query_name(sent, known)
        declared = known.get(name)
        if declared is None or declared.get("location") == "path":
            wrong.append((sent, _unknown(sent, "")))
            continue
        value = _query_value(declared, sent, text, wrong)
        if declared.get("repeated"):
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    missing = [
        name
        for name, declared in method.parameters.items()
        if declared.get("required") and declared.get("location") == "query" and name not in values
    ]
    wrong.extend((name, f"Required parameter: {name}") for name in missing)
    wrong.extend((name, _no_field(name, path)) for name, path in method.unknown_masked(values, {}))
    wrong.check()
    return values


def checked_body(method: Method, body: Any) -> JsonObject:
    """The body as the service sees it. Raises one 400 that names every offending field."""
    if method.request is None:
        if body not in (None, {}):
            raise ApiError(400, f"{method.id} takes no body.")
        return {}
    wrong = _Violations()
    root = method.request[:1].lower() + method.request[1:]
    if body is not None and not isinstance(body, dict):
        raise ApiError(400, f"Invalid JSON payload received. The body of {method.id} is an object.")
    clean = _Checker(method.api, wrong, request=True).object(method.request, body or {}, root)
    wrong.extend((name, _no_field(name, path)) for name, path in method.unknown_masked({}, clean))
    wrong.check()
    return clean


def problems_of_answer(method: Method, body: Any) -> list[str]:
    """What in an answer the discovery document does not allow; empty when all is well."""
    if method.response is None:
        return [] if body in (None, {}) else [f"{method.id} has no answer body"]
    wrong = _Violations()
    if not isinstance(body, dict):
        return [f"the answer of {method.id} is an object"]
    _Checker(method.api, wrong, request=False).object(method.response, body, method.response)
    return [text for _, text in wrong]


def _name_of(declared: Mapping[str, Any], value: Any) -> Any:
    """The name of an enum value that was sent as a number; whatever else was sent stays as it is."""
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    if not isinstance(number, int):
        return value
    return next((name for name, known in declared["numbers"].items() if known == number), value)


def _query_name(sent: str, known: Mapping[str, Schema]) -> str:
    """A parameter's name as its document has it. Those of every method may have a `$` before them."""
    bare = sent.removeprefix("$")
    return next((name for name in (sent, bare) if name in known), camel(bare))


def _query_value(declared: Schema, name: str, text: str, wrong: _Violations) -> Any:
    kind = declared["type"]
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            wrong.append((name, f"Invalid value at '{name}' (TYPE_BOOL), \"{text}\""))
        return text.lower() == "true"
    if kind == "integer":
        if not re.fullmatch(r"-?\d+", text):
            wrong.append((name, f"Invalid value at '{name}' (TYPE_INT32), \"{text}\""))
            return 0
        return int(text)
    if "numbers" in declared:
        text = _name_of(declared, text)
    # The answer's form may carry options: `json;enum-encoding=int`.
    if "enum" in declared and text.partition(";")[0] not in declared["enum"]:
        wrong.append((name, f"Invalid value at '{name}', \"{text}\""))
    return text


def _no_field(mask: str, path: str) -> str:
    return f"Invalid value at '{mask}': the path '{path}' names no field of the message."


def _unknown(name: str, where: str) -> str:
    if not where:
        return (
            f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. '
            f"Field '{name}' could not be found in request message."
        )
    return f"Invalid JSON payload received. Unknown name \"{name}\" at '{where}': Cannot find field."


class _Checker:
    """request: drop read-only fields and take snake case; an answer gets neither."""

    def __init__(self, api: DiscoveryDocument, wrong: _Violations, *, request: bool) -> None:
        self._api = api
        self._wrong = wrong
        self._request = request

    def object(self, name: str, value: JsonObject, where: str) -> JsonObject:
        schema = self._api.schemas[name]
        return self._fields(schema, value, where, IGNORED_FIELDS.get((self._api.service, name), {}))

    def _fields(self, schema: Schema, value: JsonObject, where: str, ignored: Mapping[str, str]) -> JsonObject:
        properties = schema.get("properties", {})
        extra = schema.get("additionalProperties")
        clean: JsonObject = {}
        for sent, inner in value.items():
            name = sent if sent in properties or not self._request else camel(sent)
            declared = properties.get(name)
            if declared is None:
                if extra is not None:
                    self._keep(clean, sent, extra, inner, f"{where}.{sent}")
                elif not (self._request and name in ignored) and properties.keys() != {"@type"}:
                    self._wrong.append((f"{where}.{sent}", _unknown(sent, where)))
            elif not (self._request and declared.get("readOnly")):
                self._keep(clean, name, declared, inner, f"{where}.{name}")
        return clean

    def _keep(self, clean: JsonObject, name: str, schema: Schema, value: Any, where: str) -> None:
        checked = self._value(schema, value, where)
        if checked is not _ABSENT:
            clean[name] = checked

    def _value(self, schema: Schema, value: Any, where: str) -> Any:
        if value is None:
            return None if self._api.service in NULL_REMOVES else _ABSENT
        if "$ref" in schema:
            if isinstance(value, dict):
                return self.object(schema["$ref"], value, where)
            return self._refuse(where, "an object", value)
        kind = schema.get("type", "any")
        if kind == "any":
            return value
        if kind == "object":
            return self._any(schema, value, where) if isinstance(value, dict) else self._refuse(where, kind, value)
        if kind == "array":
            if not isinstance(value, list):
                return self._refuse(where, "a list", value)
            return [self._value(schema["items"], inner, f"{where}[{index}]") for index, inner in enumerate(value)]
        return self._scalar(schema, kind, value, where)

    def _any(self, schema: Schema, value: JsonObject, where: str) -> JsonObject:
        """An object that stands inside another; what an operation holds is of the type that it names."""
        held = schema if self._request else self._api.described(schema, value)
        content = value if held is schema else {key: inner for key, inner in value.items() if key != "@type"}
        return self._fields(held, content, where, {})

    def _scalar(self, schema: Schema, kind: str, value: Any, where: str) -> Any:
        if kind == "boolean":
            return value if isinstance(value, bool) else self._refuse(where, kind, value)
        if isinstance(value, bool):
            return self._refuse(where, kind, value)
        if kind in ("integer", "number"):
            if isinstance(value, int) or (kind == "number" and isinstance(value, float)):
                return value
            if isinstance(value, str) and _NUMBER.fullmatch(value):
                return float(value) if kind == "number" else int(float(value))
            return self._refuse(where, kind, value)
        if "numbers" in schema:
            value = _name_of(schema, value)
        pattern = _FORMATS.get(schema.get("format", ""))
        if schema.get("format") == "google-duration" and self._api.service in DURATIONS_WITH_UNITS:
            pattern = _DURATION_WITH_UNIT
        if isinstance(value, int) and schema.get("format") in ("int64", "uint64"):
            value = str(value)
        if not isinstance(value, str) or (pattern and not pattern.fullmatch(value)):
            return self._refuse(where, kind, value)
        if pattern is _MOMENT and not _is_in_a_calendar(value):
            return self._refuse(where, kind, value)
        if "enum" in schema and value not in schema["enum"]:
            return self._refuse(where, "enum", value)
        return value

    def _refuse(self, where: str, kind: str, value: Any) -> Any:
        text = f"Invalid value at '{where}' ({_KINDS.get(kind, kind)})"
        if self._api.service not in SECRETIVE:
            shown = f'"{value}"' if isinstance(value, str) else str(value)
            text = f"{text}, {shown[:200]}"
        self._wrong.append((where, text))
        return _ABSENT
