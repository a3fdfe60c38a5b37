"""The Common Expression Language, as far as a service checks it before it keeps an expression: form and names.

Owns which names may stand free; the grammar is cel-python's. Nothing is evaluated, and functions are not looked up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lark import Tree

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
    # `each` of `list.all(each, each > 1)`, which a macro gives each member.
    bound = {str(_inner(each.children[0]).children[0]) for each in tree.find_data("exprlist") if len(each.children) > 1}
    names = frozenset(name for name in _names(tree) if name.partition(".")[0] not in bound)
    for name in sorted(names):
        if name.partition(".")[0] not in roots:
            raise CelError(f"undeclared reference to '{name}'; there are: {', '.join(sorted(roots))}")
    whole = _inner(tree)
    token: Any = whole.children[0]
    literal = whole.data == "literal" and token.type != "BOOL_LIT"
    return Expression(names, not literal and whole.data not in _NOT_BOOLEAN)


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
