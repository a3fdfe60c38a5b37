"""Workflows without fault, as data, to which an example adds one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workflows.checks import Known, Pool
from workflows.dump import CommentedData, dump
from workflows.read import WorkflowFile, read

Data = Mapping[str, Any]
Repository = tuple[Data, ...]
"""The workflows of one repository."""

COMMIT = "0123456789" * 4
OURS = ["self-hosted", "tpu-ci"]
GUARD = "github.event.pull_request.head.repo.full_name == github.repository"
ENDED = "github.event.workflow_run.conclusion == 'success'"
WAITS: Data = {"concurrency": {"group": "one", "cancel-in-progress": False}}
KNOWN = Known(
    repository="lab/mono",
    pools=(
        Pool("tpu-ci", frozenset(("self-hosted", "tpu", "tpu-ci"))),
        Pool("forks", frozenset(("self-hosted", "cpu-forks")), forks=True),
    ),
)


@dataclass(frozen=True)
class Example:
    """Repositories that break a rule, and such that keep it."""

    bad: tuple[Repository, ...]
    good: tuple[Repository, ...]
    known: Known = KNOWN


def alone(*data: Data) -> tuple[Repository, ...]:
    """Repositories of one workflow each."""
    return tuple((each,) for each in data)


def workflow(
    *steps: Data, on: Any = None, job: Data | None = None, jobs: Data | None = None, drop: str = "", **top: Any
) -> Data:
    """A workflow without fault but for what is given. drop: a key that is left out of it and its jobs."""
    whole: dict[str, Any] = {
        "name": "Checks",
        "on": {"push": {"branches": ["main"]}, "pull_request": {}} if on is None else on,
        "permissions": {"contents": "read"},
        "concurrency": {
            "group": "checks-${{ github.event.pull_request.number || github.ref }}",
            "cancel-in-progress": "${{ github.event_name == 'pull_request' }}",
        },
        **top,
    }
    given = jobs or {"test": {**(job or {}), "steps": list(steps or (run("echo tested"),))}}
    base = {"runs-on": "ubuntu-24.04", "timeout-minutes": 15}
    whole["jobs"] = {
        name: {key: value for key, value in {**base, **data}.items() if key != drop} for name, data in given.items()
    }
    return {key: value for key, value in whole.items() if key != drop}


def run(script: str, **step: Any) -> Data:
    """A step whose first line is not that of its script, as of the others: so a place is told from its step."""
    return {"name": "Act", "run": script, **step}


def when(condition: str, script: str = "echo a") -> Data:
    """A step with an `if`."""
    return run(script, **{"if": condition})


def uses(action: str, **inputs: Any) -> Data:
    return {"name": "Act", "uses": f"{action}@{COMMIT}", **({"with": inputs} if inputs else {})}


CHECKS = workflow()


def following(*steps: Data, condition: str = ENDED, on: Any = None, **given: Any) -> Data:
    """A workflow behind Checks."""
    behind = {"workflow_run": {"workflows": ["Checks"], "types": ["completed"]}}
    job = {"if": condition} if condition else {}
    whole: dict[str, Any] = {"name": "Package", **WAITS, **given}
    return workflow(*steps, on=on or behind, job=job, **whole)


def texts(data: Repository) -> Mapping[str, str]:
    """The workflow files of a repository by their paths, a line for each key."""
    return {
        f".github/workflows/{index}-{each['name']}.yaml": dump(CommentedData(each)) for index, each in enumerate(data)
    }


def files(data: Repository) -> tuple[WorkflowFile, ...]:
    """The workflows of a repository, read as GitHub reads them."""
    return tuple(read(text, path) for path, text in texts(data).items())
