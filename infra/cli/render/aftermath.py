"""How a stack stands after an apply, for people."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from infra.cli.render.console import say
from infra.cli.render.pools import registries_line, show_pools
from infra.cli.render.status import coming_line
from infra.operations.stacks.aftermath import Aftermath, Published


def show_aftermath(console: Console, after: Aftermath) -> None:
    """What is there after an apply."""
    for problem in after.problems:
        say(console, Text(f"problem: {problem}", style="bold red"))
    if after.published is not None:
        say(console, Text(_manifest_line(after.published), style="dim"))
    if after.building:
        say(console, f"builds started, whose triggers have other steps now: {', '.join(after.building)}")
    for rollout in after.rollouts:
        say(console, coming_line(rollout))
    say(console, "")
    show_pools(console, after.config.stack, after.pools)
    if after.registries:
        say(console, "")
        say(console, registries_line(after.registries))


def _manifest_line(published: Published) -> str:
    """Where the manifest is, and whether it is new."""
    said = "published" if published.changed else "unchanged"
    where = f"gs://{published.bucket}/{published.object}"
    return f"manifest {said}: {where} (generation {published.generation})"
