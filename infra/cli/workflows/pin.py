"""Whether the commit that workflow files name has the actions that are generated, and the command that moves the pin.

Owns the questions to git. A file that runs an action of an older commit does not do what its rules were shown, so the
pin is judged with the files; where git does not have the commit, as in a clone of one commit, that is said.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.cli.failures import Refusal
from infra.cli.render.console import people, say
from infra.cli.workflows.scene import Scene, put, refuse_problems, scene
from infra.cli.workflows.write import write_here
from workflows.actions import TABLE, OwnPin, repinned
from workflows.composite import folders, tree
from workflows.world import ACTIONS

PIN: Final = "./tidepool workflows --pin-actions"
NEWEST: Final = "newest"
"""What the command takes where no commit is named."""


@dataclass(frozen=True, slots=True)
class WrongPin:
    """What is the matter with a pin. stops: whether files that name it are wrong, and not only unproven."""

    state: str
    why: str
    mend: str
    stops: bool = True


def wrong_pin(here: Scene) -> WrongPin | None:
    """What is the matter with the pin of a checkout; None where it names the actions that are generated."""
    own, wanted = here.world.pin, here.outputs.actions
    if here.outputs.problems or not wanted:
        return None
    git = _Git(here.root)
    if own is None:
        repository = here.world.images.recipes
        why = f"no commit of {repository} is pinned for our actions, so that their scripts stand in every workflow file"
        return WrongPin("not pinned", why, PIN, stops=False)
    there = git.actions(own.commit)
    if own.tree != tree(wanted) and there == folders(wanted):
        why = f"{own.commit} has the actions as they are generated, and the table says another tree of it: {own.tree}"
        return WrongPin("another content", why, PIN)
    if own.tree != tree(wanted):
        saved = git.actions("HEAD") == folders(wanted)
        differ = _differing(there, folders(wanted)) if there is not None else "an action"
        why = f"{differ} changed since {own.commit}, which the workflow files name, so that they run the old text"
        return WrongPin("moved on", why, PIN if saved else f"git add {ACTIONS} && git commit, and then {PIN}")
    if not git.whole:
        why = f"git has not all the history here, so that nothing says whether {own.commit} has these actions"
        strict = os.environ.get("TIDEPOOL_STRICT") == "1"
        return WrongPin("not known here", why, "git fetch --unshallow", stops=strict)
    if there is None:
        return WrongPin("no such commit", f"the repository has no commit {own.commit} with actions in it", PIN)
    if there != folders(wanted):
        why = f"{own.commit} has other actions than the table says: {_differing(there, folders(wanted))}"
        return WrongPin("another content", why, PIN)
    if not git.behind(own.commit):
        why = f"{own.commit} is not in the history of HEAD, and GitHub serves commits of forks by our name, too"
        return WrongPin("not in the history", why, PIN)
    return None


def pin_actions(commit: str, *, as_json: bool) -> int:
    """Move the pin to a commit, or to the newest that has the actions as they are, and write every file anew."""
    here = scene()
    refuse_problems(here)
    wanted, git = here.outputs.actions, _Git(here.root)
    found = git.newest(folders(wanted)) if commit == NEWEST else git.commit(commit)
    if not found:
        which = "the history of HEAD" if commit == NEWEST else f"commit {commit}"
        raise Refusal(
            f"{which} does not have the actions as they are generated; ./tidepool workflows --write, then commit"
            f" {ACTIONS}, then {PIN}"
        )
    there = git.actions(found) or {}
    if there != folders(wanted):
        raise Refusal(f"{found} has other actions than are generated: {_differing(there, folders(wanted))}")
    if not git.behind(found):
        raise Refusal(f"{found} is not in the history of HEAD: who merges would not get it; pin one that is")
    pin = OwnPin(here.world.images.recipes, git.day(found), found, tree(wanted))
    table = (here.root / TABLE).read_text(encoding="utf-8")
    moved = put(here.root, {str(TABLE): repinned(table, pin)})
    say(people(as_json=as_json), f"{'pinned' if moved else 'pinned as before:'} {found}")
    return write_here(None, as_json=as_json)


def _differing(there: dict[str, str], wanted: dict[str, str]) -> str:
    names = there.keys() | wanted.keys()
    return ", ".join(sorted(name for name in names if there.get(name) != wanted.get(name)))


class _Git:
    """What git knows of a checkout; nothing where there is no git, or no repository."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def whole(self) -> bool:
        """Whether all the history is here."""
        return self._said("rev-parse", "--is-shallow-repository") == "false"

    def commit(self, name: str) -> str:
        return self._said("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}") or ""

    def actions(self, commit: str) -> dict[str, str] | None:
        """The folder of each action at a commit, by git's name of its content."""
        said = self._said("ls-tree", f"{commit}:./{ACTIONS}")
        entries = (line.split(maxsplit=3) for line in said.splitlines()) if said is not None else ()
        return {name: content for _, _, content, name in entries} if said is not None else None

    def newest(self, wanted: dict[str, str]) -> str:
        """The newest commit of HEAD's history that has exactly these actions; empty where none has."""
        commits = (self._said("log", "--format=%H", "--", f"./{ACTIONS}") or "").split()
        return next((each for each in commits if self.actions(each) == wanted), "")

    def behind(self, commit: str) -> bool:
        """Whether it is in the history of HEAD."""
        return self._said("merge-base", "--is-ancestor", commit, "HEAD") is not None

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
