"""The language in which lists are filtered and ordered: Google's AIP-160, and the older words of Compute Engine.

Owns its grammar and its meaning over JSON as a service shows it. Source: google.aip.dev/160 and /132; of `eq` and `ne`,
whose values are regular expressions, cloud.google.com/compute/docs/reference/rest/v1/networks/list. Read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.cloud.clock import seconds_of
from bench.cloud.differences import camel
from bench.cloud.errors import ApiError, JsonObject, invalid

Wanted = Callable[[JsonObject], bool]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<sign><=|>=|!=|[=<>:()-])|(?P<word>[^\s()"'=<>:!]+))"""
)
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">=", ":", "eq", "ne"})
_RESERVED = _COMPARISONS | {"(", ")", "AND", "OR"}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")


def wanted(text: str | None, known: Collection[str], others: Mapping[str, str]) -> Wanted:
    """Whether an item is in the list. Raises 400 for what cannot be read.

    known: fields that items have. others: further names of fields, which they have in filters alone.
    """
    if not text or not text.strip():
        return lambda _: True
    return _Reader(text, known, others).read()


def order(text: str | None, known: Collection[str]) -> Callable[[list[JsonObject]], list[JsonObject]]:
    """What brings items into the order of `name desc, createTime`; those without a field come first. Raises 400."""
    keys: list[tuple[list[str], bool]] = []
    for part in (text or "").split(","):
        words = part.split()
        if not words and text and text.strip():
            raise invalid(f"Invalid order '{text}'.", field="orderBy")
        if words:
            keys.append((_path(words[0], known, "orderBy"), _descending(words, text or "")))

    def ordered(items: list[JsonObject]) -> list[JsonObject]:
        for path, backwards in reversed(keys):
            items = sorted(items, key=lambda item, path=path: _sortable(_values(item, path)), reverse=backwards)
        return items

    return ordered


def _descending(words: list[str], text: str) -> bool:
    if len(words) > 2 or (len(words) == 2 and words[1].lower() not in ("asc", "desc")):
        raise invalid(f"Invalid order '{text}': write FIELD, FIELD asc or FIELD desc, with commas.", field="orderBy")
    return len(words) == 2 and words[1].lower() == "desc"


def _sortable(found: list[Any]) -> tuple[int, float, str]:
    """Numbers by their value, times by when they are, all else as text; what is not set comes first."""
    if not found:
        return 0, 0.0, ""
    text = _text(found[0])
    if _NUMBER.fullmatch(text):
        return 1, float(text), ""
    if _TIME.match(text):
        return 2, seconds_of(text), ""
    return 3, 0.0, text


@dataclass(slots=True)
class _Reader:
    """`a AND b OR c` means `a AND (b OR c)`; terms without a word between them are joined by AND."""

    text: str
    known: Collection[str]
    others: Mapping[str, str]
    tokens: list[tuple[str, bool]] = field(init=False)

    def __post_init__(self) -> None:
        self.tokens, at = [], 0
        stripped = self.text.rstrip()
        while at < len(stripped):
            hit = _TOKEN.match(stripped, at)
            if hit is None:
                raise self._unread()
            quoted = hit["text"]
            # Only quotes are escaped: any other backslash belongs to a regular expression.
            value = re.sub(r"\\([\"'])", r"\1", quoted[1:-1]) if quoted else hit["sign"] or hit["word"]
            self.tokens.append((value, bool(quoted)))
            at = hit.end()

    def read(self) -> Wanted:
        whole = self._all()
        if self.tokens:
            raise self._unread()
        return whole

    def _all(self) -> Wanted:
        terms = [self._any()]
        while self.tokens and not self._next(")"):
            if self._next("AND"):
                self.tokens.pop(0)
            terms.append(self._any())
        return lambda item: all(term(item) for term in terms)

    def _any(self) -> Wanted:
        terms = [self._term()]
        while self._next("OR"):
            self.tokens.pop(0)
            terms.append(self._term())
        return lambda item: any(term(item) for term in terms)

    def _term(self) -> Wanted:
        if self._next("NOT") or self._next("-"):
            self.tokens.pop(0)
            inner = self._term()
            return lambda item: not inner(item)
        if self._next("("):
            self.tokens.pop(0)
            inner = self._all()
            if not self._next(")"):
                raise self._unread()
            self.tokens.pop(0)
            return inner
        return self._comparison()

    def _comparison(self) -> Wanted:
        name, quoted = self._take()
        if name.endswith(".") and not quoted:
            # A key with dots in it: labels."a.b".
            name += self._take()[0]
        if not self.tokens or self.tokens[0][1] or self.tokens[0][0] not in _COMPARISONS:
            return lambda item: any(name.lower() in text.lower() for text in _texts(item))
        sign, path = self.tokens.pop(0)[0], _path(self.others.get(camel(name), name), self.known, "filter")
        if self._next("-"):
            self.tokens.pop(0)
            value = f"-{self._take()[0]}"
        else:
            value = self._take()[0]
        if quoted and not path:
            raise self._unread()
        return lambda item: _holds(_values(item, path), sign, value)

    def _next(self, word: str) -> bool:
        return bool(self.tokens) and self.tokens[0] == (word, False)

    def _take(self) -> tuple[str, bool]:
        if not self.tokens or (self.tokens[0][0] in _RESERVED and not self.tokens[0][1]):
            raise self._unread()
        return self.tokens.pop(0)

    def _unread(self) -> ApiError:
        return invalid(f"Invalid filter '{self.text}'.", field="filter")


def _path(name: str, known: Collection[str], parameter: str) -> list[str]:
    """The parts of a field's name; only the first is known to everybody, since maps have any key."""
    head, *rest = name.split(".")
    if known and camel(head) not in known:
        raise invalid(f"Invalid {parameter}: there is no field '{head}'.", field=parameter)
    return [camel(head), *rest]


def _values(item: Any, path: list[str]) -> list[Any]:
    """What stands at a path; of a list, what stands there in each of its members; nothing where nothing is set."""
    if isinstance(item, list):
        return [found for inner in item for found in _values(inner, path)]
    if not path:
        return [item]
    if not isinstance(item, dict):
        return []
    # A key of a map may have dots in it.
    whole = ".".join(path)
    if whole in item:
        return _values(item[whole], [])
    inner = item.get(path[0], item.get(camel(path[0])))
    return [] if inner is None else _values(inner, path[1:])


def _texts(item: Any) -> list[str]:
    if isinstance(item, dict):
        return [text for key, inner in item.items() for text in (key, *_texts(inner))]
    if isinstance(item, list):
        return [text for inner in item for text in _texts(inner)]
    return [_text(item)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _holds(found: list[Any], sign: str, value: str) -> bool:
    if sign == "!=":
        return not _holds(found, "=", value)
    if sign == "ne":
        return not _holds(found, "eq", value)
    if sign == "eq":
        return any(_regular(value).fullmatch(_text(each)) for each in found)
    if sign == ":":
        return any(_has(each, value) for each in found)
    if not found and sign == "=":
        # What is not set has the empty value of its kind.
        found = [False] if value in ("true", "false") else [""]
    return any(_compares(each, sign, value) for each in found)


def _regular(value: str) -> re.Pattern[str]:
    try:
        return re.compile(value)
    except re.error:
        raise invalid(f"Invalid filter: '{value}' is not a regular expression.", field="filter") from None


def _has(value: Any, wanted_text: str) -> bool:
    """`labels:env` asks for a key, `name:api` for a part of a text, `labels.env:*` for any value."""
    if wanted_text == "*":
        return True
    if isinstance(value, dict):
        return wanted_text in value
    return wanted_text.strip("*").lower() in _text(value).lower()


def _compares(value: Any, sign: str, wanted_text: str) -> bool:
    text = _text(value)
    if sign == "=":
        pattern = ".*".join(re.escape(part) for part in wanted_text.split("*"))
        return re.fullmatch(pattern, text, re.DOTALL) is not None
    left, right = _sortable([text]), _sortable([wanted_text])
    if left[0] != right[0]:
        left, right = (3, 0.0, text), (3, 0.0, wanted_text)
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign]
