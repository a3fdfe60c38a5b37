"""Grants that no stack declares, as commands tell them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from infra.operations.fleet.grants import GrantsSeen


def lines(found: GrantsSeen) -> Iterator[Text]:
    """For people."""
    for grant in found.strange:
        yield Text(f"granted by hand: {grant.resource}: {grant.says}", style="bold red")
    for why in found.unread:
        yield Text(f"not known: {why}", style="yellow")


def document(found: GrantsSeen) -> dict[str, Any]:
    """For programs."""
    return {"grants": {"strange": [each.to_json() for each in found.strange], "unread": list(found.unread)}}
