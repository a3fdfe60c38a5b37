"""Expressions to trees by GitHub's precedence: `||`, `&&`, equality, order, `!`, then indices and calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum, auto

from workflows.expressions.syntax import (
    Comparison,
    ExpressionError,
    FunctionCall,
    Index,
    Literal,
    Logic,
    Name,
    Node,
    Not,
    Star,
    depth,
)
from workflows.expressions.values import FUNCTIONS, parse_number

DEEPEST = 50
"""Levels of one expression: ExpressionConstants.cs of https://github.com/actions/runner (read 2026-11-21).

Brackets within brackets count too, as they do in GitHub's own library for editors, @actions/expressions.
"""
LONGEST = 21_000
"""Signs of one expression: ExpressionConstants.cs of https://github.com/actions/runner (read 2026-11-21)."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STRING = re.compile(r"'((?:[^']|'')*)'")
_SIGN = re.compile(r"&&|\|\||[!=<>]=|[()\[\],.*!<>]")
_WORD = re.compile(r"[^\s()\[\],.!<>=&|]+")
_DOTTED = re.compile(r"[^\s()\[\],!<>=&|]+")
_CONSTANTS = {"true": True, "false": False, "null": None, "NaN": float("nan"), "Infinity": float("inf")}
_BEFORE_DOT = frozenset((")", "]", "*"))


def parse(text: str, contexts: Collection[str] | None = None) -> Node:
    """The tree of an expression without its braces.

    contexts: names that may be read where it stands, any if None. ExpressionError for what GitHub would refuse.
    """
    parser = _Parser(text, contexts)
    node = parser.expression()
    parser.expect_end()
    if depth(node) > DEEPEST:
        raise ExpressionError(f"an expression is at most {DEEPEST} levels deep", text)
    return node


class _Parser:
    """Takes tokens from the left; each method reads what its name says and leaves the next token to its caller."""

    def __init__(self, text: str, contexts: Collection[str] | None) -> None:
        self._text = text
        self._contexts = None if contexts is None else {name.lower() for name in contexts}
        self._tokens = tokens(text)
        self._at = 0
        self._nested = 0

    def expression(self) -> Node:
        self._nested += 1
        if self._nested > DEEPEST:
            raise ExpressionError(f"an expression is at most {DEEPEST} levels deep", self._text, self._next.offset)
        node = self._logic("||", lambda: self._logic("&&", self._equality))
        self._nested -= 1
        return node

    def expect_end(self) -> None:
        if self._next.kind is not TokenKind.END:
            raise self._unexpected()

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, *signs: str) -> Token | None:
        """The next token if it is one of these signs."""
        token = self._next
        if token.kind is not TokenKind.SIGN or token.text not in signs:
            return None
        self._at += 1
        return token

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            raise self._unexpected(f", where {sign} is missing")

    def _unexpected(self, hint: str = "") -> ExpressionError:
        said = "the expression ends early" if self._next.kind is TokenKind.END else f"unexpected {self._next.text}"
        return ExpressionError(said + hint, self._text, self._next.offset)

    def _logic(self, operator: str, operand: Callable[[], Node]) -> Node:
        operands = [operand()]
        while self._take(operator):
            operands.append(operand())
        if len(operands) == 1:
            return operands[0]
        flat: list[Node] = []
        for each in operands:
            same = isinstance(each, Logic) and each.operator == operator
            flat += each.operands if same else [each]
        return Logic("&&" if operator == "&&" else "||", tuple(flat))

    def _equality(self) -> Node:
        node = self._order()
        while sign := self._take("==", "!="):
            node = Comparison("==" if sign.text == "==" else "!=", node, self._order())
        return node

    def _order(self) -> Node:
        node = self._unary()
        while sign := self._take("<", "<=", ">", ">="):
            match sign.text:
                case "<" | "<=" | ">" | ">=" as operator:
                    node = Comparison(operator, node, self._unary())
        return node

    def _unary(self) -> Node:
        negations = 0
        while self._take("!"):
            negations += 1
        node = self._indexed()
        for _ in range(negations):
            node = Not(node)
        return node

    def _indexed(self) -> Node:
        node = self._primary()
        if isinstance(node, Literal) and self._tokens[self._at - 1].text != ")":
            return node
        while sign := self._take(".", "["):
            if self._take("*"):
                key: Node = Star()
            elif sign.text == "[":
                key = self.expression()
            elif self._next.kind is TokenKind.NAME:
                key = Literal(self._next.text)
                self._at += 1
            else:
                raise self._unexpected(", where a property's name or * belongs")
            if sign.text == "[":
                self._need("]")
            node = Index(node, key)
        return node

    def _primary(self) -> Node:
        token = self._next
        if token.kind is TokenKind.LITERAL:
            self._at += 1
            return Literal(token.value)
        if token.kind is TokenKind.NAME:
            self._at += 1
            return self._call(token) if self._take("(") else self._name(token)
        if self._take("("):
            node = self.expression()
            self._need(")")
            return node
        raise self._unexpected()

    def _name(self, token: Token) -> Node:
        if self._contexts is not None and token.text.lower() not in self._contexts:
            known = ", ".join(sorted(self._contexts)) or "none"
            raise ExpressionError(f"no context {token.text} here, which has {known}", self._text, token.offset)
        return Name(token.text, token.offset)

    def _call(self, token: Token) -> Node:
        arguments: list[Node] = []
        if not self._take(")"):
            arguments.append(self.expression())
            while self._take(","):
                arguments.append(self.expression())
            self._need(")")
        known = FUNCTIONS.get(token.text.lower())
        if known is None:
            raise ExpressionError(f"no function {token.text}", self._text, token.offset)
        if not known.least <= len(arguments) <= known.most or (known.name == "case" and len(arguments) % 2 == 0):
            takes = f"{known.least}" if known.least == known.most else f"{known.least} to {known.most}"
            odd = ", an odd number" if known.name == "case" else ""
            said = f"{known.name} takes {takes} arguments{odd}, not {len(arguments)}"
            raise ExpressionError(said, self._text, token.offset)
        return FunctionCall(token.text.lower(), tuple(arguments), token.offset)


class TokenKind(Enum):
    SIGN = auto()
    NAME = auto()
    LITERAL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
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
            return [*found, Token(TokenKind.END, "", offset)]
        token = _token(text, offset, found[-1] if found else None)
        found.append(token)
        offset += len(token.text)


def _token(text: str, offset: int, last: Token | None) -> Token:
    first = text[offset]
    if first == "'":
        if string := _STRING.match(text, offset):
            return Token(TokenKind.LITERAL, string[0], offset, string[1].replace("''", "'"))
        raise ExpressionError("a string has no closing quote", text, offset)
    after_value = last is not None and (last.kind is TokenKind.NAME or last.text in _BEFORE_DOT)
    if first in "+-0123456789" or (first == "." and not after_value):
        return _number(text, offset)
    if sign := _SIGN.match(text, offset):
        return Token(TokenKind.SIGN, sign[0], offset)
    word = _WORD.match(text, offset)
    said = word[0] if word else first
    if not _NAME.fullmatch(said):
        hint = "; strings stand in single quotes" if first == '"' else ""
        raise ExpressionError(f"unexpected {said}{hint}", text, offset)
    if said in _CONSTANTS and not (last is not None and last.text == "."):
        return Token(TokenKind.LITERAL, said, offset, _CONSTANTS[said])
    return Token(TokenKind.NAME, said, offset)


def _number(text: str, offset: int) -> Token:
    word = _DOTTED.match(text, offset)
    said = word[0] if word else text[offset]
    value = parse_number(said)
    if value != value:
        raise ExpressionError(f"unexpected {said}", text, offset)
    return Token(TokenKind.LITERAL, said, offset, value)
