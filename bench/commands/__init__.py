"""The commands of the bench: `./tidepool cloud`, by which people drive the local Google Cloud of a laptop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infra.cli.answers import Answer
from infra.preview.toned import columns


def listed(key: str, rows: Sequence[Mapping[str, Any]], *shown: str) -> Answer:
    """Objects as --json has them below `key`, and for people as a table of what is `shown` of each."""
    return {key: rows}, table(key, rows, *shown)


def table(what: str, rows: Sequence[Mapping[str, Any]], *shown: str) -> list[str]:
    """A row each; a column that says nothing is left out, and of a resource's full name all but its end."""
    cells = {key: [_said(each.get(key)) for each in rows] for key in shown}
    told = [key for key in shown if any(cells[key])]
    return columns(told, list(zip(*(cells[key] for key in told), strict=True))) or [f"no {what}"]


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    said = "" if value in (None, "*") else str(value)
    return said.rpartition("/")[2] if said.startswith("projects/") else said
