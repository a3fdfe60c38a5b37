"""Text with `${{ }}` in it, and conditions, whose braces may be left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from workflows.expressions.errors import ExpressionError
from workflows.expressions.evaluator import Scope, evaluate
from workflows.expressions.parser import parse
from workflows.expressions.syntax import STATUS_FUNCTIONS, Call, Literal, Logic, Node, functions
from workflows.expressions.values import Value, text

_SUCCESS = Call("success", (), 0)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a text: an expression without its braces, or text that stands for itself; `offset` is in the text."""

    text: str
    expression: bool
    offset: int


def parts(whole: str) -> Iterator[Part]:
    """The pieces of a text in order; ExpressionError where braces do not close. A quote hides braces within it."""
    at = 0
    while (start := whole.find("${{", at)) >= 0:
        if start > at:
            yield Part(whole[at:start], expression=False, offset=at)
        end = _end(whole, start + 3)
        if end < 0:
            raise ExpressionError("${{ has no closing }}", whole, start)
        yield Part(whole[start + 3 : end], expression=True, offset=start + 3)
        at = end + 2
    if at < len(whole):
        yield Part(whole[at:], expression=False, offset=at)


def _end(whole: str, start: int) -> int:
    quoted = False
    for offset in range(start, len(whole)):
        if whole[offset] == "'":
            quoted = not quoted
        elif not quoted and whole.startswith("}}", offset):
            return offset
    return -1


def expand(whole: str, scope: Scope) -> Value:
    """A text with its expressions evaluated: of an expression alone its value, else text."""
    pieces = list(parts(whole))
    if len(pieces) == 1 and pieces[0].expression:
        return evaluate(pieces[0].text, scope)
    return "".join(text(evaluate(piece.text, scope)) if piece.expression else piece.text for piece in pieces)


def condition(written: str | bool | float | None, contexts: Collection[str] | None = None) -> Node:
    """What an `if:` asks: success() and what is written, unless that asks for the status itself.

    Text beside an expression makes the whole a text, which is never empty and so always holds, as it is at GitHub.
    """
    if not isinstance(written, str):
        return _SUCCESS if written is None else Logic("&&", (_SUCCESS, Literal(written)))
    pieces = list(parts(written.strip()))
    if not pieces:
        return _SUCCESS
    if len(pieces) == 1:
        asked: Node = parse(pieces[0].text, contexts)
    else:
        values = [parse(piece.text, contexts) for piece in pieces if piece.expression]
        asked = Call("format", (Literal(_pattern(pieces)), *values), 0)
    if functions(asked) & STATUS_FUNCTIONS:
        return asked
    every = asked.operands if isinstance(asked, Logic) and asked.operator == "&&" else (asked,)
    return Logic("&&", (_SUCCESS, *every))


def _pattern(pieces: list[Part]) -> str:
    pattern, count = "", 0
    for piece in pieces:
        if piece.expression:
            pattern += f"{{{count}}}"
            count += 1
        else:
            pattern += piece.text.replace("{", "{{").replace("}", "}}")
    return pattern
