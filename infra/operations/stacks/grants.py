"""Grants in the policies of what a stack declares that no stack declares."""

from __future__ import annotations

from infra.fleet.google import GoogleError
from infra.fleet.policies import GrantsSeen, grants_seen
from infra.model.schema import StackConfig
from infra.model.stack import siblings
from infra.operations.workspace import workspace

__all__ = ("GrantsSeen", "policies_of")


def policies_of(config: StackConfig, endpoint: str | None) -> GrantsSeen:
    """What stands in the policies of a stack. Where they cannot be read at all, that."""
    stacks = (config, *siblings(workspace().root, config.stack))
    try:
        return grants_seen(config, stacks, endpoint)
    except GoogleError as error:
        return GrantsSeen(unread=(str(error),))
