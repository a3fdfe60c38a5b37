"""The variables of a build: which there are, how a text names them, and what a message gives to them.

Owns `$NAME`, `${NAME}`, `$$` for a dollar sign, and `$(body.message.attributes.NAME)` in the substitutions of a trigger
that a message starts. Nothing is substituted in a script. Bash's ways of cutting a value (`${NAME:0:7}`) are not read.
Sources, read 2026-11-21: https://cloud.google.com/build/docs/configuring-builds/substitute-variable-values and
https://cloud.google.com/build/docs/configuring-builds/use-bash-and-bindings-in-substitutions
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bench.cloud.errors import JsonObject

_REFERENCE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<braced>[^}]*)\}|(?P<bare>[A-Z_][A-Z0-9_]*))")
_BINDING = re.compile(r"\$\(body\.message\.attributes\.([^)]*)\)")
_PLAIN = frozenset({"script", "substitutions"})


def bound(own: Mapping[str, str], message: JsonObject) -> dict[str, str]:
    """Substitutions with what they take from a message, which names no variables; empty where the message lacks it."""

    def one(hit: re.Match[str]) -> str:
        return message.get("attributes", {}).get(hit[1], "").replace("$", "$$")

    return {name: _BINDING.sub(one, text) for name, text in own.items()}


def resolved(own: Mapping[str, str], builtin: Mapping[str, str]) -> dict[str, str]:
    """A person's substitutions with their values worked out: they may name one another, and what is built in.

    One that names itself, or another that does so, is empty there.
    """
    done: dict[str, str] = {}

    def value_of(name: str) -> str:
        if name not in done and name in own:
            done[name] = ""
            done[name] = _expanded(own[name], value_of)
        return done.get(name, builtin.get(name, ""))

    return {name: value_of(name) for name in own}


def applied(value: Any, values: Mapping[str, str]) -> Any:
    """A build's configuration with its variables filled in; one without a value becomes empty."""
    if isinstance(value, str):
        return _expanded(value, lambda name: values.get(name, ""))
    if isinstance(value, list):
        return [applied(item, values) for item in value]
    if isinstance(value, dict):
        return {key: item if key in _PLAIN else applied(item, values) for key, item in value.items()}
    return value


def _expanded(text: str, value_of: Callable[[str], str]) -> str:
    return _REFERENCE.sub(lambda hit: "$" if hit["dollar"] else value_of(hit["braced"] or hit["bare"]), text)
