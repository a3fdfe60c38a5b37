"""Expressions as trees, and what can be told of one without evaluating it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as OneOf

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
class Call:
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


Node = Literal | Name | Star | Index | Call | Not | Comparison | Logic


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Index(of, key):
            return of, key
        case Call(arguments=arguments):
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
    here = {node.function} if isinstance(node, Call) else set()
    return frozenset(here).union(*(functions(child) for child in children(node)))
