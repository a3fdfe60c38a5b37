"""The variables of a build: which there are, how a text names them, and what a message gives to them.

Owns `$NAME`, `${NAME}`, `$$` for a dollar sign, and `$(body.message.attributes.NAME)` in the substitutions of a trigger
that a message starts. Nothing is substituted in a script. Bash's ways of cutting a value (`${NAME:0:7}`) are not read.
Sources, read 2026-11-21: https://cloud.google.com/build/docs/configuring-builds/substitute-variable-values and
https://cloud.google.com/build/docs/configuring-builds/use-bash-and-bindings-in-substitutions
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from bench.cloud.errors import JsonObject, invalid

_REFERENCE = re.compile(
    r"\$(?:(?P<dollar>\$)|\((?P<binding>body[^)]*)\)|\{(?P<braced>[^}]*)\}|(?P<bare>[A-Z_][A-Z0-9_]*))"
)
_PLAIN = frozenset({"script", "substitutions"})


@dataclass(frozen=True, slots=True)
class Heard:
    """A Pub/Sub message, and the substitutions that may speak of it: those of the trigger, not those of its build."""

    message: JsonObject
    names: Collection[str]


def resolved(own: Mapping[str, str], builtin: Mapping[str, str], heard: Heard | None = None) -> dict[str, str]:
    """A person's substitutions with their values worked out: they may name one another, what is built in, a message.

    What a binding names and the message lacks is empty; without a message it stays as it is. Raises 400 for a circle.
    """
    done: dict[str, str] = {}

    def value_of(name: str, asking: tuple[str, ...]) -> str:
        if name in asking:
            raise invalid(f"Substitutions name one another in a circle: {' -> '.join([*asking, name])}.")
        if name not in own:
            return builtin.get(name, "")
        if name not in done:
            message = heard.message if heard and name in heard.names else None
            done[name] = _expanded(own[name], lambda inner: value_of(inner, (*asking, name)), message)
        return done[name]

    return {name: value_of(name, ()) for name in own}


def applied(value: Any, values: Mapping[str, str]) -> Any:
    """A build's configuration with its variables filled in; one without a value becomes empty."""
    if isinstance(value, str):
        return _expanded(value, lambda name: values.get(name, ""), None)
    if isinstance(value, list):
        return [applied(item, values) for item in value]
    if isinstance(value, dict):
        return {key: item if key in _PLAIN else applied(item, values) for key, item in value.items()}
    return value


def _expanded(text: str, value_of: Any, message: JsonObject | None) -> str:
    def one(hit: re.Match[str]) -> str:
        if hit["dollar"]:
            return "$"
        if hit["binding"]:
            return hit[0] if message is None else _bound(message, hit["binding"])
        return value_of(hit["braced"] or hit["bare"])

    return _REFERENCE.sub(one, text)


def _bound(message: JsonObject, path: str) -> str:
    """What `body.message.attributes.NAME` names; other parts of a message are not read here."""
    name = path.removeprefix("body.message.attributes.")
    return message.get("attributes", {}).get(name, "")
