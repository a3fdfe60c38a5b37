"""The Common Expression Language, as far as a service checks it before it keeps an expression: form and names.

Owns the functions that IAM has, and which names may stand free; the grammar is cel-python's. Nothing is evaluated.
Sources: cloud.google.com/iam/docs/conditions-attribute-reference and .../workload-identity-federation#mapping, read
2026-11.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lark import Tree

_MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})
_FUNCTIONS = _MACROS | frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "has", "int", "size", "string", "timestamp", "type", "uint",
     "contains", "endsWith", "extract", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear",
     "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds", "hasOnly", "join", "lowerAscii", "matches",
     "replace", "split", "startsWith", "upperAscii", "getAttribute", "hasTagKey", "hasTagKeyId", "hasTagValue",
     "hasTagValueId", "matchTag", "matchTagId", "substring", "trim"}
)  # fmt: skip
_CALLS = ("ident_arg", "member_dot_arg")
_LISTED = ("list_lit", "map_lit")
_NOT_BOOLEAN = (*_LISTED, "addition", "multiplication")


class CelError(Exception):
    """What is wrong with an expression, with the place."""


@dataclass(frozen=True, slots=True)
class Expression:
    """names: the free names with the first that is selected of each, such as `attribute.repository`.

    boolean: False where it cannot be one.
    """

    names: frozenset[str]
    boolean: bool


def read(text: str, roots: Collection[str]) -> Expression:
    """Check an expression whose free names are among `roots`. Raises CelError."""
    from celpy.celparser import CELParseError, CELParser  # which takes a quarter of a second

    try:
        tree = CELParser().parse(text)
    except CELParseError as error:
        raise CelError(f"unexpected text at {error.column}") from None
    called = [each for each in tree.iter_subtrees() if each.data in _CALLS]
    for each in called:
        if (name := _called(each)) not in _FUNCTIONS:
            raise CelError(f"there is no function '{name}'")
    bound = {_bound(each) for each in called if _called(each) in _MACROS}
    names = frozenset(name for name in _names(tree) if name.partition(".")[0] not in bound)
    for name in sorted(names):
        if name.partition(".")[0] not in roots:
            raise CelError(f"undeclared reference to '{name}'; there are: {', '.join(sorted(roots))}")
    whole = _inner(tree)
    token: Any = whole.children[0]
    literal = whole.data == "literal" and token.type != "BOOL_LIT"
    return Expression(names, not literal and whole.data not in _NOT_BOOLEAN)


def _called(tree: Tree[Any]) -> str:
    """The name of a function; that of a method stands behind what it is of."""
    return str(tree.children[0 if tree.data == "ident_arg" else 1])


def _bound(macro: Tree[Any]) -> str:
    """The name that a macro gives each member, as `each` in `list.all(each, each > 1)`. Raises CelError."""
    is_method = macro.data == "member_dot_arg" and len(macro.children) == 3
    first = _inner(macro.children[2].children[0]) if is_method else macro
    if first.data != "ident":
        raise CelError(f"{_called(macro)} takes a name and an expression, as in list.{_called(macro)}(each, ...)")
    return str(first.children[0])


def _inner(tree: Tree[Any]) -> Tree[Any]:
    """The construct inside those that only order operators."""
    while len(tree.children) == 1 and hasattr(tree.children[0], "data") and tree.data not in _LISTED:
        tree = tree.children[0]
    return tree


def _names(tree: Tree[Any]) -> Iterator[str]:
    selected = {}
    for each in tree.iter_subtrees_topdown():
        if each.data == "member_dot" and (inner := _inner(each.children[0])).data == "ident":
            selected[id(inner)] = f"{inner.children[0]}.{each.children[1]}"
        if each.data == "ident":
            yield selected.get(id(each), str(each.children[0]))
