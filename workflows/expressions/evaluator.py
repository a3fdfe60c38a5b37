"""The value of a tree in given contexts, of text with `${{ }}` in it, and what a condition asks.

Owns evaluation; leaves what the contexts hold to the caller.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from wcmatch import glob

from workflows.expressions.parser import parse
from workflows.expressions.syntax import (
    STATUS_FUNCTIONS,
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
    functions,
)
from workflows.expressions.values import (
    PURE,
    Filtered,
    FunctionError,
    Value,
    case,
    equal,
    has_member,
    less,
    member,
    number,
    primitive,
    text,
    truthy,
)

_FLAGS = glob.GLOBSTAR | glob.DOTGLOB
_LARGEST_INDEX = 2**31 - 1
_SUCCESS = FunctionCall("success", (), 0)


@dataclass(frozen=True, slots=True)
class JobStatus:
    """How what came before went: the steps of a job so far, or every job that one waits for.

    results: how each job that one waits for ended, for those who ask for some of them by name.
    """

    success: bool = True
    failure: bool = False
    cancelled: bool = False
    results: Mapping[str, str] = field(default_factory=dict)

    def of(self, jobs: tuple[str, ...], asked: str) -> bool:
        """Whether all of the named jobs succeeded, or one of them failed; a job that is not in `needs` did neither."""
        ended = [member(self.results, job) for job in jobs]
        return all(each == "success" for each in ended) if asked == "success" else "failure" in ended


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression can ask: contexts by name, the status, and files by hashFiles (None where there are none)."""

    contexts: Mapping[str, Value] = field(default_factory=dict)
    status: JobStatus = field(default_factory=JobStatus)
    hash_files: Callable[[tuple[str, ...]], str] | None = None


def evaluate(expression: str | Node, scope: Scope) -> Value:
    """The value of an expression; a text is parsed with the scope's contexts alone.

    ExpressionError where it cannot be read, or a function cannot take what it is given.
    """
    if isinstance(expression, str):
        return _Evaluator(scope, expression).value(parse(expression, scope.contexts))
    return _Evaluator(scope, "").value(expression)


class _Evaluator:
    def __init__(self, scope: Scope, source: str) -> None:
        self._scope = scope
        self._source = source

    def value(self, node: Node) -> Value:
        match node:
            case Literal(value):
                return value
            case Name(name):
                return member(self._scope.contexts, name)
            case Index(of, key):
                return self._index(self.value(of), key)
            case Not(operand):
                return not truthy(self.value(operand))
            case Comparison(operator, left, right):
                return _compare(operator, self.value(left), self.value(right))
            case Logic(operator, operands):
                return self._logic(operator, operands)
            case FunctionCall():
                return self._call(node)
            case Star():
                raise ExpressionError("* stands behind a dot or in brackets", self._source)

    def _logic(self, operator: str, operands: tuple[Node, ...]) -> Value:
        """The operand that decides, which need be no boolean; those behind it are not evaluated."""
        value: Value = None
        for operand in operands:
            value = self.value(operand)
            if truthy(value) == (operator == "||"):
                break
        return value

    def _index(self, of: Value, key: Node) -> Value:
        if isinstance(of, Filtered):
            each = [_pick(item, key, self) for item in of]
            return Filtered(value for picked in each for value in picked)
        picked = _pick(of, key, self)
        if isinstance(key, Star):
            return Filtered(picked)
        return picked[0] if picked else None

    def _call(self, call: FunctionCall) -> Value:
        match call.function:
            case "always":
                return True
            case "success" | "failure" as asked if call.arguments:
                jobs = tuple(text(self.value(argument)) for argument in call.arguments)
                return self._scope.status.of(jobs, asked)
            case "success" | "failure" | "cancelled" as status:
                return bool(getattr(self._scope.status, status))
        try:
            if call.function == "case":
                return case(*(partial(self.value, argument) for argument in call.arguments))
            arguments = [self.value(argument) for argument in call.arguments]
            if call.function == "hashfiles":
                return self._hash(call, tuple(map(text, arguments)))
            return PURE[call.function](*arguments)
        except FunctionError as error:
            raise ExpressionError(str(error), self._source, call.offset) from None

    def _hash(self, call: FunctionCall, patterns: tuple[str, ...]) -> str:
        if self._scope.hash_files is None:
            raise ExpressionError("hashFiles needs a workspace, and there is none here", self._source, call.offset)
        return self._scope.hash_files(patterns)


def _pick(of: Value, key: Node, evaluator: _Evaluator) -> list[Any]:
    """What a key selects of one value: all, one or nothing."""
    if isinstance(of, Mapping):
        if isinstance(key, Star):
            return list(of.values())
        name = evaluator.value(key)
        return [member(of, text(name))] if primitive(name) and has_member(of, text(name)) else []
    if isinstance(of, list | tuple):
        if isinstance(key, Star):
            return list(of)
        position = number(evaluator.value(key))
        if math.isnan(position) or not 0 <= position <= _LARGEST_INDEX or int(position) >= len(of):
            return []
        return [of[int(position)]]
    return []


def _compare(operator: str, left: Value, right: Value) -> bool:
    match operator:
        case "==":
            return equal(left, right)
        case "!=":
            return not equal(left, right)
        case "<":
            return less(left, right)
        case "<=":
            return less(left, right) or equal(left, right)
        case ">":
            return less(right, left)
        case _:
            return less(right, left) or equal(left, right)


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
        asked = FunctionCall("format", (Literal(_pattern(pieces)), *values), 0)
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
