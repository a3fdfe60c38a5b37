"""What can be changed in a module: mutmut's operators at every place of its functions.

A change is the code that functions have with it, for a process that is forked to try it: no file is written, and
decorated functions are changed as others are. What runs at import alone (constants, decorators) is not changed.
"""

from __future__ import annotations

import difflib
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import count
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.file_mutation import NEVER_MUTATE_FUNCTION_CALLS, deep_replace
from mutmut.mutation.mutators import mutation_operators

HEADED: Final = cst.BaseCompoundStatement | cst.ExceptHandler

Functions = Mapping[tuple[str, str, int], list[FunctionType]]


class Change(NamedTuple):
    """One place of a module, changed. where: the function. before, after: the lines, without indentation."""

    where: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.where}\n  - {self.before}\n  + {self.after}"


class Mutant(NamedTuple):
    """A change that can be tried. lines: those of the statement. code: what functions get instead of theirs."""

    change: Change
    path: str
    lines: range
    code: tuple[tuple[FunctionType, CodeType], ...]

    def apply(self) -> None:
        for function, code in self.code:
            function.__code__ = code


def living() -> Functions:
    """Every function of this process by the place of its code: file, qualified name, line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, FunctionType):
            found.setdefault(_place(each.__code__), []).append(each)
    gc.freeze()
    return found


def mutants(root: Path, modules: Iterable[Path]) -> Iterator[Mutant]:
    names = {path: ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for path in modules}
    for name in names.values():
        import_module(name)
    functions = living()
    for path, name in names.items():
        yield from _of_module(path, name, functions)


def _of_module(path: Path, module: str, functions: Functions) -> Iterator[Mutant]:
    text = path.read_text()
    before = dict(_codes(compile(text, str(path), "exec", dont_inherit=True)))
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    seen: set[Change] = set()
    for node, changed in _changed(wrapper.module):
        after = _text(wrapper, text, node, changed)
        try:
            codes = list(_codes(compile(after, str(path), "exec", dont_inherit=True)))
        except SyntaxError:
            continue
        code = tuple(
            (function, new)
            for key, new in codes
            if key in before and _differs(before[key], new)
            for function in functions.get(_place(before[key]), ())
            if len(new.co_freevars) == len(function.__code__.co_freevars)
        )
        where = ".".join((module, *_outer(wrapper, node)))
        change = _change(where, text, after)
        if code and change not in seen:
            yield Mutant(change, str(path), _statement(wrapper, node), code)
        seen.add(change)


def _changed(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    if isinstance(node, cst.Annotation | cst.Decorator) or (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in NEVER_MUTATE_FUNCTION_CALLS
    ):
        return
    for kind, operator in mutation_operators:
        if isinstance(node, kind):
            yield from ((node, changed) for changed in operator(node))
    for child in node.children:
        yield from _changed(child)


def _text(wrapper: MetadataWrapper, text: str, node: cst.CSTNode, changed: cst.CSTNode) -> str:
    """The module with one node changed; only a node whose text is more than itself (indented, spaced) is rendered."""
    module = wrapper.module
    span = wrapper.resolve(ByteSpanPositionProvider).get(node)
    raw = text.encode()
    if span is not None and raw[span.start : span.start + span.length].decode() == module.code_for_node(node):
        new = module.code_for_node(changed)
        if "\n" not in new:
            return (raw[: span.start] + new.encode() + raw[span.start + span.length :]).decode()
    whole = deep_replace(module, node, changed)
    return whole.code if isinstance(whole, cst.Module) else text


def _codes(code: CodeType, within: str = "") -> Iterator[tuple[tuple[str, int], CodeType]]:
    """The code of every function outside functions, by qualified name and which of that name it is."""
    numbers: dict[str, Iterator[int]] = {}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            key = (f"{within}{each.co_qualname}", next(numbers.setdefault(each.co_qualname, count())))
            if _is_body_of_class(each):
                yield from _codes(each, f"{key[0]}#{key[1]}.")
            else:
                yield key, each


def _is_body_of_class(code: CodeType) -> bool:
    return "__module__" in code.co_names and "__qualname__" in code.co_names and not code.co_argcount


def _differs(one: CodeType, other: CodeType) -> bool:
    return _meaning(one) != _meaning(other)


def _meaning(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(
        _meaning(each) if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts
    )
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_exceptiontable


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _above(wrapper: MetadataWrapper, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    parent = wrapper.resolve(ParentNodeProvider).get
    above: cst.CSTNode | None = node
    while above is not None:
        yield above
        above = parent(above)


def _outer(wrapper: MetadataWrapper, node: cst.CSTNode) -> list[str]:
    """The classes, and the function outside functions, in which a node stands."""
    found: list[str] = []
    for each in _above(wrapper, node):
        if isinstance(each, cst.FunctionDef):
            found = [each.name.value]
        elif isinstance(each, cst.ClassDef):
            found = [each.name.value, *found]
    return found


def _statement(wrapper: MetadataWrapper, node: cst.CSTNode) -> range:
    """The lines of the statement, or of its head, in which a node stands: where its tests have come past."""
    span: Callable[[cst.CSTNode], Any] = wrapper.resolve(PositionProvider).__getitem__
    for each in _above(wrapper, node):
        if each is node and isinstance(each, HEADED):
            break
        if isinstance(each, cst.BaseSmallStatement | cst.SimpleStatementLine):
            return range(span(each).start.line, span(each).end.line + 1)
        if isinstance(each, HEADED | cst.MatchCase):
            below = each.cases[0] if isinstance(each, cst.Match) else each.body
            return range(span(each).start.line, span(below).start.line + 1)
    at = span(node)
    return range(at.start.line, at.end.line + 1)


def _change(where: str, before: str, after: str) -> Change:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]
    return Change(where, _marked(lines, "-"), _marked(lines, "+"))


def _marked(lines: Iterable[str], mark: str) -> str:
    return " ".join(line[1:].strip() for line in lines if line.startswith(mark))
