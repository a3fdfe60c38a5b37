"""Property paths (`labels.owner`, `dataDisks[0].mode`, `metadata["a.b"]`), and plain differences between properties.

Owns their text form, matching, reading and writing at a path. Does not own what a difference means, which a provider
decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from infra.model.secret_values import Secret

T = TypeVar("T")
Place = tuple[str | int, ...]
_PLAIN = re.compile(r"[^.\[\]\"]+")
_TOKEN = re.compile(r'\.?([^.\[\]"]+)|\[(\d+|\*)\]|\["((?:[^"\\]|\\.)*)"\]')
ABSENT = object()


@lru_cache(maxsize=4096)
def parse(path: str) -> Place:
    """The keys and indices of a path; `*` stands for any. A text that is no path is one key as it stands."""
    parts: list[str | int] = []
    at = 0
    while at < len(path):
        found = _TOKEN.match(path, at)
        if found is None:
            return (path,)
        plain, index, quoted = found.groups()
        if plain is not None:
            parts.append(plain)
        elif index is not None:
            parts.append(index if index == "*" else int(index))
        else:
            parts.append(re.sub(r"\\(.)", r"\1", quoted))
        at = found.end()
    return tuple(parts)


def render(place: Place) -> str:
    """The text of a place."""
    text = ""
    for part in place:
        text += render_below(part, text)
    return text


def render_below(part: str | int, above: str) -> str:
    """The text of one key or index behind that of what it is in."""
    if isinstance(part, int):
        return f"[{part}]"
    if _PLAIN.fullmatch(part):
        return f".{part}" if above else part
    escaped = part.replace("\\", "\\\\").replace('"', '\\"')
    return f'["{escaped}"]'


def covers(pattern: Place, place: Place) -> bool:
    """Whether a place is at or below what a pattern names, or above it."""
    return all(want in ("*", part) for want, part in zip(pattern, place, strict=False))


def get(value: Any, place: Place) -> Any:
    """What stands at a place, ABSENT where nothing does. A secret is looked into and what is found stays secret."""
    for index, part in enumerate(place):
        if isinstance(value, Secret):
            found = get(value.value, place[index:])
            return found if found is ABSENT else Secret(found)
        if isinstance(value, dict):
            value = value.get(part, ABSENT)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return ABSENT
        if value is ABSENT:
            return ABSENT
    return value


def put(value: Any, place: Place, new: Any) -> Any:
    """The value with something else at a place; ABSENT takes it away. Where the way to it is missing, as it was."""
    if not place:
        return new
    head, rest = place[0], place[1:]
    if isinstance(value, Secret):
        return Secret(put(value.value, place, new))
    if isinstance(value, dict) and isinstance(head, str):
        inner = put(value.get(head, {} if rest else ABSENT), rest, new)
        if inner is ABSENT or (rest and head not in value and not inner):
            return {key: item for key, item in value.items() if key != head}
        return value | {head: inner}
    if isinstance(value, list) and isinstance(head, int) and head < len(value):
        inner = put(value[head], rest, new)
        return [*value[:head], *([] if inner is ABSENT else [inner]), *value[head + 1 :]]
    return value


def differences(old: Any, new: Any, at: Place = ()) -> Iterator[tuple[Place, Any, Any]]:
    """Every place where two values differ, as deep as both have parts, with what stands there (ABSENT for nothing)."""
    if isinstance(old, Secret) != isinstance(new, Secret):
        old_plain = old.value if isinstance(old, Secret) else old
        new_plain = new.value if isinstance(new, Secret) else new
        if old_plain != new_plain:
            yield at, old, new
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), (*at, key))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else ABSENT
            after = new[index] if index < len(new) else ABSENT
            yield from differences(before, after, (*at, index))
    elif old is ABSENT or new is ABSENT or old != new:
        yield at, old, new


def of_the_program(
    detail: Mapping[str, T], before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Mapping[str, T]:
    """Of differences by path, those of properties that the program has or had; all where there are none of these.

    What a provider computes follows from the inputs, and Google's tells it besides: a changed label as `labels`,
    `effectiveLabels` and `pulumiLabels`, new content with its hashes (seen with pulumi-gcp 10.2, 2026-11).
    """
    written = {*(before or {}), *(after or {})}
    own = {path: how for path, how in detail.items() if parse(path)[0] in written}
    return own or detail
