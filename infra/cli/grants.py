"""Grants that no stack declares, as commands tell them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from infra.fleet.google import GoogleError
from infra.fleet.policies import GrantsSeen, grants_seen
from infra.model.schema import StackConfig
from infra.model.stack import siblings
from infra.operations.workspace import workspace


def policies_of(config: StackConfig, endpoint: str | None) -> GrantsSeen:
    """What stands in the policies of a stack. Where they cannot be read at all, that."""
    stacks = (config, *siblings(workspace().root, config.stack))
    try:
        return grants_seen(config, stacks, endpoint)
    except GoogleError as error:
        return GrantsSeen(unread=(str(error),))


def lines(found: GrantsSeen) -> Iterator[Text]:
    """For people."""
    for grant in found.strange:
        yield Text(f"granted by hand: {grant.resource}: {grant.says}", style="bold red")
    for why in found.unread:
        yield Text(f"not known: {why}", style="yellow")


def document(found: GrantsSeen) -> dict[str, Any]:
    """For programs."""
    return {"grants": {"strange": [each.to_json() for each in found.strange], "unread": list(found.unread)}}
