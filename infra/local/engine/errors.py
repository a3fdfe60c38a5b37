"""What the embedded engine raises to its caller. A resource that fails is a step of the plan, not an error."""

from __future__ import annotations


class EngineError(Exception):
    """An operation that cannot start or go on. The message names subject, cause and next step, and no secret."""


class RefusedError(EngineError):
    """The program or the state asks for something that this engine does not know; the message names it."""
