"""`./tidepool workflows --newer FILE`: which actions of another table have later releases than ours."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.model.yamlfile import decoded
from infra.operations.workspace import workspace
from workflows.actions import TABLE, load_actions, read_actions


def newer_actions(file: Path, *, as_json: bool) -> int:
    """Compare the tables; exit code 1 where the other has something newer, or a tag that moved."""
    console = people(as_json=as_json)
    offered = read_actions(decoded(file.read_bytes(), str(file)), str(file))
    found = load_actions(workspace().root).newer(offered)
    for each in found:
        say(console, str(each))
    say(
        console, f"take them over in {TABLE}, then ./tidepool workflows --write" if found else f"{TABLE} has the newest"
    )
    code = FAILED if found else 0
    if as_json:
        told = [
            {"have": _plain(asdict(each.have)), "offered": _plain(asdict(each.offered)), "moved": each.moved}
            for each in found
        ]
        machines({"newer": told, "exit": code})
    return code


def _plain(action: dict[str, object]) -> dict[str, str]:
    return {key: str(value) for key, value in action.items()}
