"""URNs: `urn:pulumi:<stack>::<project>::<parent types$type>::<name>`, and the wildcards that `--target` takes.

Owns their making, reading and matching. A name may contain `::`, so only the first three separators count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

STACK_TYPE = "pulumi:pulumi:Stack"
STACK_REFERENCE_TYPE = "pulumi:pulumi:StackReference"
PROVIDER_PREFIX = "pulumi:providers:"


def make(stack: str, project: str, parent: str, token: str, name: str) -> str:
    """The URN of a resource. Children of the stack itself do not carry its type."""
    qualified = token
    if parent:
        above = qualified_type(parent)
        if above != STACK_TYPE:
            qualified = f"{above}${token}"
    return f"urn:pulumi:{stack}::{project}::{qualified}::{name}"


def _part(urn: str, index: int) -> str:
    return urn.split("::", 3)[index]


def stack_of(urn: str) -> str:
    """The stack that it belongs to."""
    return _part(urn, 0).rpartition(":")[2]


def qualified_type(urn: str) -> str:
    """The types of its parents and its own, joined by `$`."""
    return _part(urn, 2)


def type_of(urn: str) -> str:
    """Its own type token."""
    return qualified_type(urn).rsplit("$", 1)[-1]


def name_of(urn: str) -> str:
    """The name that the program gave it."""
    return _part(urn, 3)


def named(name: str) -> str:
    """The pattern of every resource of a name, which may have wildcards; a URN, or a pattern of one, stays."""
    return name if name.startswith("urn:") or "::" in name else f"urn:**::{name}"


def renamed(urn: str, qualified: str, name: str) -> str:
    """The URN of the same stack and project with another type path and name."""
    head = urn.split("::", 2)
    return f"{head[0]}::{head[1]}::{qualified}::{name}"


def undeployed(reference: str) -> str:
    """The error of a reference to a stack (`ORGANIZATION/PROJECT/STACK`, or its name) that has no state or outputs."""
    stack = reference.rpartition("/")[2]
    return (
        f"stack reference {reference}: the stack {stack} is not deployed. Fix: run `./tidepool up {stack}` "
        f"(or `pulumi up --stack {stack}`) first."
    )


def is_provider(token: str) -> bool:
    """Whether the type is a provider's own (`pulumi:providers:gcp`)."""
    return token.startswith(PROVIDER_PREFIX)


def is_default_provider(urn: str) -> bool:
    """Whether an engine made this provider by itself; the official CLI shows none of them."""
    return is_provider(type_of(urn)) and name_of(urn).startswith("default")


def package_of(token: str) -> str:
    """The package that serves a type or function token; of a provider type, the package it configures."""
    return token.removeprefix(PROVIDER_PREFIX) if is_provider(token) else token.split(":", 1)[0]


class Patterns:
    """URNs, as `--target` and `--exclude` take them. `*` stands for anything but `:`, `**` for anything."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(patterns)
        self._literals = frozenset(pattern for pattern in self.patterns if "*" not in pattern)
        self._globs = tuple(re.compile(_glob(pattern)) for pattern in self.patterns if "*" in pattern)

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def __contains__(self, urn: str) -> bool:
        return urn in self._literals or any(glob.fullmatch(urn) for glob in self._globs)

    def unmatched(self, urns: Iterable[str]) -> tuple[str, ...]:
        """The patterns without wildcards that name none of these."""
        return tuple(sorted(self._literals - set(urns)))


class Targets(Patterns):
    """The URNs that alone may change. Empty takes in everything."""

    def __contains__(self, urn: str) -> bool:
        return not self.patterns or super().__contains__(urn)


def _glob(pattern: str) -> str:
    parts = re.split(r"(\*\*|\*)", pattern)
    return "".join({"**": ".*", "*": "[^:]*"}.get(part, re.escape(part)) for part in parts)
