"""Steps that share a script call one action that has it, and files do what they did with every script in them."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.model.errors import ConfigError
from tests.synthetic_lab import the_lab
from tests.workflows import monorepo
from tests.workflows.monorepo import COMMIT, ROOT
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
    not_cancelled,
)
from workflows.checks import check
from workflows.composite import called, expanded, folders, texts
from workflows.dump import dump
from workflows.generate import Generated, generate
from workflows.own import generate_own
from workflows.read import read
from workflows.spec import load_spec, spec_names
from workflows.world import OwnActions, OwnPin, World

LONGEST_FILE = 600
"""Lines that somebody reads in a review; files had 1,928."""
SHORT = 3
"""Lines of a script that may stand in two jobs: fewer than a call of an action with its inputs."""


def made(world: World) -> list[Generated]:
    """Every generated file, this repository's own and each specification's."""
    specs = (load_spec(the_lab(), name, world) for name in spec_names(the_lab()))
    return [*generate_own(world), *(file for spec in specs for file in generate(spec, world))]


@cache
def files() -> tuple[Generated, ...]:
    return tuple(made(monorepo.pinned()))


@cache
def actions() -> dict[str, str]:
    return texts(file.workflow for file in files())


def data(path: str) -> Any:
    return read(actions()[path], path).data


def steps(file: Generated) -> Iterator[dict[str, Any]]:
    """As they are written."""
    for job in read(file.text, file.path).data["jobs"].values():
        yield from job["steps"]


ACTIONS = pytest.mark.parametrize("path", sorted(actions()))


# What files say.


@pytest.mark.parametrize("number", range(len(files())), ids=[file.path for file in files()])
def test_with_its_actions_put_in_a_file_does_all_that_it_did_in_full(number: int) -> None:
    file = files()[number]
    assert file.whole().data == file.workflow.plain()


def test_no_file_is_too_long_to_be_reviewed() -> None:
    lines = {file.path: len(file.text.splitlines()) for file in files()}
    assert {path: count for path, count in lines.items() if count > LONGEST_FILE} == {}


def test_no_script_of_more_than_a_few_lines_stands_twice() -> None:
    scripts = Counter(step["run"] for file in files() for step in steps(file) if "run" in step)
    twice = [script for script, count in scripts.items() if count > 1 and len(script.splitlines()) > SHORT]
    assert twice == []


def test_a_call_gives_every_input_that_the_action_has_and_no_other() -> None:
    calls = 0
    for file in files():
        there = called(file.workflow)
        for step in steps(file):
            if action := there.get(step.get("uses", "")):
                calls += 1
                assert step.get("with", {}).keys() == action.get("inputs", {}).keys(), step["uses"]
    assert calls > len(actions())


def test_actions_are_called_at_the_pinned_commit_of_the_repository_of_the_recipes() -> None:
    ours = f"{monorepo.world().images.recipes}/actions/"
    found = {step["uses"] for file in files() for step in steps(file) if step.get("uses", "").startswith(ours)}
    assert {each.removeprefix(ours) for each in found} == {f"{path.split('/')[1]}@{COMMIT}" for path in actions()}
    texts_ = "".join(file.text for file in files())
    assert texts_.count(f"@{COMMIT} # 2026-11-22\n") == texts_.count(f"@{COMMIT}")


def with_pins(own: OwnActions | None) -> World:
    return replace(monorepo.world(), actions=replace(monorepo.world().actions, own=own))


def another_labs() -> OwnActions:
    own = monorepo.pinned().actions.own
    assert own is not None
    return replace(own, repository="another-lab/tidepool")


@pytest.mark.parametrize("own", [None, another_labs()], ids=["none", "another lab's"])
def test_without_a_pin_of_this_lab_every_script_stands_in_its_file(own: OwnActions | None) -> None:
    for file in made(with_pins(own)):
        assert read(file.text, file.path).data == file.workflow.plain()


def test_the_pin_of_one_action_changes_the_files_that_call_it_and_no_others() -> None:
    own = monorepo.pinned().actions.own
    assert own is not None
    moved = replace(own, pins={**own.pins, "vm-delete": OwnPin("2026-11-23", "d" * 40, "e" * 40)})
    changed = {old.path for old, new in zip(files(), made(with_pins(moved)), strict=True) if old.text != new.text}
    assert changed == {file.path for file in files() if "/vm-delete@" in file.text}
    assert ".github/workflows/docker-images.yaml" not in changed, "a new pin there builds every image anew"


# What an action says.


@ACTIONS
def test_an_action_is_one_step_with_a_shell_whose_script_has_no_expression(path: str) -> None:
    [step] = data(path)["runs"]["steps"]
    assert step["shell"] in ("bash", "sh", "python")
    assert "${{" not in step["run"]


@ACTIONS
def test_an_action_reads_its_inputs_and_nothing_of_the_event_or_of_secrets(path: str) -> None:
    read_ = re.findall(r"\$\{\{(.*?)\}\}", actions()[path])
    [step] = data(path)["runs"]["steps"]
    inputs = {f" inputs.{name} " for name in data(path).get("inputs", {})}
    outputs = {f" steps.{step['id']}.outputs.{name} " for name in data(path).get("outputs", {})}
    assert set(read_) - {" !cancelled() "} == inputs | outputs


@ACTIONS
def test_an_action_has_the_description_that_github_asks_for(path: str) -> None:
    assert data(path)["name"]
    source = data(path)["description"].split()[1]
    assert (ROOT / source).is_file()
    assert all(each["description"] for each in data(path).get("inputs", {}).values())


def test_what_deletes_and_what_tells_goes_on_when_the_run_is_cancelled_and_nothing_else_does() -> None:
    conditions = {path.split("/")[1]: data(path)["runs"]["steps"][0]["if"] for path in actions()}
    going_on = {name for name, condition in conditions.items() if condition == "always()"}
    assert going_on == {"run-delete", "status", "comment"}
    assert set(conditions.values()) == {"always()", "${{ !cancelled() }}"}


def test_the_name_of_an_actions_folder_is_gits(tmp_path: Path) -> None:
    for path, text in actions().items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    git = ("git", "-C", str(tmp_path))
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    whole = subprocess.run([*git, "write-tree"], check=True, capture_output=True, text=True).stdout.strip()
    said = subprocess.run([*git, "ls-tree", f"{whole}:actions"], check=True, capture_output=True, text=True).stdout
    assert folders(actions()) == {name: content for _, _, content, name in map(str.split, said.splitlines())}


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


def test_a_step_that_a_cancelled_run_ends_needs_to_say_nothing() -> None:
    assert workflow(greeting(condition=not_cancelled()))


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


def test_a_finding_in_a_variable_stands_at_its_input() -> None:
    secret = greeting(env={"WHOM": context("github.event.head_commit.message"), "B": "b"}, run='eval "$WHOM"\n')
    text = dump(workflow(secret).document())
    whole = expanded(read(text, "greet.yaml"), called(workflow(secret)))
    assert whole.data == workflow(secret).plain()
    line = whole.positions["jobs", "greet", "steps", 0, "env", "WHOM"].line
    assert text.splitlines()[line - 1].strip() == "whom: ${{ github.event.head_commit.message }}"


def test_a_call_of_another_commit_stays_a_call() -> None:
    text = dump(workflow(greeting()).document()).replace(COMMIT, "0" * 40)
    whole = expanded(read(text, "greet.yaml"), called(workflow(greeting())))
    assert whole.data["jobs"]["greet"]["steps"][0]["uses"] == f"lab/tidepool/actions/greet@{'0' * 40}"


def test_rules_find_in_an_action_what_they_found_in_the_step() -> None:
    published = greeting(run='pytest tests || true\necho "$WHOM"\n')
    found = check([expanded(read(dump(workflow(published).document()), "greet.yaml"), called(workflow(published)))])
    assert "failure-shows" in {each.rule for each in found}
