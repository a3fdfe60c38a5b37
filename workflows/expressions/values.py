"""Values of expressions, how GitHub compares and converts them, and its functions on them, each pure.

Owns types: null, booleans, numbers (doubles), text, lists and objects as None, bool, float, str, list and Mapping. The
rules are those of https://docs.github.com/en/actions/reference/workflows-and-actions/expressions and, where that page
leaves one open, of EvaluationResult.cs and ExpressionUtility.cs in https://github.com/actions/runner (read 2026-11-21).
Functions that ask how a job went or read files are the evaluator's.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Value = None | bool | int | float | str | Sequence[Any] | Mapping[str, Any]
"""Contexts may hold int, which counts as the float that it equals."""

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_OTHER_BASE = re.compile(r"0x(?P<hex>[0-9a-fA-F]+)|0o(?P<octal>[0-7]+)")
MOST_ARGUMENTS = 255
_PLACEHOLDER = re.compile(r"(?P<open>\{\{)|(?P<close>\}\})|\{(?P<index>[0-9]+)\}|(?P<bad>[{}])")


class Filtered(list[Any]):
    """What `*` gives: an index on it is an index on each of its values."""


def primitive(value: Value) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def truthy(value: Value) -> bool:
    """False are null, false, 0, NaN and empty text; every list and object is true."""
    if isinstance(value, bool | int | float):
        return bool(value) and not math.isnan(value)
    return bool(value) if isinstance(value, str) else value is not None


def parse_number(text: str) -> float:
    """The number that a text stands for: 0 where it is empty, NaN where it is none."""
    stripped = text.strip()
    if not stripped:
        return 0.0
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    if other := _OTHER_BASE.fullmatch(stripped):
        return float(int(other["hex"], 16) if other["hex"] else int(other["octal"], 8))
    if stripped.lstrip("+-") == "Infinity" and len(stripped) <= len("-Infinity"):
        return -math.inf if stripped.startswith("-") else math.inf
    return math.nan


def number(value: Value) -> float:
    """A value as a number; of lists and objects NaN."""
    if value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        return float(value)
    return parse_number(value) if isinstance(value, str) else math.nan


def text(value: Value) -> str:
    """A value as text: 15 digits of a number, and of lists and objects their kind alone."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number_text(float(value))
    if isinstance(value, str):
        return value
    return "Object" if isinstance(value, Mapping) else "Array"


def _number_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "0" if value == 0 else f"{value:.15g}".replace("e", "E")


def folded(value: str) -> str:
    """Text as it is compared: without regard to case, sign by sign: none becomes two, and a dotless i is no I."""
    return "".join(upper if len(upper := sign.upper()) == 1 and sign != "\u0131" else sign for sign in value)


def equal(left: Value, right: Value) -> bool:
    """Loose equality: text without regard to case, unlike types as numbers, lists and objects only with themselves."""
    left, right = _alike(left, right)
    if isinstance(left, str) and isinstance(right, str):
        return folded(left) == folded(right)
    if isinstance(left, float) and isinstance(right, float):
        return left == right
    if isinstance(left, bool) and isinstance(right, bool):
        return left == right
    return left is right


def less(left: Value, right: Value) -> bool:
    """Whether left comes before right; nothing comes before or after NaN, a list or an object."""
    left, right = _alike(left, right)
    if isinstance(left, str) and isinstance(right, str):
        # By UTF-16 units, as .NET orders.
        return _units(left) < _units(right)
    if isinstance(left, float) and isinstance(right, float):
        return left < right
    return isinstance(left, bool) and isinstance(right, bool) and left < right


def _units(value: str) -> bytes:
    return folded(value).encode("utf-16-be", "surrogatepass")


def _alike(left: Value, right: Value) -> tuple[Value, Value]:
    """Both sides as they are where their types are the same, else what can be a number as one."""
    left, right = _canonical(left), _canonical(right)
    if type(left) is type(right):
        return left, right
    if not primitive(left) or not primitive(right):
        return _numeric_unless_text(left), _numeric_unless_text(right)
    return number(left), number(right)


def _canonical(value: Value) -> Value:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _numeric_unless_text(value: Value) -> Value:
    return number(value) if value is None or isinstance(value, bool) else value


def member(of: Mapping[str, Any], key: str) -> Value:
    """A property of an object without regard to the case of its name; null where there is none."""
    if key in of:
        return of[key]
    wanted = folded(key)
    return next((value for name, value in of.items() if folded(name) == wanted), None)


def has_member(of: Mapping[str, Any], key: str) -> bool:
    return key in of or folded(key) in map(folded, of)


class FunctionError(Exception):
    """Arguments that a function cannot take."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function's spelling in GitHub's documentation and how many arguments it takes."""

    name: str
    least: int
    most: int


FUNCTIONS = {
    function.name.lower(): function
    for function in (
        Function("case", 3, MOST_ARGUMENTS),
        Function("contains", 2, 2),
        Function("endsWith", 2, 2),
        Function("format", 1, MOST_ARGUMENTS),
        Function("fromJSON", 1, 1),
        Function("hashFiles", 1, MOST_ARGUMENTS),
        Function("join", 1, 2),
        Function("startsWith", 2, 2),
        Function("toJSON", 1, 1),
        Function("success", 0, MOST_ARGUMENTS),
        Function("failure", 0, MOST_ARGUMENTS),
        Function("always", 0, 0),
        Function("cancelled", 0, 0),
    )
}


def contains(search: Value, item: Value) -> bool:
    if primitive(search):
        return primitive(item) and folded(text(item)) in folded(text(search))
    return isinstance(search, list | tuple) and any(equal(item, each) for each in search)


def starts_with(whole: Value, start: Value) -> bool:
    return primitive(whole) and primitive(start) and folded(text(whole)).startswith(folded(text(start)))


def ends_with(whole: Value, end: Value) -> bool:
    return primitive(whole) and primitive(end) and folded(text(whole)).endswith(folded(text(end)))


def format_text(pattern: Value, *values: Value) -> str:
    template = text(pattern)

    def replaced(found: re.Match[str]) -> str:
        if found["open"] or found["close"]:
            return found[0][0]
        if found["bad"]:
            raise FunctionError(f"a brace of the format has no partner: {template}")
        if int(found["index"]) >= len(values):
            raise FunctionError(f"the format asks for value {found['index']} of {len(values)}: {template}")
        return text(values[int(found["index"])])

    return _PLACEHOLDER.sub(replaced, template)


def join(values: Value, separator: Value = ",") -> str:
    if primitive(values):
        return text(values)
    if not isinstance(values, list | tuple):
        return ""
    return (text(separator) if primitive(separator) else ",").join(map(text, values))


def to_json(value: Value) -> str:
    """JSON with two spaces a level, numbers as they are written in text."""
    return _json(value, "\n")


def _json(value: Value, line: str) -> str:
    inner = f"{line}  "
    if isinstance(value, Mapping):
        entries = [f"{json.dumps(key, ensure_ascii=False)}: {_json(each, inner)}" for key, each in value.items()]
        return f"{{{inner}{f',{inner}'.join(entries)}{line}}}" if entries else "{}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        entries = [_json(each, inner) for each in value]
        return f"[{inner}{f',{inner}'.join(entries)}{line}]" if entries else "[]"
    return "null" if value is None else text(value)


def from_json(value: Value) -> Value:
    try:
        return json.loads(text(value), parse_int=float, parse_constant=_no_constant)
    except ValueError as error:
        raise FunctionError(f"not JSON ({error}): {text(value)[:60]}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def case(*arguments: Callable[[], Value]) -> Value:
    """The value after the first predicate that holds, else the last argument; none is evaluated needlessly."""
    *pairs, otherwise = arguments
    for predicate, value in zip(pairs[::2], pairs[1::2], strict=True):
        held = predicate()
        if not isinstance(held, bool):
            raise FunctionError("a predicate of case is true or false")
        if held:
            return value()
    return otherwise()


PURE: Mapping[str, Callable[..., Value]] = {
    "contains": contains,
    "endswith": ends_with,
    "format": format_text,
    "fromjson": from_json,
    "join": join,
    "startswith": starts_with,
    "tojson": to_json,
}
