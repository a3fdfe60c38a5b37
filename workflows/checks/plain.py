"""Plain data of a file of any shape: scalars as text, mappings or nothing, every text with its place, expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from infra.model.errors import ConfigError
from workflows.dump import Path
from workflows.expressions import STATUS_FUNCTIONS, ExpressionError, condition, parse, parts, references
from workflows.expressions.syntax import Comparison, FunctionCall, Logic, Node, Not

_ANSWERS = STATUS_FUNCTIONS | {"contains", "startswith", "endswith", "hashfiles"}
"""Functions that give no part of what they are given."""


@lru_cache(maxsize=4096)
def parsed(expression: str) -> Node | None:
    """None where GitHub could not read it."""
    try:
        return parse(expression)
    except ExpressionError:
        return None


def only(whole: str) -> Node | None:
    """The expression that a text is, None where it is none, holds more or cannot be read."""
    try:
        pieces = list(parts(whole.strip()))
    except ExpressionError:
        return None
    return parsed(pieces[0].text) if len(pieces) == 1 and pieces[0].expression else None


def text(value: Any) -> str:
    """A scalar as the text that it is at GitHub; nothing for what is no scalar."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""


def listed(value: Any) -> tuple[str, ...]:
    """One text or a list of texts, as a list; what is neither is left out."""
    values = value if isinstance(value, list) else [value]
    return tuple(text(each) for each in values if text(each))


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def at(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


def texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every text in plain data, with where it stands."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from texts(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from texts(each, (*path, index))


def asked_condition(written: Any) -> Node | None:
    if not isinstance(written, str | bool | int | float | None):
        return None
    try:
        return condition(written)
    except (ExpressionError, ConfigError):
        return None


def becomes(node: Node) -> Iterator[str]:
    """Paths whose value can become the text of an expression; what is only compared or asked for its truth cannot."""
    match node:
        case Comparison() | Not():
            return
        case Logic("&&", operands):
            # What an earlier operand may give is empty, false or null.
            yield from becomes(operands[-1])
        case Logic(_, operands):
            for operand in operands:
                yield from becomes(operand)
        case FunctionCall(function) if function in _ANSWERS:
            return
        case FunctionCall(arguments=arguments):
            for argument in arguments:
                yield from becomes(argument)
        case _:
            yield from references(node)


def becoming(content: str) -> Iterator[tuple[str, int]]:
    """The contexts whose values become part of a text, with how far into it each stands, in lines."""
    try:
        pieces = [piece for piece in parts(content) if piece.expression]
    except ExpressionError:
        return
    for piece in pieces:
        node = parsed(piece.text)
        for path in sorted(set(becomes(node))) if node is not None else ():
            yield path, content.count("\n", 0, piece.offset)
