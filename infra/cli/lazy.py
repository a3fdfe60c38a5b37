"""Groups whose commands are imported when they are called, so that a start costs little.

Owns the table of commands by section, and what a mistyped one is told. What a command does is its module's, and what
that imports of other rooms, and of what draws, as a module (`from infra.operations.fleet import looks`) is loaded at
its first use: help, completion and a refused argument need none of it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import Any, Final

import click

from infra.model.errors import meant


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: its line in the help, and the module that has it as `command` or, beside others, `NAME_command`."""

    module: str
    summary: str


_COMMANDS: Final = ("infra.cli", "bench.commands")
_DRAWING: Final = "infra.cli.render"
_ELSEWHERE: Final = {"apply": "up", "import": "adopt", "rm": "forget", "delete": "destroy"}
"""What terraform, kubectl and pulumi call a command of ours."""


class _AtFirstUse(PathFinder):
    """Finds this project's modules as `PathFinder` does, but for commands, to be run at their first use. What draws for
    a terminal is no command."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        ours = fullname.partition(".")[0] in {"bench", "infra", "workflows"}
        if not ours or (fullname.startswith(_COMMANDS) and not fullname.startswith(_DRAWING)):
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def load_command(module: str) -> ModuleType:
    """Import a module of commands; what it imports as modules waits until it is used."""
    sys.meta_path.insert(0, _AtFirstUse)
    try:
        return import_module(module)
    finally:
        sys.meta_path.remove(_AtFirstUse)


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
        module = load_command(entry.module)
        return getattr(module, f"{cmd_name}_command", None) or module.command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.entries and not args[0].startswith("-"):
            near = _ELSEWHERE.get(args[0])
            said = f" Did you mean {near!r}?" if near in self.entries else meant(args[0], self.entries)
            ctx.fail(f"There is no command {args[0]!r}.{said}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        for title, entries in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()], col_max=12)
