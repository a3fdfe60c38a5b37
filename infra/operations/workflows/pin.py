"""Whether the commits that workflow files name have the actions that are generated, and the command that pins them.

Owns the questions to git. A file that runs an action of an older commit does not do what its rules were shown, so the
pin is judged with the files; where git does not have the commit, as in a clone of one commit, that is said.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Final

from infra.operations.errors import Refusal
from infra.operations.workflows.scene import GeneratedHere, put, refuse_problems, scene
from infra.operations.workflows.write import Wrote, write_here
from workflows.composite import folders
from workflows.world import ACTIONS, TABLE, OwnActions, OwnPin, repinned

PIN: Final = "./tidepool workflows --pin-actions"
NEWEST: Final = "newest"
"""What the command takes where no commit is named."""


class PinState(StrEnum):
    """What can be the matter with a pin."""

    NOT_PINNED = "not pinned"
    MOVED_ON = "moved on"
    NOT_KNOWN = "not known here"
    NO_COMMIT = "no such commit"
    OTHER = "another content"
    NOT_OURS = "not in the history"
    GONE = "without an action"


_WHY: Final = {
    PinState.NOT_PINNED: "no commit of {repository} is pinned, so that the script stands in every file that runs it",
    PinState.MOVED_ON: "it changed since the commit that workflow files name, so that they run the old text",
    PinState.NOT_KNOWN: "git has not all the history here, so that nothing says whether the pinned commit has it so",
    PinState.NO_COMMIT: "the repository has no such commit with this action in it",
    PinState.OTHER: "the pinned commit has another text of it than the table says",
    PinState.NOT_OURS: "the pinned commit is not in the history of HEAD: GitHub gives out commits of forks by our name",
    PinState.GONE: "no step shares it any more",
}


@dataclass(frozen=True, slots=True)
class WrongPin:
    """What is the matter with the pins of some actions. stops: whether files that name them are wrong."""

    state: PinState
    actions: tuple[str, ...]
    why: str
    mend: str
    stops: bool


def wrong_pins(here: GeneratedHere) -> Iterator[WrongPin]:
    """What is the matter with the pins of a checkout; nothing where each names the action that is generated."""
    if here.outputs.problems:
        return
    wanted, pins, git = folders(here.outputs.actions), here.world.action_pins, _Git(here.root)
    found: dict[PinState, list[str]] = {}
    for name in sorted(wanted.keys() | pins.keys()):
        if state := _wrong(name, wanted.get(name), pins.get(name), git):
            found.setdefault(state, []).append(name)
    for state, names in found.items():
        why = f"{', '.join(names)}: {_WHY[state].format(repository=here.world.images.recipes)}"
        yield WrongPin(
            state, tuple(names), why, _mend(state, {name: wanted.get(name) for name in names}, git), _stops(state)
        )


def _wrong(name: str, content: str | None, pin: OwnPin | None, git: _Git) -> PinState | None:
    if pin is None:
        return PinState.NOT_PINNED
    if content is None:
        return PinState.GONE
    if pin.tree != content:
        return PinState.MOVED_ON
    if not git.whole:
        return PinState.NOT_KNOWN
    there = git.actions(pin.commit).get(name)
    if there != content:
        return PinState.OTHER if there else PinState.NO_COMMIT
    return None if git.behind(pin.commit) else PinState.NOT_OURS


def _mend(state: PinState, wanted: Mapping[str, str | None], git: _Git) -> str:
    if state is PinState.NOT_KNOWN:
        return "git fetch --unshallow"
    saved = wanted.items() <= git.actions("HEAD").items() or state is PinState.GONE
    return PIN if saved or state is PinState.NOT_OURS else f"git add {ACTIONS} && git commit, and then {PIN}"


def _stops(state: PinState) -> bool:
    """A script that stands in the file needs no pin; what is not known fails where nothing may be skipped."""
    if state is PinState.NOT_KNOWN:
        return os.environ.get("TIDEPOOL_STRICT") == "1"
    return state is not PinState.NOT_PINNED


def pin_actions(commit: str) -> tuple[dict[str, str], Wrote]:
    """Pin each action where it is, and write every file anew: the commit of each action whose pin moved, and the files.

    commit: of all of them; else a pin that is right stays, and another moves to the newest commit that has the action.
    """
    here = scene()
    refuse_problems(here)
    wanted, git = folders(here.outputs.actions), _Git(here.root)
    everywhere = git.commit(commit) if commit != NEWEST else ""
    if commit != NEWEST and not (everywhere and git.behind(everywhere)):
        raise Refusal(f"{commit} is not a commit in the history of HEAD: who merges would not get it; pin one that is")
    pins: dict[str, OwnPin] = {}
    for name, content in wanted.items():
        old = here.world.action_pins.get(name)
        if not everywhere and old is not None and _wrong(name, content, old, git) is None:
            pins[name] = old
        elif at := git.with_action(name, content, everywhere):
            pins[name] = OwnPin(git.day(at), at, content)
    if lost := sorted(wanted.keys() - pins.keys()):
        raise Refusal(
            f"{everywhere or 'the history of HEAD'} has not as they are generated: {', '.join(lost)};"
            f" ./tidepool workflows --write, then commit {ACTIONS}, then {PIN}"
        )
    table = (here.root / TABLE).read_text(encoding="utf-8")
    put(here.root, {str(TABLE): repinned(table, OwnActions(here.world.images.recipes, pins))})
    moved = {name: pin.commit for name, pin in sorted(pins.items()) if pin != here.world.action_pins.get(name)}
    return moved, write_here(None)


class _Git:
    """What git knows of a checkout; nothing where there is no git, or no repository."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._actions: dict[str, dict[str, str]] = {}
        self._behind: dict[str, bool] = {}

    @cached_property
    def whole(self) -> bool:
        """Whether all the history is here."""
        return self._said("rev-parse", "--is-shallow-repository") == "false"

    def commit(self, name: str) -> str:
        return self._said("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}") or ""

    def actions(self, commit: str) -> dict[str, str]:
        """The folder of each action at a commit, by git's name of its content; none where there is no such commit."""
        if commit not in self._actions:
            said = self._said("ls-tree", f"{commit}:./{ACTIONS}") or ""
            entries = (line.split(maxsplit=3) for line in said.splitlines())
            self._actions[commit] = {name: content for _, _, content, name in entries}
        return self._actions[commit]

    def with_action(self, name: str, content: str, commit: str) -> str:
        """That commit where it has the action so, or the newest of HEAD's history; empty where none has."""
        changed = self._said("log", "--format=%H", "--", f"./{ACTIONS}/{name}") or ""
        commits = [commit] if commit else changed.split()
        return next((each for each in commits if self.actions(each).get(name) == content), "")

    def behind(self, commit: str) -> bool:
        """Whether it is in the history of HEAD."""
        if commit not in self._behind:
            self._behind[commit] = self._said("merge-base", "--is-ancestor", commit, "HEAD") is not None
        return self._behind[commit]

    def day(self, commit: str) -> str:
        return self._said("show", "--no-patch", "--date=format-local:%Y-%m-%d", "--format=%cd", commit) or ""

    def _said(self, *arguments: str) -> str | None:
        """None where git refuses, or is not there."""
        command = ["git", "-C", str(self._root), *arguments]
        environment = {**os.environ, "TZ": "UTC"}
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None
