"""Steps that share a script call one action that has it, and files do what they did with every script in them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.model.errors import ConfigError
from tests.workflows import specs
from tests.workflows.sandbox.generated import generated
from tests.workflows.specs import COMMIT, ROOT, pinned
from workflows.builders import (
    Concurrency,
    Expression,
    Hosted,
    Job,
    Permissions,
    Pinned,
    Purpose,
    Push,
    Shared,
    Step,
    Triggers,
    Workflow,
    always,
    call,
    context,
)
from workflows.composite import called, expanded, folders, texts
from workflows.dump import dump
from workflows.generate import Generated
from workflows.read import read
from workflows.world import OwnActions

ACTIONS = ROOT / "actions"


@cache
def files() -> tuple[Generated, ...]:
    return tuple(file for _, file in generated(pinned()).values())


def steps(file: Generated) -> Iterator[dict[str, Any]]:
    """As they are written."""
    for job in read(file.text, file.path).data["jobs"].values():
        yield from job["steps"]


# What files say.


def test_with_its_actions_put_in_a_file_does_all_that_it_did_in_full() -> None:
    for file in files():
        assert file.whole().data == file.workflow.plain()


def with_pins(own: OwnActions | None) -> list[Generated]:
    world = replace(specs.world(), actions=replace(specs.world().actions, own=own))
    return [file for _, file in generated(world).values()]


def test_without_a_pin_of_this_lab_every_script_stands_in_its_file() -> None:
    own = pinned().actions.own
    assert own is not None
    for pins in (None, replace(own, repository="another-lab/tidepool")):
        for file in with_pins(pins):
            assert read(file.text, file.path).data == file.workflow.plain()


# What an action says.


def test_actions_are_those_of_this_repository_by_the_names_that_git_gives_their_folders(tmp_path: Path) -> None:
    """The committed ones are a golden of what every action says: any lab's files call the same."""
    made = texts(file.workflow for file in files())
    assert made == {str(path.relative_to(ROOT)): path.read_text() for path in ACTIONS.rglob("*.yml")}
    for path, text in made.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    git = ("git", "-C", str(tmp_path))
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    whole = subprocess.run([*git, "write-tree"], check=True, capture_output=True, text=True).stdout.strip()
    said = subprocess.run([*git, "ls-tree", f"{whole}:actions"], check=True, capture_output=True, text=True).stdout
    assert folders(made) == {name: content for _, _, content, name in map(str.split, said.splitlines())}


# What is refused.

WHERE = Pinned("lab/tidepool/actions/greet", COMMIT, "2026-11-22")


def greeting(**changes: Any) -> Step:
    shared = Shared(name="greet", source="greet.sh", pinned=WHERE, **changes.pop("shared", {}))
    told: dict[str, Any] = {"env": {"WHOM": context("github.actor")}, "run": 'echo "$WHOM"\n', "shell": "bash"}
    return Step(name="Greet", shared=shared, **(told | changes))


def workflow(*given: Step, outputs: dict[str, Expression] | None = None) -> Workflow:
    job = Job(
        id="greet",
        runs_on=Hosted(),
        timeout_minutes=5,
        permissions=Permissions.of(),
        purpose=Purpose.TEST,
        steps=given,
        outputs=outputs or {},
    )
    group = Concurrency("greet", Purpose.TEST)
    return Workflow(name="Greet", triggers=Triggers.of(Push(branches=["main"])), jobs=[job], concurrency=group)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"shell": ""}, "does not say which shell runs it"),
        ({"env": {"lower": "x"}}, "not a name for an input of the action"),
        ({"env": {"TWO__": "x"}}, "not a name for an input of the action"),
        ({"condition": always()}, "finishes=True"),
        ({"condition": call("failure") | call("cancelled")}, "finishes=True"),
        ({"shared": {"carried": frozenset(("WHOM",))}}, "the action carries this value, which differs from job to job"),
        ({"shared": {"carried": frozenset(("BOOT",))}}, "the action carries this value, which differs from job to job"),
        ({"env": {"A": "${{ x }}"}, "shared": {"carried": frozenset(("A",))}}, "differs from job to job"),
    ],
)
def test_what_cannot_be_an_action_is_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(rule)):
        workflow(greeting(**changes))


def test_an_output_that_the_action_does_not_hand_on_is_not_read() -> None:
    said = {"said": context("steps.greet.outputs.said")}
    with pytest.raises(ConfigError, match="the action does not declare this output"):
        workflow(greeting(id="greet"), outputs=said)
    assert workflow(greeting(id="greet", shared={"outputs": ("said",)}), outputs=said)


@pytest.mark.parametrize("changes", [{"run": "echo another\n"}, {"env": {"WHO": "x"}}, {"working_directory": "lib"}])
def test_two_steps_that_differ_in_more_than_values_share_no_action(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="shares the action and has another script or other variables"):
        texts([workflow(greeting(), greeting(**changes))])
    assert texts([workflow(greeting(), greeting(env={"WHOM": "you"}))]).keys() == {"actions/greet/action.yml"}


# How a file is read back.


def test_a_variable_stands_at_its_input_and_a_call_of_another_commit_stays_a_call() -> None:
    secret = greeting(env={"WHOM": context("github.event.head_commit.message"), "B": "b"}, run='eval "$WHOM"\n')
    text = dump(workflow(secret).document())
    whole = expanded(read(text, "greet.yaml"), called(workflow(secret)))
    assert whole.data == workflow(secret).plain()
    line = whole.positions["jobs", "greet", "steps", 0, "env", "WHOM"].line
    assert text.splitlines()[line - 1].strip() == "whom: ${{ github.event.head_commit.message }}"
    elsewhere = expanded(read(text.replace(COMMIT, "0" * 40), "greet.yaml"), called(workflow(secret)))
    assert elsewhere.data["jobs"]["greet"]["steps"][0]["uses"] == f"lab/tidepool/actions/greet@{'0' * 40}"
