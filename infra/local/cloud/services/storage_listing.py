"""Cloud Storage: one page of a listing of objects.

Owns order (name, then generation), prefixes behind a delimiter, bounds, globs and page tokens. Pure: it is given the
objects and the request's parameters.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.cloud.errors import invalid
from infra.local.cloud.store import Resource

_DEFAULT_PAGE = 1000
_GLOB = re.compile(r"\*\*|\*|\?|[^*?]+")
_GLOB_PARTS = {"**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class ObjectPage:
    items: tuple[Resource, ...]
    prefixes: tuple[str, ...]
    next_token: str | None


def page(objects: Iterable[Resource], params: Mapping[str, Any]) -> ObjectPage:
    """One page; objects and prefixes share its size, as in the service. Raises 400 for a bad token or glob."""
    size, after = params.get("maxResults") or _DEFAULT_PAGE, _opened(params.get("pageToken"))
    wanted = _filter(params)
    folded = {
        key: held
        for held in objects
        if wanted(held.body["name"])
        for key in _keys(held, params)
        if after is None or key > after
    }
    keys = sorted(folded)
    shown = keys[:size]
    token = _sealed(shown[-1]) if len(keys) > size else None
    items = tuple(folded[key] for key in shown if key[1])
    return ObjectPage(items, tuple(name for name, generation in shown if not generation), token)


def _keys(held: Resource, params: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Where an object stands in a listing: at its name and generation, or as part of a prefix (generation 0)."""
    name, delimiter, start = held.body["name"], params.get("delimiter"), len(params.get("prefix", ""))
    own = (name, held.body["generation"])
    at = name.find(delimiter, start) if delimiter else -1
    if at < 0:
        return [own]
    end = at + len(delimiter or "")
    keys = [(name[:end], 0)]
    if params.get("includeTrailingDelimiter") and end == len(name):
        keys.append(own)
    return keys


def _filter(params: Mapping[str, Any]) -> Callable[[str], bool]:
    start, end, glob = params.get("startOffset"), params.get("endOffset"), params.get("matchGlob")
    pattern = _glob(glob) if glob else None

    def wanted(name: str) -> bool:
        return (
            (start is None or name >= start)
            and (end is None or name < end)
            and (pattern is None or pattern.fullmatch(name) is not None)
        )

    return wanted


def _glob(text: str) -> re.Pattern[str]:
    if set(text) & set("[]{}\\"):
        raise invalid(f"Invalid glob '{text}': only *, ** and ? are served here.", field="matchGlob")
    return re.compile("".join(_GLOB_PARTS.get(part) or re.escape(part) for part in _GLOB.findall(text)), re.DOTALL)


def _sealed(key: tuple[str, int]) -> str:
    return base64.urlsafe_b64encode(f"{key[1]} {key[0]}".encode()).decode()


def _opened(token: str | None) -> tuple[str, int] | None:
    if not token:
        return None
    try:
        generation, _, name = base64.urlsafe_b64decode(token).decode().partition(" ")
        return name, int(generation)
    except (binascii.Error, ValueError):
        raise invalid("Invalid page token.", field="pageToken") from None
