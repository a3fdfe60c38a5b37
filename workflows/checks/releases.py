"""Rules of releases: who is asked first, that the tested commit is the one that goes out, and by its digest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workflows.checks.machines import makes_in
from workflows.checks.plain import becoming, text
from workflows.checks.publishing import finishes
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.views import Job

_DEPLOYS = re.compile(r"(\S*/)?(tidepool (up|destroy)|pulumi (up|destroy)|terraform (apply|destroy))\b")
_INDEX = "pypa/gh-action-pypi-publish"
_BRANCH = frozenset(("github.event.workflow_run.head_branch", "github.event.workflow_run.head_ref"))
_DEFAULT_BRANCH = "github.event.repository.default_branch"
_IMAGE = re.compile(
    r"(?:[\w.-]+\.(?:pkg\.dev|io|com|org)|localhost(?::\d+)?)/[\w./-]+(?::[\w.-]+)?(?P<digest>@sha256:[0-9a-f]{64})?"
)


def _unasked(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        if not _deploys(job) or text(job.data.get("environment")) or isinstance(job.data.get("environment"), dict):
            continue
        reason = "it applies or publishes without an environment, which no rule of GitHub's can then hold back"
        yield Broken(workflow=job.workflow, path=job.path, job=job.id, reason=reason)


def _deploys(job: Job) -> bool:
    """Whether it changes infrastructure, or publishes where the workflow itself is trusted."""
    if any(step.action == _INDEX and "password" not in step.inputs for step in job.steps):
        return True
    commands = (each for step in job.steps for each in step.commands)
    return any(_DEPLOYS.match(each.said) and not {"--dry-run", "--help"} & set(each.texts) for each in commands)


def _moving(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        if "workflow_run" not in workflow.triggers:
            continue
        for job in workflow.jobs:
            if not finishes(job) and not any(finishes(other) for other in workflow.jobs if job in other.ancestors):
                continue
            for step in job.steps:
                ref = text(step.inputs.get("ref"))
                if step.action == "actions/checkout" and any(path in _BRANCH for path, _ in becoming(ref)):
                    reason = f"{ref} is the branch's newest commit, which may be later than the one that was tested"
                    yield Broken(workflow=workflow, path=step.path, job=job.id, reason=reason)


def _tagged(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for step in job.steps:
            found = _IMAGE.fullmatch(text(step.known_env.get("IMAGE"))) if makes_in(step) else None
            if found and not found["digest"]:
                reason = f"the VM runs {found[0]}, which is another image when somebody pushes one"
                yield Broken(workflow=job.workflow, path=(*step.path, "env", "IMAGE"), job=job.id, reason=reason)


RULES = (
    Rule(
        id="asks-first",
        what="What applies infrastructure, or publishes where the workflow itself is trusted, has an environment",
        why="approvals and allowed branches are an environment's: without one whoever may push applies",
        example="`./tidepool up ci` in a job without `environment`",
        fix="environment: the one that has the reviewers",
        judge=_unasked,
    ),
    Rule(
        id="tested-commit-stays",
        what="What is published after another workflow is the commit that it tested",
        why="a branch moves on while its tests run: what goes out was never tested",
        example="`ref: ${{ github.event.workflow_run.head_branch }}`",
        fix="ref: ${{ github.event.workflow_run.head_sha }}",
        judge=_moving,
    ),
    Rule(
        id="run-image-by-digest",
        what="The image that a VM made for a run runs is named by its digest",
        why="it has the identity of the VM, and a tag can be moved to other code",
        example="`IMAGE: docker.io/library/python:3.12` beside `tpu-vm create`",
        fix="IMAGE: NAME@sha256:DIGEST",
        judge=_tagged,
    ),
)
