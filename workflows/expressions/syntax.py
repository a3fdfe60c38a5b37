"""Expressions as trees, and what can be told of one without evaluating it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as OneOf

from workflows.expressions.values import text

_PROPERTY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

STATUS_FUNCTIONS = frozenset(("success", "failure", "always", "cancelled"))
"""Functions that say how what came before went; a condition with none of them holds only after success."""


@dataclass(frozen=True, slots=True)
class Literal:
    value: bool | float | str | None


@dataclass(frozen=True, slots=True)
class Name:
    """A context, as written."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Star:
    """The filter `*`, which takes every value of an object or a list."""


@dataclass(frozen=True, slots=True)
class Index:
    """`of.key` and `of[key]`, which mean the same."""

    of: Node
    key: Node


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function by its name in lower case."""

    function: str
    arguments: tuple[Node, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Not:
    operand: Node


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: OneOf["==", "!=", "<", "<=", ">", ">="]
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """`a && b && c` is one of them with three operands."""

    operator: OneOf["&&", "||"]
    operands: tuple[Node, ...]


Node = Literal | Name | Star | Index | FunctionCall | Not | Comparison | Logic


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Index(of, key):
            return of, key
        case FunctionCall(arguments=arguments):
            return arguments
        case Not(operand):
            return (operand,)
        case Comparison(left=left, right=right):
            return left, right
        case Logic(operands=operands):
            return operands
        case _:
            return ()


def depth(node: Node) -> int:
    return 1 + max((depth(child) for child in children(node)), default=0)


def references(node: Node) -> Iterator[str]:
    """Contexts that are read, as paths in lower case: `github.event.pull_request.number`, `needs.*.result`.

    A key that is computed ends the path, since what it reads is not known, and its own references follow.
    """
    path: list[str] = []
    inner = node
    while isinstance(inner, Index):
        match inner.key:
            case Star():
                path.append("*")
            case Literal(str(key)):
                path.append(key.lower())
            case Literal(float(key)):
                path.append(f"{key:g}")
            case other:
                path.clear()
                yield from references(other)
        inner = inner.of
    if isinstance(inner, Name):
        yield ".".join((inner.name.lower(), *reversed(path)))
    else:
        for child in children(inner):
            yield from references(child)


def functions(node: Node) -> frozenset[str]:
    """Functions that are called anywhere in it, in lower case."""
    here = {node.function} if isinstance(node, FunctionCall) else set()
    return frozenset(here).union(*(functions(child) for child in children(node)))


def status_misplaced(node: Node, *, in_if: bool, of_job: bool) -> str:
    """Why GitHub refuses a function of the status here, empty where it does not.

    They stand in conditions alone, and name jobs in those of jobs alone: `job-if`, `step-if` and their likes in
    workflow-v1.0.json of https://github.com/actions/languageservices (read 2026-11-22).
    """
    if isinstance(node, FunctionCall) and node.function in STATUS_FUNCTIONS:
        if not in_if:
            return f"{node.function}() stands in an if alone"
        if node.arguments and not of_job:
            return f"{node.function} takes 0 arguments in the if of a step, not {len(node.arguments)}"
    found = (status_misplaced(child, in_if=in_if, of_job=of_job) for child in children(node))
    return next(filter(None, found), "")


def written(node: Node) -> str:
    """An expression as people write it, with the parentheses that it needs."""
    return _written(node)[0]


def _written(node: Node) -> tuple[str, int]:
    """The text, and how tightly it binds: 1 for ||, 2 for &&, 3 for ==, 4 for <, 5 for !, 6 for what needs nothing."""
    match node:
        case Literal(str(value)):
            return "'" + value.replace("'", "''") + "'", 6
        case Literal(None):
            return "null", 6
        case Literal(value):
            return text(value), 6
        case Name(name):
            return name, 6
        case Star():
            return "*", 6
        case Index(of, Star()):
            return f"{_within(of, 6)}.*", 6
        case Index(of, Literal(str(key))) if _PROPERTY.fullmatch(key):
            return f"{_within(of, 6)}.{key}", 6
        case Index(of, key):
            return f"{_within(of, 6)}[{written(key)}]", 6
        case FunctionCall(function, arguments):
            return f"{function}({', '.join(map(written, arguments))})", 6
        case Not(operand):
            return f"!{_within(operand, 5)}", 5
        case Comparison(operator, left, right):
            binds = 3 if operator in {"==", "!="} else 4
            return f"{_within(left, binds)} {operator} {_within(right, binds + 1)}", binds
        case Logic(operator, operands):
            binds = 1 if operator == "||" else 2
            return f" {operator} ".join(_within(operand, binds + 1) for operand in operands), binds


def _within(node: Node, binds: int) -> str:
    source, own = _written(node)
    return source if own >= binds else f"({source})"


class ExpressionError(Exception):
    """An expression that GitHub would refuse; `offset` counts from 0 in `text`, the expression without its braces."""

    def __init__(self, said: str, text: str, offset: int = 0) -> None:
        self.said = said
        self.text = text
        self.offset = offset
        super().__init__(f"{said}, at position {offset + 1} of: {text}")
