"""Expressions of GitHub's workflow language, composed so that quoting and precedence cannot go wrong.

Owns how an expression is written and which contexts it reads. Leaves its value to `workflows.expressions`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import IntEnum

from infra.model.errors import ConfigError, Problem
from workflows.expressions import ExpressionError, parse, references
from workflows.expressions.syntax import Comparison, Logic, Node, Not

ROOTS = frozenset(
    ("env", "github", "inputs", "job", "jobs", "matrix", "needs", "runner", "secrets", "steps", "strategy", "vars")
)
"""The contexts of https://docs.github.com/en/actions/reference/workflows-and-actions/contexts (read 2026-11-21)."""

_CONTEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.([A-Za-z_][A-Za-z0-9_-]*|\*))*")
# What a stranger can choose: https://docs.github.com/en/actions/concepts/security/script-injections (read 2026-11-21).
_UNTRUSTED = re.compile(
    r"github\.head_ref|github\.ref_name"
    r"|github\.event\.(issue|pull_request|discussion)\.(title|body)"
    r"|github\.event\.(comment|review|review_comment)\.body"
    r"|github\.event\.pull_request\.head\.(ref|label|repo\.(default_branch|description|homepage))"
    r"|github\.event\.workflow_run\.(head_branch|display_title|name|head_commit\.(message|author\..*))"
    r"|github\.event\.(head_commit|commits\.(\*|\d+))\.(message|author\..*)"
    r"|github\.event\.pages\.(\*|\d+)\.page_name|github\.event\.label\.(name|description)"
    # As JSON, an object has everything that is in it.
    r"|github(\.event(\.(issue|pull_request(\.head)?|discussion|comment|review|workflow_run|head_commit|commits))?)?"
)
_SECRET = re.compile(r"secrets\..*|secrets|github\.token|github")


class Binding(IntEnum):
    """How tightly an expression's outermost operator binds; a looser one goes into parentheses below a tighter one."""

    OR = 1
    AND = 2
    EQUALITY = 3
    NOT = 4
    PRIMARY = 5


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression without its `${{ }}`; `reads` are the contexts it takes values from."""

    source: str
    reads: frozenset[str] = frozenset()
    binding: Binding = Binding.PRIMARY

    def __str__(self) -> str:
        return f"${{{{ {self.source} }}}}"

    @property
    def condition(self) -> str:
        """The text of an `if:`, whose braces may be left out except before `!`, which YAML takes for a tag."""
        return str(self) if self.source.startswith("!") else self.source

    def __and__(self, other: Expression) -> Expression:
        return self._joined("&&", other, Binding.AND)

    def __or__(self, other: Expression) -> Expression:
        return self._joined("||", other, Binding.OR)

    def __invert__(self) -> Expression:
        return Expression(f"!{self.within(Binding.NOT)}", self.reads, Binding.NOT)

    def equals(self, other: Operand) -> Expression:
        """Equality as GitHub means it: text without regard to case, unlike types as numbers."""
        return self._compared("==", other)

    def differs(self, other: Operand) -> Expression:
        return self._compared("!=", other)

    def one_of(self, values: Iterable[str]) -> Expression:
        return call("contains", call("fromJSON", json.dumps(sorted(values))), self)

    def within(self, binding: Binding) -> str:
        """The source as an operand of an operator that binds so tightly."""
        return self.source if self.binding >= binding else f"({self.source})"

    def _joined(self, operator: str, other: Expression, binding: Binding) -> Expression:
        source = f"{self.within(binding)} {operator} {other.within(binding)}"
        return Expression(source, self.reads | other.reads, binding)

    def _compared(self, operator: str, other: Operand) -> Expression:
        right = operand(other)
        # Neither side may be an equality itself: `a == b == c` compares a boolean with c, which nobody means.
        source = f"{self.within(Binding.NOT)} {operator} {right.within(Binding.NOT)}"
        return Expression(source, self.reads | right.reads, Binding.EQUALITY)


Operand = Expression | str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Template:
    """Text with expressions in it, as a group, a name or an environment value has them."""

    parts: tuple[str | Expression, ...]

    def __str__(self) -> str:
        return "".join(str(part) for part in self.parts)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset().union(*(part.reads for part in self.parts if isinstance(part, Expression)))


Text = str | Expression | Template
Value = Text | int | float | bool


def context(path: str) -> Expression:
    """A value of a context by its path: `context("github.event.pull_request.number")`."""
    root = path.partition(".")[0]
    if not _CONTEXT.fullmatch(path) or root not in ROOTS:
        rule = "not a context: names joined by dots, the first one of " + ", ".join(sorted(ROOTS))
        raise ConfigError([Problem("expression", path, rule, "github.event_name")])
    return Expression(path, frozenset((path.lower(),)))


def parsed(source: str, contexts: Collection[str] = ROOTS) -> Expression:
    """An expression that somebody wrote, with or without its braces; ConfigError where GitHub would refuse it."""
    text = source.strip()
    text = text[3:-2].strip() if text.startswith("${{") and text.endswith("}}") else text
    try:
        node = parse(text, contexts)
    except ExpressionError as error:
        raise ConfigError([Problem("expression", source, error.said, "an expression that GitHub reads")]) from error
    return Expression(text, frozenset(references(node)), _binding(node))


def _binding(node: Node) -> Binding:
    match node:
        case Logic(operator):
            return Binding.OR if operator == "||" else Binding.AND
        case Comparison():
            return Binding.EQUALITY
        case Not():
            return Binding.NOT
        case _:
            return Binding.PRIMARY


def literal(value: str | float | bool | None) -> Expression:
    """A constant; text is quoted, and a quote in it doubled."""
    if isinstance(value, str):
        quoted = value.replace("'", "''")
        return Expression(f"'{quoted}'")
    return Expression(json.dumps(value))


def operand(value: Operand) -> Expression:
    return value if isinstance(value, Expression) else literal(value)


def call(function: str, *arguments: Operand) -> Expression:
    """A function of GitHub's by its name: `call("startsWith", context("github.ref"), "refs/tags/")`."""
    operands = [operand(argument) for argument in arguments]
    reads = frozenset().union(*(each.reads for each in operands))
    return Expression(f"{function}({', '.join(each.source for each in operands)})", reads)


def always() -> Expression:
    """Also after a failure and when cancelled: for clean-up that must run."""
    return call("always")


def not_cancelled() -> Expression:
    """Also after a failure, and not when cancelled."""
    return ~call("cancelled")


def template(*parts: str | Expression) -> Template:
    """Text with expressions in it; text that only looks like an expression stays text."""
    escaped = (part.replace("${{", "${{ '${{' }}") if isinstance(part, str) else part for part in parts)
    return Template(tuple(escaped))


def plain(value: Value) -> str | int | float | bool:
    """A value as it stands in plain data."""
    return str(value) if isinstance(value, Expression | Template) else value


def reads(value: Value) -> frozenset[str]:
    """The contexts that a value takes from."""
    return value.reads if isinstance(value, Expression | Template) else frozenset()


def unescaped(value: Value) -> bool:
    """Whether plain text holds what GitHub would read as an expression, so that nothing of it was checked."""
    return isinstance(value, str) and "${{" in value


def untrusted(paths: Iterable[str]) -> tuple[str, ...]:
    """Those contexts whose text a stranger chooses: it must never become part of a script, a path or a label."""
    return tuple(sorted(path for path in paths if _UNTRUSTED.fullmatch(path)))


def secret(paths: Iterable[str]) -> tuple[str, ...]:
    """Those contexts that hold a secret or the job's token."""
    return tuple(sorted(path for path in paths if _SECRET.fullmatch(path)))
