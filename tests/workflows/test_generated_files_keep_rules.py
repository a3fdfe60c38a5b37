"""Nothing is found in the files that are generated, and each fault that is put into one of them is found."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.synthetic_lab import the_lab
from workflows.checks import RULES, Known, check, pools_of
from workflows.generate import Generated, generate
from workflows.own import generate_own
from workflows.read import WorkflowFile
from workflows.spec import load_spec, spec_names
from workflows.world import load_world

ROOT = Path(__file__).parents[2]
Fault = Callable[[dict[str, Any]], bool]
"""Puts a fault into a workflow; False where the workflow has nothing to go wrong with."""


@cache
def known() -> Known:
    return Known(pools=pools_of(load_world(the_lab()).stacks.values()))


@cache
def repositories() -> dict[str, tuple[Generated, ...]]:
    """The generated files of this repository and of each specification's."""
    world = load_world(the_lab())
    made = {name: generate(load_spec(the_lab(), name, world), world) for name in spec_names(the_lab())}
    return {"own": generate_own(world), **made}


@cache
def files(name: str) -> tuple[WorkflowFile, ...]:
    """As rules judge them: read back, with the script of each action in its place."""
    return tuple(each.whole() for each in repositories()[name])


@pytest.mark.parametrize("name", ["own", *spec_names(the_lab())])
def test_nothing_is_found_in_generated_files(name: str) -> None:
    found = check(files(name), known())
    assert not found, "\n".join(map(str, found))


def each_job(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (job for job in data["jobs"].values() if "steps" in job)


def each_step(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in each_job(data):
        yield from job["steps"]


def without(key: str) -> Fault:
    def fault(data: dict[str, Any]) -> bool:
        return bool([job.pop(key) for job in each_job(data) if key in job])

    return fault


def no_rights(data: dict[str, Any]) -> bool:
    del data["permissions"]
    return without("permissions")(data)


def no_concurrency(data: dict[str, Any]) -> bool:
    return bool(data.pop("concurrency", None)) and not any("concurrency" in job for job in each_job(data))


def secret_in_script(data: dict[str, Any]) -> bool:
    found = [step for step in each_step(data) if "run" in step]
    for step in found:
        step["run"] += "\necho ${{ secrets.TOKEN }}\n"
    return bool(found)


def never(data: dict[str, Any]) -> bool:
    for job in each_job(data):
        job["if"] = "github.event.issue.pull_request && github.event_name == 'release'"
    return True


def unguarded(data: dict[str, Any]) -> bool:
    guarded = [job for job in each_job(data) if "self-hosted" in job["runs-on"] and "pull_request" in data["on"]]
    for job in guarded:
        job.pop("if", None)
    return bool(guarded)


def nobody(data: dict[str, Any]) -> bool:
    for job in each_job(data):
        job["runs-on"] = ["self-hosted", "tpu-of-nobody"]
    return True


MAKES = "infra.fleet.runs run"


def not_always(data: dict[str, Any]) -> bool:
    if not any(MAKES in step.get("run", "") for step in each_step(data)):
        return False
    for thing in (*each_job(data), *each_step(data)):
        if "always()" in str(thing.get("if", "")):
            thing["if"] = "success()"
    return True


def no_end(data: dict[str, Any]) -> bool:
    if not any(MAKES in step.get("run", "") for step in each_step(data)):
        return False
    for job in each_job(data):
        if "REQUEST" in job.get("env", {}):
            job["env"]["REQUEST"] = job["env"]["REQUEST"].replace('"times"', '"hours"')
    return True


def cut_off(data: dict[str, Any]) -> bool:
    if not any(re.search(r"fleet\.runs run|tidepool up \w+ --|pypi-publish", str(step)) for step in each_step(data)):
        return False
    data["concurrency"] = {"group": "x-${{ github.ref }}", "cancel-in-progress": True}
    return True


def dropped_line(data: dict[str, Any]) -> bool:
    found = [step for step in each_step(data) if re.search(r"\\\n\s+--", step.get("run", ""))]
    for step in found:
        step["run"] = re.sub(r" \\\n(\s+--)", r"\n\1", step["run"], count=1)
    return bool(found)


def no_conclusion(data: dict[str, Any]) -> bool:
    if "workflow_run" not in data["on"]:
        return False
    text = re.sub(r"github\.event\.workflow_run\.conclusion == '\w+'", "true", repr(data["jobs"]))
    changed = text != repr(data["jobs"])
    for job in each_job(data):
        job["if"] = re.sub(r"github\.event\.workflow_run\.conclusion [!=]= '\w+'", "true", job.get("if", ""))
    return changed


def other_upstream(data: dict[str, Any]) -> bool:
    if "workflow_run" not in data["on"]:
        return False
    data["on"]["workflow_run"]["workflows"] = ["Run Tests"]
    return True


FAULTS: dict[str, Fault] = {
    "job-ends": without("timeout-minutes"),
    "rights-said": no_rights,
    "second-run-decided": no_concurrency,
    "secret-by-environment": secret_in_script,
    "condition-can-hold": never,
    "no-fork-on-our-runner": unguarded,
    "runner-has-labels": nobody,
    "machine-deleted": not_always,
    "machine-ends": no_end,
    "finishes-what-it-began": cut_off,
    "line-continued": dropped_line,
    "conclusion-tested": no_conclusion,
    "upstream-exists": other_upstream,
}


def put(rule: str, file: WorkflowFile) -> WorkflowFile:
    """The file with the fault; the same where it has nothing to go wrong with."""
    data = copy.deepcopy(dict(file.data))
    return WorkflowFile(file.source, data, file.positions, file.values) if FAULTS[rule](data) else file


@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_in_a_generated_file_is_found(rule: str) -> None:
    alone, tried = [each for each in RULES if each.id == rule], 0
    for whole in map(files, repositories()):
        faulty = [put(rule, file) for file in whole]
        wrong = {file.source for file, was in zip(faulty, whole, strict=True) if file is not was}
        tried += len(wrong)
        found = {each.file for each in check(faulty, known(), alone)}
        assert wrong <= found
    assert tried, "no generated file can have this fault"
