"""What of a supervisor's state outlives its process, as files below `/var/lib/tidepool`: one a part of the report, so
that bundles of every age find them.

A file appears whole or not at all. Owns nothing that is secret: a registration is never here.
"""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import Any, Final

from . import limits
from .report import line
from .state import LASTING, State

_LINES: Final = ("boot", "events")
_ALONE: Final = ("reported", "turn")


class Disk:
    """root: the folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._written: dict[str, str] = {}

    def load(self) -> State:
        state = State()
        for name in LASTING:
            text = self._read(name)
            if text is not None:
                self._written[name] = text
                setattr(state, name, _parsed(name, text))
        return state

    def keep(self, state: State) -> None:
        """Write what has changed. Raises OSError where the disk takes nothing."""
        for name in LASTING:
            text = _text(name, getattr(state, name))
            if text is not None and self._written.get(name) != text:
                self.write(_path(name), text)
                self._written[name] = text

    def write(self, path: str, text: str) -> None:
        whole = self.root / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        part = whole.with_name(f"{whole.name}.part")
        part.write_text(text, encoding="ascii", errors="replace")
        part.replace(whole)

    def _read(self, name: str) -> str | None:
        try:
            return (self.root / _path(name)).read_text(encoding="ascii", errors="replace")
        except OSError:
            return None


def _path(name: str) -> str:
    return name if name in (*_LINES, *_ALONE) else f"report/{name}"


def _text(name: str, value: Any) -> str | None:
    """None for what is not known yet, which no file says."""
    if value is None:
        return None
    if name in _LINES:
        return "".join(f"{line(each)}\n" for each in value)
    return str(ceil(value)) if name in _ALONE else str(value)


def _parsed(name: str, text: str) -> Any:
    if name in _LINES:
        return [told for each in text.splitlines()[-limits.MOST_EVENTS :] if (told := _event(each)) is not None]
    if name in _ALONE:
        return float(text) if text.strip().isdigit() else 0.0
    if name == "obeyed":
        return int(text) if text.isdigit() else 0
    return text


def _event(text: str) -> dict[str, str] | None:
    """A line of events; None for one that a crash cut off."""
    try:
        told = json.loads(text)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None
