"""Values of expressions and how GitHub compares and converts them.

Owns types: null, booleans, numbers (doubles), text, lists and objects as None, bool, float, str, list and Mapping. The
rules are those of https://docs.github.com/en/actions/reference/workflows-and-actions/expressions and, where that page
leaves one open, of EvaluationResult.cs and ExpressionUtility.cs in https://github.com/actions/runner (read 2026-11-21).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

Value = None | bool | int | float | str | Sequence[Any] | Mapping[str, Any]
"""Contexts may hold int, which counts as the float that it equals."""

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_OTHER_BASE = re.compile(r"0x(?P<hex>[0-9a-fA-F]+)|0o(?P<octal>[0-7]+)")


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
