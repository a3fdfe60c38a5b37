"""The language in which lists are filtered, as clients write it: comparisons that are joined by AND and by OR.

It is a part of Google's AIP-160, whose NOT and parentheses are refused; OR binds closer than AND.
Source: google.aip.dev/160, read 2026-11.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from bench.cloud.clock import seconds_of
from bench.cloud.differences import camel
from bench.cloud.errors import JsonObject, invalid

_COMPARISON = re.compile(
    r"""(?:^\s*|\s+(?:(AND|OR)\s+)?)([\w.-]+)\s*(<=|>=|!=|[=<>:])\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^\s()"'=<>:!]+)"""
)
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")


def wanted(text: str | None, others: Mapping[str, str]) -> Callable[[JsonObject], bool]:
    """Whether an item is in the list. Raises 400 for what cannot be read.

    others: further names of fields, which they have in filters alone.
    """
    text = (text or "").rstrip()
    hits = list(_COMPARISON.finditer(text))
    if "".join(hit[0] for hit in hits) != text:
        raise invalid(f"Invalid filter '{text}'.", field="filter")
    terms: list[list[tuple[list[str], str, str]]] = []
    for word, name, sign, value in (hit.groups() for hit in hits):
        plain = re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] in "\"'" else value
        if word != "OR":
            terms.append([])
        terms[-1].append((others.get(camel(name), name).split("."), sign, plain))
    return lambda item: all(
        any(_holds(_values(item, path), sign, value) for path, sign, value in term) for term in terms
    )


def _values(item: Any, path: list[str]) -> list[Any]:
    """What stands at a path; of a list, what stands there in each of its members; nothing where nothing is set."""
    if isinstance(item, list):
        return [found for inner in item for found in _values(inner, path)]
    if not path:
        return [item]
    if not isinstance(item, dict):
        return []
    inner = item.get(path[0], item.get(camel(path[0])))
    return [] if inner is None else _values(inner, path[1:])


def _holds(found: list[Any], sign: str, value: str) -> bool:
    if sign == "!=":
        return not _holds(found, "=", value)
    if not found and sign == "=":
        # What is not set has the empty value of its kind.
        return value in ("false", "")
    return any(_has(each, value) if sign == ":" else _compares(each, sign, value) for each in found)


def _has(value: Any, wanted_text: str) -> bool:
    """`labels:env` asks for a key, `name:api` for a part of a text, `labels.env:*` for any value."""
    if isinstance(value, dict):
        return wanted_text in value or wanted_text == "*"
    return wanted_text.strip("*").lower() in str(value).lower()


def _compares(value: Any, sign: str, wanted_text: str) -> bool:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if _TIME.match(text) and _TIME.match(wanted_text):
        return _SIGNS[sign](seconds_of(text), seconds_of(wanted_text))
    return _SIGNS[sign](text, wanted_text)
