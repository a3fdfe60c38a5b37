"""Label selectors and field selectors of a list or a watch.

Source: the Kubernetes documentation, "Labels and Selectors" and "Field Selectors", read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from bench.cloud.kubernetes.status import bad_request

_SET = re.compile(r"\s*([^\s=!,()]+)\s+(in|notin)\s+\(([^)]*)\)\s*")
_EQUAL = re.compile(r"\s*([^\s=!,()]+)\s*(==|=|!=)\s*([^\s,()]*)\s*")
_THERE = re.compile(r"\s*(!?)\s*([^\s=!,()]+)\s*")
_COMMAS = re.compile(r",(?![^(]*\))")

Test = Callable[[dict[str, Any]], bool]


def labelled(selector: str) -> Test:
    """Whether the labels of an object fit. Raises 400."""
    tests = [_label_test(part) for part in _COMMAS.split(selector) if part.strip()]
    return lambda entity: all(test(entity["metadata"].get("labels") or {}) for test in tests)


def _label_test(part: str) -> Test:
    if match := _SET.fullmatch(part):
        key, how, said = match.groups()
        values = {each.strip() for each in said.split(",")}
        return lambda labels: (labels.get(key) in values) == (how == "in")
    if match := _EQUAL.fullmatch(part):
        key, how, value = match.groups()
        return lambda labels: (labels.get(key) == value) == (how != "!=")
    if match := _THERE.fullmatch(part):
        away, key = match.groups()
        return lambda labels: (key in labels) != bool(away)
    raise bad_request(f"unable to parse requirement: {part!r} is no label selector")


def fielded(selector: str) -> Test:
    """Whether fields of an object fit: `metadata.name=x,status.phase!=Running`. Raises 400."""
    tests = []
    for part in filter(None, selector.split(",")):
        match = _EQUAL.fullmatch(part)
        if match is None:
            raise bad_request(f"invalid selector: {part!r}; can't understand it")
        path, how, value = match.groups()
        tests.append((path.split("."), how != "!=", value))
    return lambda entity: all((_text(entity, path) == value) == equal for path, equal, value in tests)


def _text(entity: Any, path: list[str]) -> str:
    for name in path:
        entity = entity.get(name) if isinstance(entity, dict) else None
    return "" if entity is None else str(entity).lower() if isinstance(entity, bool) else str(entity)
