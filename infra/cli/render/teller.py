"""What operations say while they work, on a console."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.text import Text

from infra.cli.render.console import say
from infra.cli.where import works_on
from infra.operations.ports import CloudName, Tone

STYLES: Final = {
    Tone.PLAIN: "",
    Tone.QUIET: "dim",
    Tone.WORKING: "cyan",
    Tone.GOOD: "green",
    Tone.WARNING: "yellow",
    Tone.PROBLEM: "bold red",
}


@dataclass(frozen=True, slots=True)
class ConsoleTeller:
    """`infra.operations.ports.Teller` for people."""

    console: Console

    def say(self, line: str, tone: Tone = Tone.PLAIN) -> None:
        say(self.console, Text(line, style=STYLES[tone]))

    def works_on(self, cloud: CloudName, said: str) -> None:
        """Says it once, however many stacks a command is about."""
        if works_on(cloud):
            self.say(said, Tone.QUIET)
