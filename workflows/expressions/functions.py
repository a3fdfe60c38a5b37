"""GitHub's functions on values, and hashFiles over a checkout; those that ask how a job went are the evaluator's."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wcmatch import glob

from workflows.expressions.values import Value, equal, folded, primitive, text

MOST_ARGUMENTS = 255
_PLACEHOLDER = re.compile(r"(?P<open>\{\{)|(?P<close>\}\})|\{(?P<index>[0-9]+)\}|(?P<bad>[{}])")
_FLAGS = glob.GLOBSTAR | glob.DOTGLOB


class FunctionError(Exception):
    """Arguments that a function cannot take."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function's spelling in GitHub's documentation and how many arguments it takes."""

    name: str
    least: int
    most: int


FUNCTIONS = {
    function.name.lower(): function
    for function in (
        Function("case", 3, MOST_ARGUMENTS),
        Function("contains", 2, 2),
        Function("endsWith", 2, 2),
        Function("format", 1, MOST_ARGUMENTS),
        Function("fromJSON", 1, 1),
        Function("hashFiles", 1, MOST_ARGUMENTS),
        Function("join", 1, 2),
        Function("startsWith", 2, 2),
        Function("toJSON", 1, 1),
        Function("success", 0, MOST_ARGUMENTS),
        Function("failure", 0, MOST_ARGUMENTS),
        Function("always", 0, 0),
        Function("cancelled", 0, 0),
    )
}


def contains(search: Value, item: Value) -> bool:
    if primitive(search):
        return primitive(item) and folded(text(item)) in folded(text(search))
    return isinstance(search, list | tuple) and any(equal(item, each) for each in search)


def starts_with(whole: Value, start: Value) -> bool:
    return primitive(whole) and primitive(start) and folded(text(whole)).startswith(folded(text(start)))


def ends_with(whole: Value, end: Value) -> bool:
    return primitive(whole) and primitive(end) and folded(text(whole)).endswith(folded(text(end)))


def format_text(pattern: Value, *values: Value) -> str:
    template = text(pattern)

    def replaced(found: re.Match[str]) -> str:
        if found["open"] or found["close"]:
            return found[0][0]
        if found["bad"]:
            raise FunctionError(f"a brace of the format stands alone: {template}")
        if int(found["index"]) >= len(values):
            raise FunctionError(f"the format asks for value {found['index']} of {len(values)}: {template}")
        return text(values[int(found["index"])])

    return _PLACEHOLDER.sub(replaced, template)


def join(values: Value, separator: Value = ",") -> str:
    if primitive(values):
        return text(values)
    if not isinstance(values, list | tuple):
        return ""
    return (text(separator) if primitive(separator) else ",").join(map(text, values))


def to_json(value: Value) -> str:
    """JSON with two spaces a level, numbers as they are written in text."""
    return _json(value, "\n")


def _json(value: Value, line: str) -> str:
    inner = f"{line}  "
    if isinstance(value, Mapping):
        entries = [f"{json.dumps(key, ensure_ascii=False)}: {_json(each, inner)}" for key, each in value.items()]
        return f"{{{inner}{f',{inner}'.join(entries)}{line}}}" if entries else "{}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        entries = [_json(each, inner) for each in value]
        return f"[{inner}{f',{inner}'.join(entries)}{line}]" if entries else "[]"
    return "null" if value is None else text(value)


def from_json(value: Value) -> Value:
    try:
        return json.loads(text(value), parse_int=float, parse_constant=_no_constant)
    except ValueError as error:
        raise FunctionError(f"this is no JSON ({error}): {text(value)[:60]}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def case(*arguments: Callable[[], Value]) -> Value:
    """The value after the first predicate that holds, else the last argument; none is evaluated needlessly."""
    *pairs, otherwise = arguments
    for predicate, value in zip(pairs[::2], pairs[1::2], strict=True):
        held = predicate()
        if not isinstance(held, bool):
            raise FunctionError("a predicate of case is true or false")
        if held:
            return value()
    return otherwise()


PURE: Mapping[str, Callable[..., Value]] = {
    "contains": contains,
    "endswith": ends_with,
    "format": format_text,
    "fromjson": from_json,
    "join": join,
    "startswith": starts_with,
    "tojson": to_json,
}


def hash_files(root: Path, patterns: tuple[str, ...]) -> str:
    """One SHA-256 over those of all files below `root` that match, in the order of their paths; empty for none.

    As in https://github.com/actions/toolkit/tree/main/packages/glob (read 2026-11-21): patterns count from left to
    right, one with `!` first takes away, a `/` first means the root, and a folder means all below it.
    """
    found: set[str] = set()
    for pattern in patterns:
        anchored = pattern.removeprefix("!").strip("/")
        matched = set(glob.glob([anchored, f"{anchored}/**"], root_dir=root, flags=_FLAGS))
        found = found - matched if pattern.startswith("!") else found | matched
    files = [root / path for path in sorted(found) if (root / path).is_file()]
    if not files:
        return ""
    whole = hashlib.sha256()
    for file in files:
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()
