"""The Common Expression Language, as far as a service checks it before it keeps an expression: form and names.

Owns its grammar, the functions and macros that IAM has, and which names may stand free. Nothing is evaluated. Sources:
github.com/google/cel-spec/blob/master/doc/langdef.md, cloud.google.com/iam/docs/conditions-attribute-reference and
.../workload-identity-federation#mapping, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

_STRING = (
    r"""[rRbB]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
)
_TOKEN = re.compile(
    rf"""\s*(?:(?P<string>{_STRING})|(?P<number>0x[0-9a-fA-F]+u?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+u?)"""
    r"""|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>&&|\|\||==|!=|<=|>=|[<>+*/%!?:.,()\[\]{}-]))""",
    re.DOTALL,
)
_LITERALS = frozenset({"true", "false", "null"})
_MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})
_FUNCTIONS = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "has", "int", "size", "string", "timestamp", "type", "uint"}
)
_METHODS = frozenset(
    {"contains", "endsWith", "extract", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear",
     "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds", "hasOnly", "join", "lowerAscii", "matches",
     "replace", "size", "split", "startsWith", "upperAscii", "getAttribute", "hasTagKey", "hasTagKeyId", "hasTagValue",
     "hasTagValueId", "matchTag", "matchTagId", "substring", "trim"}
)  # fmt: skip
_LEVELS = (("||",), ("&&",), ("<", "<=", ">", ">=", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_LOGICAL = 3


class CelError(Exception):
    """What is wrong with an expression, with the place."""


@dataclass(frozen=True, slots=True)
class Expression:
    """names: the free names with what is selected of each, such as `attribute.repository`. boolean: None where only a
    run would tell whether it is one."""

    names: frozenset[str]
    boolean: bool | None


def read(text: str, roots: Collection[str]) -> Expression:
    """Check an expression whose free names are among `roots`. Raises CelError."""
    reader = _Reader(text, frozenset(roots))
    boolean = reader.conditional()
    reader.expect("")
    return Expression(frozenset(reader.names), boolean)


@dataclass(slots=True)
class _Reader:
    """Each method reads one construct and says whether it is boolean, None where that is not known."""

    text: str
    roots: frozenset[str]
    names: set[str] = field(default_factory=set)
    bound: list[str] = field(default_factory=list)
    tokens: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.tokens, at = [], 0
        text = self.text.rstrip()
        while at < len(text):
            hit = _TOKEN.match(text, at)
            if hit is None or hit.lastgroup is None:
                raise CelError(f"unexpected character at {at + 1}: '{text[at:].lstrip()[:10]}'")
            self.tokens.append((hit.lastgroup, hit[hit.lastgroup]))
            at = hit.end()
        self.tokens.append(("end", ""))

    def conditional(self) -> bool | None:
        value = self._level(0)
        if not self._skip("?"):
            return value
        if value is False:
            raise CelError("the condition before ? is not a boolean")
        first = self._level(0)
        self.expect(":")
        second = self.conditional()
        return first if first == second else None

    def expect(self, sign: str) -> None:
        if self.tokens[0][1] != sign or self.tokens[0][0] == "string":
            raise CelError(f"expected '{sign}'" if sign else f"unexpected '{self.tokens[0][1]}'")
        self._take()

    def _level(self, level: int) -> bool | None:
        if level == len(_LEVELS):
            return self._unary()
        value, signs = self._level(level + 1), _LEVELS[level]
        while self.tokens[0][0] in ("sign", "word") and self.tokens[0][1] in signs:
            sign = self._take()
            other = self._level(level + 1)
            if sign in ("&&", "||") and False in (value, other):
                raise CelError(f"a side of '{sign}' is not a boolean")
            value = level < _LOGICAL
        return value

    def _unary(self) -> bool | None:
        if self._skip("!"):
            if self._unary() is False:
                raise CelError("the value after ! is not a boolean")
            return True
        if self._skip("-"):
            self._unary()
            return False
        return self._members()

    def _members(self) -> bool | None:
        kind, word = self.tokens[0]
        value, path = self._primary(), word if kind == "word" else None
        while self.tokens[0][1] in (".", "[") and self.tokens[0][0] == "sign":
            if self._take() == "[":
                self._forget(path)
                path, value = None, None
                self.conditional()
                self.expect("]")
                continue
            name = self._word()
            if self._skip("("):
                self._forget(path)
                path, value = None, self._method(name)
            else:
                path, value = f"{path}.{name}" if path else None, None
        self._forget(path)
        return value

    def _forget(self, path: str | None) -> None:
        """A path of free names is at its end: it is known from here."""
        if path and path.partition(".")[0] in self.roots and path.partition(".")[0] not in self.bound:
            self.names.add(path)

    def _method(self, name: str) -> bool | None:
        if name in _MACROS:
            self.bound.append(self._word())
            self.expect(",")
            self._arguments()
            self.bound.pop()
            return None if name in ("map", "filter") else True
        if name not in _METHODS:
            raise CelError(f"there is no function '{name}'")
        self._arguments()
        return True if name in ("contains", "endsWith", "matches", "startsWith") else None

    def _primary(self) -> bool | None:
        kind, word = self.tokens[0]
        self._take()
        if kind in ("string", "number"):
            return False
        if kind == "word":
            return self._named(word)
        if word == "(":
            value = self.conditional()
            self.expect(")")
            return value
        if word in "[{" and kind == "sign":
            self._collection(word)
            return False
        raise CelError(f"unexpected '{word}'" if word else "unexpected end")

    def _named(self, word: str) -> bool | None:
        if word in _LITERALS:
            return word != "null"
        if self._skip("("):
            if word not in _FUNCTIONS:
                raise CelError(f"there is no function '{word}'")
            self._arguments()
            return True if word in ("has", "bool") else None
        if word not in self.roots and word not in self.bound:
            raise CelError(f"undeclared reference to '{word}'; there are: {', '.join(sorted(self.roots))}")
        return None

    def _collection(self, opening: str) -> None:
        closing = "]" if opening == "[" else "}"
        while not self._skip(closing):
            self.conditional()
            if opening == "{":
                self.expect(":")
                self.conditional()
            if self.tokens[0][1] != closing:
                self.expect(",")

    def _arguments(self) -> None:
        while not self._skip(")"):
            self.conditional()
            if self.tokens[0][1] != ")":
                self.expect(",")

    def _word(self) -> str:
        kind, word = self.tokens[0]
        if kind != "word":
            raise CelError(f"expected a name, not '{word}'")
        return self._take()

    def _skip(self, sign: str) -> bool:
        found = self.tokens[0] == ("sign", sign)
        if found:
            self._take()
        return found

    def _take(self) -> str:
        kind, word = self.tokens[0]
        if kind != "end":
            self.tokens.pop(0)
        return word
