"""The text of an expression to tokens: numbers, strings, names and signs. Leaves their order to the parser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from workflows.expressions.errors import ExpressionError
from workflows.expressions.values import parse_number

LONGEST = 21_000
"""Signs of one expression: ExpressionConstants.cs of https://github.com/actions/runner (read 2026-11-21)."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STRING = re.compile(r"'((?:[^']|'')*)'")
_SIGN = re.compile(r"&&|\|\||[!=<>]=|[()\[\],.*!<>]")
_WORD = re.compile(r"[^\s()\[\],.!<>=&|]+")
_DOTTED = re.compile(r"[^\s()\[\],!<>=&|]+")
_CONSTANTS = {"true": True, "false": False, "null": None, "NaN": float("nan"), "Infinity": float("inf")}
_BEFORE_DOT = frozenset((")", "]", "*"))


class Kind(Enum):
    SIGN = auto()
    NAME = auto()
    LITERAL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    offset: int
    value: bool | float | str | None = None


def tokens(text: str) -> list[Token]:
    """All tokens of an expression, the last one its end; ExpressionError where something is none."""
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression has at most {LONGEST} signs, this one {len(text)}", text[:40] + "...")
    found: list[Token] = []
    offset = 0
    while True:
        while offset < len(text) and text[offset].isspace():
            offset += 1
        if offset == len(text):
            return [*found, Token(Kind.END, "", offset)]
        token = _token(text, offset, found[-1] if found else None)
        found.append(token)
        offset += len(token.text)


def _token(text: str, offset: int, last: Token | None) -> Token:
    first = text[offset]
    if first == "'":
        if string := _STRING.match(text, offset):
            return Token(Kind.LITERAL, string[0], offset, string[1].replace("''", "'"))
        raise ExpressionError("a string has no closing quote", text, offset)
    after_value = last is not None and (last.kind is Kind.NAME or last.text in _BEFORE_DOT)
    if first in "+-0123456789" or (first == "." and not after_value):
        return _number(text, offset)
    if sign := _SIGN.match(text, offset):
        return Token(Kind.SIGN, sign[0], offset)
    word = _WORD.match(text, offset)
    said = word[0] if word else first
    if not _NAME.fullmatch(said):
        hint = "; strings stand in single quotes" if first == '"' else ""
        raise ExpressionError(f"unexpected {said}{hint}", text, offset)
    if said in _CONSTANTS and not (last is not None and last.text == "."):
        return Token(Kind.LITERAL, said, offset, _CONSTANTS[said])
    return Token(Kind.NAME, said, offset)


def _number(text: str, offset: int) -> Token:
    word = _DOTTED.match(text, offset)
    said = word[0] if word else text[offset]
    value = parse_number(said)
    if value != value:
        raise ExpressionError(f"unexpected {said}", text, offset)
    return Token(Kind.LITERAL, said, offset, value)
