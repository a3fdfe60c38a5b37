"""How an operation fails, beside `ConfigError` for what is declared and `EngineError` for an engine."""

from __future__ import annotations

from infra.model.errors import EngineError

__all__ = ("EngineError", "Failure", "Interruption", "Refusal")


class Failure(Exception):  # noqa: N818 - what is told, like the two below, is no mistake of the program
    """An operation could not do its work; the message says what, why and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Refusal(Failure):
    """An operation was asked for something that cannot be asked."""


class Interruption(Failure):
    """Ctrl-C ended an operation; the message says what has become of its work."""
