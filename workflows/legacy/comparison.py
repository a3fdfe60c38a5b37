"""The workflow that reports, for each commit, how old workflows ended beside the generated ones.

Owns when it runs and what it may do. What it says is `workflows/shell/compare_legacy.sh`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from infra.model.errors import ConfigError, Problem
from workflows import steps
from workflows.builders import (
    Access,
    Concurrency,
    Grant,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Scope,
    Triggers,
    Workflow,
    WorkflowRun,
    context,
    template,
)
from workflows.generate.result import FOLDER, Generated, generated
from workflows.legacy.copies import COMPARISON
from workflows.legacy.text import SUFFIX, suffixed_file
from workflows.spec import Spec
from workflows.spec.model import Legacy, LegacyRuns, Old
from workflows.world import World

NAME: Final = "Old and new workflows"
SCRIPT: Final = "compare_legacy.sh"
EVENTS: Final = ("pull_request", "push")
"""What starts old and new ones alike, at one commit."""


def comparison(spec: Spec, world: World, files: Iterable[Generated]) -> Generated:
    """The file of a specification with a section `legacy`, beside the `files` that are generated of it.

    ConfigError where there is no such section.
    """
    legacy = spec.declared.legacy
    if legacy is None:
        rule = "the specification says which old workflows are kept, and up to which day"
        raise ConfigError([Problem(spec.file, "", rule, "a section `legacy`")])
    names = {PurePosixPath(file.path).name: file.workflow.name for file in files}
    workflow = Workflow(
        name=NAME,
        header="Reads results, and writes them into the run's summary and into one comment of a pull request.",
        triggers=Triggers.of(
            WorkflowRun(
                workflows=_followed(legacy, names),
                why="checks out nothing, and shows of a run its times, its results and names without signs",
            )
        ),
        concurrency=Concurrency(
            template(
                "legacy-comparison-",
                context("github.event.workflow_run.event"),
                "-",
                context("github.event.workflow_run.head_sha"),
            ),
            Purpose.WATCH,
        ),
        jobs=[_compare(legacy, world)],
    )
    return generated(spec, COMPARISON, workflow, {"compare": spec.line("legacy")})


def _compare(legacy: Legacy, world: World) -> Job:
    ended = context("github.event.workflow_run.conclusion")
    compared = steps.script(
        world,
        SCRIPT,
        name="Compare",
        env={
            "GH_TOKEN": context("github.token"),
            "SHA": context("github.event.workflow_run.head_sha"),
            "EVENT": context("github.event.workflow_run.event"),
            "PAIRS": json.dumps(_pairs(legacy)),
            "FILES": " ".join(_temporary(legacy)),
            "UNTIL": legacy.until.isoformat(),
        },
        timeout_minutes=8,
    )
    return Job(
        id="compare",
        purpose=Purpose.WATCH,
        runs_on=Hosted(),
        timeout_minutes=10,
        why="A failure is a result like another; a run that was cancelled or skipped has none.",
        condition=context("github.event.workflow_run.event").one_of(EVENTS)
        & (ended.equals("success") | ended.equals("failure")),
        permissions=Permissions.of(
            Grant(Scope.ACTIONS, Access.READ, "runs and their jobs"),
            Grant(Scope.PULL_REQUESTS, Access.WRITE, "one comment, edited in place"),
        ),
        # In the file itself: it goes when the old files do.
        steps=[replace(compared, shared=None)],
    )


def _pairs(legacy: Legacy) -> list[dict[str, object]]:
    """What is compared: each generated file with the old ones that run beside it."""
    beside = _beside(legacy)
    return [
        {"new": file, "old": [suffixed_file(old.file) for old in beside if old.replaced_by == file]}
        for file in dict.fromkeys(old.replaced_by for old in beside)
    ]


def _followed(legacy: Legacy, names: Mapping[str, str]) -> list[str]:
    beside = _beside(legacy)
    new = dict.fromkeys(names[old.replaced_by] for old in beside)
    return [*new, *(old.name + SUFFIX for old in beside)]


def _beside(legacy: Legacy) -> list[Old]:
    return [old for old in legacy.workflows if old.runs is LegacyRuns.BESIDE]


def _temporary(legacy: Legacy) -> list[str]:
    """Every file that goes when the last day is over."""
    return [f"{FOLDER}/{name}" for name in (*(suffixed_file(old.file) for old in legacy.workflows), COMPARISON)]
