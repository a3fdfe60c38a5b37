"""Partial responses: the `fields` query of every Google API, such as `services/name,nextPageToken` or `items(id,name)`.

Owns its grammar and its effect on an answer.
"""

from __future__ import annotations

from typing import Any

from infra.local.cloud.errors import invalid

# A selection is the names wanted on one level; an empty one wants everything below.
Selection = dict[str, "Selection"]


def selected(answer: Any, expression: str) -> Any:
    """The part of an answer that a `fields` expression names. Raises 400 for one that cannot be read."""
    selection, end = _parsed(expression, 0)
    if end != len(expression):
        raise invalid(f"Invalid field selection {expression}", field="fields")
    return _cut(answer, selection)


def _parsed(text: str, at: int) -> tuple[Selection, int]:
    chosen: Selection = {}
    while True:
        at = _one(text, at, chosen)
        if at >= len(text) or text[at] != ",":
            return chosen, at
        at += 1


def _one(text: str, at: int, chosen: Selection) -> int:
    begin = at
    while at < len(text) and text[at] not in ",/()":
        at += 1
    name = text[begin:at].strip()
    if not name:
        raise invalid(f"Invalid field selection {text}", field="fields")
    below = chosen.setdefault(name, {})
    if at < len(text) and text[at] == "/":
        return _one(text, at + 1, below)
    if at < len(text) and text[at] == "(":
        inner, at = _parsed(text, at + 1)
        if at >= len(text) or text[at] != ")":
            raise invalid(f"Invalid field selection {text}", field="fields")
        below.update(inner)
        return at + 1
    return at


def _cut(value: Any, selection: Selection) -> Any:
    if not selection or ("*" in selection and not selection["*"]):
        return value
    if isinstance(value, list):
        return [_cut(inner, selection) for inner in value]
    if not isinstance(value, dict):
        return value
    everything = selection.get("*")
    return {
        key: _cut(inner, selection.get(key, everything or {}))
        for key, inner in value.items()
        if key in selection or everything is not None
    }
