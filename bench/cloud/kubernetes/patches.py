"""The three patches that are no apply: JSON merge patch, JSON patch and strategic merge patch.

Sources: RFC 7396, RFC 6902 (by the library jsonpatch), and the Kubernetes documentation of strategic merge patch with
its directives (`$patch`, `$retainKeys`, `$deleteFromPrimitiveList/...`, `$setElementOrder/...`), read 2026-11.
"""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
from jsonpointer import JsonPointerException

from bench.cloud.kubernetes.shapes import ANY, Shape
from bench.cloud.kubernetes.status import StatusError, bad_request

_DELETED_FROM = "$deleteFromPrimitiveList/"
_ORDER_OF = "$setElementOrder/"


def merge(old: Any, patch: Any) -> Any:
    """A JSON merge patch: null removes."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(old) if isinstance(old, dict) else {}
    for name, each in patch.items():
        if each is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), each)
    return merged


def json_patch(old: Any, steps: Any) -> Any:
    """Raises 422 where a step does not fit, 400 for what is no patch."""
    if not isinstance(steps, list):
        raise bad_request("a JSON patch is a list of operations")
    try:
        return jsonpatch.apply_patch(old, steps)
    except (jsonpatch.JsonPatchConflict, jsonpatch.JsonPatchTestFailed, JsonPointerException) as error:
        raise StatusError(422, f"the server rejected our request due to an error in our request: {error}") from error
    except jsonpatch.JsonPatchException as error:
        raise bad_request(f"the JSON patch is not valid: {error}") from error


def strategic(shape: Shape, old: Any, patch: Any) -> Any:
    """As a merge patch, but lists whose items have a key are merged by it, and those that are sets by their values."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    match patch.get("$patch"):
        case "replace":
            return _plain({name: each for name, each in patch.items() if name != "$patch"})
        case "delete":
            return {}
    merged = dict(old) if isinstance(old, dict) else {}
    if (retained := patch.get("$retainKeys")) is not None:
        merged = {name: each for name, each in merged.items() if name in retained}
    for name, each in patch.items():
        if name.startswith(_DELETED_FROM):
            listed = name.removeprefix(_DELETED_FROM)
            merged[listed] = [kept for kept in merged.get(listed, []) if kept not in each]
        elif name.startswith("$"):
            continue
        elif each is None:
            merged.pop(name, None)
        else:
            merged[name] = _member(shape.field(name) or ANY, merged.get(name), each)
    return {name: _ordered(shape, name, each, patch) for name, each in merged.items()}


def _member(shape: Shape, old: Any, new: Any) -> Any:
    if not isinstance(new, list):
        return strategic(shape, old, new)
    stood = old if isinstance(old, list) else []
    if shape.distinct and not any(isinstance(each, dict) for each in new):
        return [*stood, *(each for each in new if each not in stood)]
    if not shape.strategic:
        return _plain(new)
    return _keyed(shape, stood, new)


def _keyed(shape: Shape, old: list[Any], new: list[Any]) -> list[Any]:
    """Items of `new` merged into those of `old` that have the same key."""
    key = shape.strategic
    if any(isinstance(each, dict) and set(each) == {"$patch"} and each["$patch"] == "replace" for each in new):
        return _plain([each for each in new if "$patch" not in each])
    items = list(old)
    for each in new:
        if not isinstance(each, dict) or key not in each:
            raise bad_request(f"map: {each} does not contain declared merge key: {key}")
        place = next((at for at, item in enumerate(items) if item.get(key) == each[key]), None)
        if each.get("$patch") == "delete":
            items = [item for item in items if item.get(key) != each[key]]
        elif place is None:
            items.append(strategic(shape.items, {}, each))
        else:
            items[place] = strategic(shape.items, items[place], each)
    return items


def _ordered(shape: Shape, name: str, value: Any, patch: dict[str, Any]) -> Any:
    """A list in the order that the patch asks for; what it does not name comes last."""
    order = patch.get(f"{_ORDER_OF}{name}")
    if not isinstance(order, list) or not isinstance(value, list):
        return value
    key = (shape.field(name) or ANY).strategic
    places = {each.get(key) if isinstance(each, dict) else each: place for place, each in enumerate(order)}
    return sorted(value, key=lambda each: places.get(each.get(key) if isinstance(each, dict) else each, len(places)))


def _plain(value: Any) -> Any:
    """Without directives, at any depth."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if not name.startswith("$")}
    return [_plain(each) for each in value] if isinstance(value, list) else value
