"""Whatever a specification asks for, its files are read as they were written, and no job lacks what every job has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workflows import specs
from tests.workflows.event_tables import table
from workflows.builders.step import inner_limits
from workflows.generate import generate
from workflows.runs import Given, run
from workflows.spec import read_spec

REPOSITORY = "marin-community/marin"
LONGEST_RUN = 270
"""Minutes of a command for which its VM ends within the 360 that the synthetic lab gives VMs of runs."""
POOLS = ("tpu-ci", "tpu-v4", "tpu-v5p", "tpu-v6e")
NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,12}[a-z0-9])?", fullmatch=True)
FOLDERS = st.from_regex(r"[a-z]{1,8}(/[a-z_.]{1,8}[a-z]){0,2}", fullmatch=True)
WORDS = st.from_regex(r"[A-Za-z0-9_@%+=:,./-]{1,12}(\{run\})?", fullmatch=True)
LINES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=12).map(lambda text: f"x {text}")
MARKERS = st.lists(st.sampled_from(["slow", "not ray", "(entry or tpu_ci)"]), min_size=1, max_size=3).map(" and ".join)
SOME_POOLS = st.lists(st.sampled_from(POOLS), min_size=1, unique=True)
EVENTS = st.dictionaries(st.sampled_from(["pull_request", "push"]), SOME_POOLS, min_size=1)


def versions(pattern: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.from_regex(pattern, fullmatch=True), min_size=1, max_size=3, unique=True)


@st.composite
def suites(draw: st.DrawFn) -> dict[str, Any]:
    hosted = draw(st.booleans())
    asked: dict[str, Any] = {
        "package": draw(NAMES),
        "folder": draw(FOLDERS),
        "tests": draw(st.lists(FOLDERS, min_size=1, max_size=2)),
        "markers": draw(MARKERS),
        "where": "github-hosted" if hosted else draw(st.one_of(SOME_POOLS, EVENTS)),
        "jax": draw(st.one_of(st.just([]), versions(r"0\.[0-9]\.[0-9]"))),
        "extras": [*draw(st.lists(NAMES, max_size=2)), *([] if hosted else ["tpu"])],
        "options": draw(st.lists(st.from_regex(r"--[a-z]{1,8}(=[a-z0-9]{1,4})?", fullmatch=True), max_size=2)),
        "env": draw(st.dictionaries(st.from_regex(r"[A-Z]{1,6}", fullmatch=True), LINES, max_size=2)),
        "secrets": draw(st.lists(st.sampled_from(["HF_TOKEN", "WANDB_API_KEY"]), unique=True)),
        "priority": draw(st.sampled_from(["first", "normal"])),
        "timeout_minutes": draw(st.integers(6, 360)),
    }
    if hosted:
        asked |= {"python": draw(versions(r"3\.1[0-4]"))}
    return asked


@st.composite
def specifications(draw: st.DrawFn) -> str:
    files = [
        {
            "file": f"tests-{index}.yaml",
            "name": f"Tests {index}",
            "paths": draw(st.lists(FOLDERS.map(lambda folder: f"{folder}/**"), max_size=2)),
            "suites": [{"job": f"job-{place}", **suite} for place, suite in enumerate(each)],
        }
        for index, each in enumerate(draw(st.lists(st.lists(suites(), min_size=1, max_size=3), min_size=1, max_size=2)))
    ]
    run_ = {
        "file": "levanter-launch_small_fast.yaml",
        "name": "Levanter - Launch Llama 2 Small Fast",
        "job": "launch",
        "kind": draw(st.sampled_from(["integration", "training"])),
        "accelerator": draw(st.sampled_from(["v4-8", "v4-16", "v4-32"])),
        "vm": "train-v4",
        "image": "levanter-incremental",
        "package": "levanter",
        "command": draw(st.lists(WORDS, min_size=1, max_size=5)),
        "env": draw(st.dictionaries(st.from_regex(r"[A-Z]{1,6}", fullmatch=True), LINES, max_size=2)),
        "secrets": draw(st.sampled_from([{}, {"HF_TOKEN": "hf-token"}])),
        "schedule": draw(st.sampled_from([[], ["0 2 * * *"]])),
        "attempts": draw(st.integers(1, 5)),
        "timeout_minutes": draw(st.integers(5, LONGEST_RUN)),
    }
    document = {
        "version": 1, "repository": REPOSITORY, "branch": "main", "stack": "ci",
        "tests": files, "runs": [run_],
    }  # fmt: skip
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False)


@settings(max_examples=15, deadline=None)
@given(specifications())
def test_files_are_read_as_written_with_limits_of_every_job_and_no_fork_reaches_a_runner_of_ours(text: str) -> None:
    spec = read_spec(text, "any", "workflows/spec/any.yaml", specs.world())
    made = generate(spec, specs.pinned())
    assert len(made) == len(spec.declared.tests) + 1
    for each in made:
        data = each.whole().data
        assert data == _untyped(each.workflow.plain())
        assert data["permissions"] == {}
        for name, job in data["jobs"].items():
            assert name in each.sources
            _judge(job)
        for event in (event for event in table(data, REPOSITORY) if "fork" in event.title):
            for job in run(each.workflow.plain(), event, Given()).jobs:
                assert not any("self-hosted" in leg.labels for leg in job.legs if job.starts)


def _judge(job: Mapping[str, Any]) -> None:
    assert job["timeout-minutes"] > 0
    assert "permissions" in job
    if job["runs-on"] != "ubuntu-24.04":
        assert job["runs-on"][0] == "self-hosted"
        assert job["permissions"] == {"contents": "read"}
    for step in job["steps"]:
        limit = step.get("timeout-minutes", job["timeout-minutes"])
        assert limit <= job["timeout-minutes"]
        assert all(seconds < 60 * limit for seconds in inner_limits(step.get("run", "")))
        assert "${{" not in step.get("run", "")


def _untyped(value: Any) -> Any:
    """Plain data as YAML gives it: tuples are lists there."""
    if isinstance(value, Mapping):
        return {key: _untyped(each) for key, each in value.items()}
    return [_untyped(each) for each in value] if isinstance(value, list | tuple) else value
