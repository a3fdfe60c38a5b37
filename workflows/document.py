"""A workflow as plain data with its comments: what the builders make and the dumper writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Path = tuple[str | int, ...]
"""Where a value stands: `("jobs", "test", "steps", 0, "uses")`."""


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data (mappings, lists, text, numbers, booleans, None) and the comments around it.

    header: lines above the file. above: lines before a key or a list entry. beside: what follows a value on its
    line, or the colon of a key whose value is a mapping or a list. Comments are without their `#`.
    """

    data: Mapping[str, Any]
    header: str = ""
    above: Mapping[Path, str] = field(default_factory=dict)
    beside: Mapping[Path, str] = field(default_factory=dict)
