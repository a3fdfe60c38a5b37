"""Commands that answer at once: what they return is what they print. It loads nothing that drawing needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeAlias

from infra.cli.echo import answer
from infra.cli.options import json_option

Answer: TypeAlias = tuple[Mapping[str, Any], str | Iterable[str]]
"""What a command prints: the object of --json, and the line or the lines for people."""


def answered(command: Callable[..., Answer]) -> Callable[..., None]:
    """Print what a command returns: with --json, which it gets, the object, and else the lines."""

    @json_option
    @wraps(command)
    def run(*, as_json: bool, **given: Any) -> None:
        body, lines = command(**given)
        answer(as_json, body, *([lines] if isinstance(lines, str) else lines))

    return run
