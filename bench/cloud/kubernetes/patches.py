"""The two patches that are no apply: JSON merge patch and strategic merge patch.

Sources: RFC 7396, and the Kubernetes documentation of strategic merge patch, of whose directives `$patch: delete` is
followed and the others say nothing here.
"""

from __future__ import annotations

import copy
from typing import Any

from bench.cloud.kubernetes.shapes import ANY, Shape
from bench.cloud.kubernetes.status import bad_request


def merge(old: Any, patch: Any) -> Any:
    """A JSON merge patch: null removes."""
    return strategic(ANY, old, patch)


def strategic(shape: Shape, old: Any, patch: Any) -> Any:
    """As a merge patch, but lists whose items have a key are merged by it."""
    if isinstance(patch, list) and shape.strategic:
        return _keyed(shape, old if isinstance(old, list) else [], patch)
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(old) if isinstance(old, dict) else {}
    for name, each in patch.items():
        if each is None:
            merged.pop(name, None)
        elif not name.startswith("$"):
            merged[name] = strategic(shape.field(name) or ANY, merged.get(name), each)
    return merged


def _keyed(shape: Shape, old: list[Any], new: list[Any]) -> list[Any]:
    """Items of `new` merged into those of `old` that have the same key."""
    key, items = shape.strategic, {each.get(shape.strategic): each for each in old}
    for each in new:
        if not isinstance(each, dict) or key not in each:
            raise bad_request(f"map: {each} does not contain declared merge key: {key}")
        if each.get("$patch") == "delete":
            items.pop(each[key], None)
        else:
            items[each[key]] = strategic(shape.items, items.get(each[key]), each)
    return list(items.values())
