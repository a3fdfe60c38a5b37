"""The language in which lists are filtered: Google's AIP-160, as far as clients of the fleet write it.

Owns its grammar and its meaning over JSON as a service shows it. Source: google.aip.dev/160, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bench.cloud.clock import seconds_of
from bench.cloud.differences import camel
from bench.cloud.errors import ApiError, JsonObject, invalid

Wanted = Callable[[JsonObject], bool]

_TOKEN = re.compile(r"""\s*(?:("(?:[^"\\]|\\.)*"|'[^']*')|(<=|>=|!=|[=<>:()-])|([^\s()"'=<>:!]+))""")
_SIGNS = ("=", "!=", "<", "<=", ">", ">=", ":")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")


def wanted(text: str | None, others: Mapping[str, str]) -> Wanted:
    """Whether an item is in the list. Raises 400 for what cannot be read.

    others: further names of fields, which they have in filters alone.
    """
    if not text or not text.strip():
        return lambda _: True
    return _Reader(text, others).read()


class _Reader:
    """`a AND b OR c` means `a AND (b OR c)`; terms without a word between them are joined by AND."""

    def __init__(self, text: str, others: Mapping[str, str]) -> None:
        self.text, self.others, self.tokens, at = text.strip(), others, [""], 0
        while at < len(self.text):
            if (hit := _TOKEN.match(self.text, at)) is None:
                raise self._unread()
            self.tokens.insert(1, hit[0].strip())
            at = hit.end()

    def read(self) -> Wanted:
        whole = self._all()
        if self._next():
            raise self._unread()
        return whole

    def _all(self) -> Wanted:
        terms = [self._any()]
        while self._next() not in ("", ")"):
            self._skip("AND")
            terms.append(self._any())
        return lambda item: all(term(item) for term in terms)

    def _any(self) -> Wanted:
        terms = [self._term()]
        while self._skip("OR"):
            terms.append(self._term())
        return lambda item: any(term(item) for term in terms)

    def _term(self) -> Wanted:
        if self._skip("NOT") or self._skip("-"):
            inner = self._term()
            return lambda item: not inner(item)
        if self._skip("("):
            inner = self._all()
            if not self._skip(")"):
                raise self._unread()
            return inner
        return self._comparison()

    def _comparison(self) -> Wanted:
        name, sign, value = self._take(), self._next(), ""
        path = self.others.get(camel(name), name).split(".")
        if sign not in _SIGNS:
            raise self._unread()
        self.tokens.pop()
        value = f"-{self._take()}" if self._skip("-") else self._take()
        return lambda item: _holds(_values(item, path), sign, value)

    def _next(self) -> str:
        return self.tokens[-1]

    def _skip(self, word: str) -> bool:
        found = self._next() == word
        if found:
            self.tokens.pop()
        return found

    def _take(self) -> str:
        token = self._next()
        if token in ("", "(", ")", "AND", "OR", *_SIGNS):
            raise self._unread()
        self.tokens.pop()
        return re.sub(r"\\(.)", r"\1", token[1:-1]) if token[0] in "\"'" else token

    def _unread(self) -> ApiError:
        return invalid(f"Invalid filter '{self.text}'.", field="filter")


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
    if sign == "=":
        return text == wanted_text
    left, right = _sortable(text), _sortable(wanted_text)
    if type(left) is not type(right):
        left, right = text, wanted_text
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign]


def _sortable(text: str) -> Any:
    """Numbers by their value, times by when they are, all else as text."""
    if _TIME.match(text):
        return seconds_of(text)
    try:
        return float(text)
    except ValueError:
        return text
