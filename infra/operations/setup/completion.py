"""Completion in a shell: the line that turns it on, and the file of that shell that it belongs in."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from infra.operations.workspace import CHECKOUT

_FILES: Final = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
SHELLS: Final = tuple(_FILES)
LAUNCHER: Final = shlex.quote(str(CHECKOUT / "tidepool"))
"""How a shell starts this checkout's Tidepool from any folder."""


def install(shell: str, environ: Mapping[str, str] = os.environ) -> tuple[Path, bool]:
    """Append the line to the shell's file where it is not there yet; gives the file, and whether it was written.

    OSError where the file cannot be read or written.
    """
    folder = environ.get("ZDOTDIR") if shell == "zsh" else None
    path = Path(folder or environ.get("HOME") or Path.home()) / _FILES[shell]
    script = f"{LAUNCHER} completion {shell}"
    line = f"{script} | source" if shell == "fish" else f'eval "$({script})"'
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if line in text.splitlines():
        return path, False
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n")
    return path, True


def from_any_folder(script: str) -> str:
    """What a shell evaluates, for a launcher that need not be on PATH and may be called from any folder."""
    script = script.replace("    (( ! $+commands[tidepool] )) && return 1\n", "")
    script = script.replace("zsh_complete tidepool)", f"zsh_complete {LAUNCHER})")
    return script.replace("-t) tidepool)", f"-t) {LAUNCHER})")
