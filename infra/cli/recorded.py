"""A plan that the pulumi CLI wrote to a file earlier, in another step or on another machine."""

from __future__ import annotations

from pathlib import Path

from infra.engines.protocol import CloudName, EngineError
from infra.model.plan import Plan
from infra.operations.errors import Failure


def recorded(source: Path, stack: str) -> Plan:
    """What `pulumi preview --json --show-sames` printed into a file. Raises Failure where it is no such file."""
    from infra.engines.official import plan_from_preview_json  # the Automation API takes a while to import

    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{source} cannot be read: {error}") from None
    try:
        return plan_from_preview_json(text, stack=stack, cloud=CloudName.GOOGLE.value)
    except EngineError as error:
        raise Failure(f"{source}: {error}") from None
