"""Groups whose commands are imported when they are called, so that a start costs little.

Owns the table of commands by section, and what a mistyped one is told. What a command does is its module's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from infra.model.errors import meant


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: its line in the help, and the module that has it as `command` or, beside others, `NAME_command`."""

    module: str
    summary: str


class LazyGroup(click.Group):
    """A group of commands by section."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, Entry]], **more: Any) -> None:
        super().__init__(*args, **more)
        self.sections = sections
        self.entries = {name: entry for section in sections.values() for name, entry in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        module = import_module(entry.module)
        return getattr(module, f"{cmd_name}_command", None) or module.command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.entries and not args[0].startswith("-"):
            ctx.fail(f"There is no command {args[0]!r}.{meant(args[0], self.entries)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        for title, entries in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()], col_max=12)
