"""Pages that tests write, in the layout of `mdformat` that `.mdformat.toml` asks of every page."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

import mdformat
from mdformat.plugins import PARSER_EXTENSIONS

CONFIG: Final = Path(__file__).resolve().parents[1] / ".mdformat.toml"


def laid_out(page: str) -> str:
    """A page of markdown as the check `prose` wants it; what a browser shows is the same."""
    return mdformat.text(page, options=tomllib.loads(CONFIG.read_text(encoding="utf-8")), extensions=PARSER_EXTENSIONS)
