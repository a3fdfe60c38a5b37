"""Rules of what a stranger can bring: text in scripts, code on runners of ours, code beside rights."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workflows.builders.expression import untrusted
from workflows.checks.conditions import situations_of
from workflows.checks.known import Known
from workflows.checks.plain import becoming, mapping, text, texts
from workflows.checks.possible import job_starts, step_runs
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.runners import on_ours, runners
from workflows.checks.situations import Situation
from workflows.checks.views import Job, Step, Workflow
from workflows.expressions import references

_CHECKOUT = "actions/checkout"
_FOREIGN = re.compile(
    r"github\.event\.pull_request\.(head\.|number)|github\.event\.workflow_run\.head_|github\.head_ref"
    r"|github\.event\.issue\.number|refs/pull/"
)
_READ_ONLY = frozenset(("pull_request", "pull_request_review", "pull_request_review_comment"))
"""Events at which a fork's run gets no secrets and a token that only reads.

https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows (read 2026-11-22)
"""
_SECRET = re.compile(r"\bsecrets\.(?!GITHUB_TOKEN\b)\w+\b(?!\s*\|\|)", re.IGNORECASE)
"""A secret for whose absence nothing is written."""
_TRUSTED_BASE = frozenset(("pull_request_target", "workflow_run", "issue_comment"))
"""Events at which a workflow has the repository's rights, whoever brought them about."""


def _injected(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        free = set(_free_inputs(job.workflow))
        for step in job.steps:
            held = {f"env.{name.lower()}" for name, value in step.known_env.items() if _chosen(text(value), free)}
            for key, content in step.scripts:
                for path, line in becoming(content):
                    if untrusted((path,)) or path in free | held:
                        reason = f"{path} becomes part of the script: whoever chooses it runs what they like here"
                        lines = line if "\n" in content else None
                        yield Broken(
                            workflow=job.workflow, path=step.script_path(key), job=job.id, reason=reason, lines=lines
                        )


def _chosen(content: str, free: set[str]) -> bool:
    """Whether somebody else chooses a text, or a part of it."""
    return any(untrusted((path,)) or path in free for path, _ in becoming(content))


def _free_inputs(workflow: Workflow) -> Iterator[str]:
    """Inputs that whoever starts the workflow by hand writes as they like; callers' are the repository's own."""
    for name, declared in mapping(workflow.filters("workflow_dispatch").get("inputs")).items():
        if text(mapping(declared).get("type")) in {"", "string"}:
            yield f"inputs.{name.lower()}"
            yield f"github.event.inputs.{name.lower()}"


def _runners(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        around = situations_of(job.workflow, scene)
        foreign = [each for each in around if each.fork and job_starts(job, each)]
        if foreign and on_ours(job, scene.known, around) and not _for_forks(job, scene.known, foreign):
            reason = f"{foreign[0].event} of a fork starts the job on a runner of ours"
            path = (*job.path, "if") if "if" in job.data else job.path
            yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason)


def _for_forks(job: Job, known: Known, foreign: list[Situation]) -> bool:
    """Whether every leg's runner is of a pool that is made for forks."""
    asked = runners(job, foreign)
    pools = [pool for pool in known.pools or () if pool.forks]
    return asked is not None and all(
        labels and any(set(labels) <= {*(each.lower() for each in pool.labels), "self-hosted"} for pool in pools)
        for labels in asked
    )


def _checked_out(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        events = _TRUSTED_BASE & set(workflow.triggers)
        around = [each for each in situations_of(workflow, scene) if each.event in events] if events else []
        for job in workflow.jobs:
            for step in job.steps:
                if step.action != _CHECKOUT or not _takes_foreign(step):
                    continue
                if bad := [
                    each for each in around if _strangers(each) and job_starts(job, each) and step_runs(step, each)
                ]:
                    reason = (
                        f"{bad[0].event} has the repository's rights, and a stranger's code is checked out beside them"
                    )
                    yield Broken(workflow=workflow, path=step.path, job=job.id, reason=reason)


def _takes_foreign(step: Step) -> bool:
    return any(_FOREIGN.search(text(step.inputs.get(key))) for key in ("ref", "repository"))


def _strangers(situation: Situation) -> bool:
    # A comment may stand below anybody's pull request, and its event does not say whose that is.
    return situation.fork or situation.event == "issue_comment"


def _commands_of_comments(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        if "issue_comment" not in workflow.triggers:
            continue
        for job in workflow.jobs:
            reads = {path for asked in workflow.asked if asked.job == job.id for path in references(asked.node)} | {
                path
                for step in job.steps
                for _, content in step.scripts
                for path in re.findall(r"author_association", content)
            }
            told = any(
                "author_association" in path or path.startswith(("github.actor", "github.triggering_actor"))
                for path in reads
            )
            acts = any("body" in path for path in reads if path.startswith("github.event.comment"))
            if acts and not told and not _only_reads(job):
                reason = "anybody can write a comment, and nothing asks who wrote this one"
                yield Broken(workflow=workflow, path=job.path, job=job.id, reason=reason)


def _only_reads(job: Job) -> bool:
    rights = job.permissions
    harmless = isinstance(rights, dict) and all(each in {"read", "none"} for each in rights.values())
    given = any("secrets." in text(each) for each in job.env.values())
    return harmless and not given and not job.mentions(r"\$\{\{[^}]*secrets\.")


def _secretless(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        around = [
            each
            for each in situations_of(job.workflow, scene)
            if each.fork and each.event in _READ_ONLY and job_starts(job, each)
        ]
        for step in job.steps if around else ():
            if not any(step_runs(step, each) for each in around):
                continue
            needed = sorted({found for _, content in texts(step.data, ()) for found in _SECRET.findall(content)})
            if needed:
                reason = f"a fork's pull request starts it, and has no secret: {', '.join(needed)} is empty there"
                yield Broken(workflow=job.workflow, path=step.path, job=job.id, reason=reason)


RULES = (
    Rule(
        id="no-injection",
        what="No script holds text that somebody else chooses",
        why="a branch can be called `$(curl ... | sh)`, and its pull request runs that",
        example='`run: echo "${{ github.event.pull_request.title }}"`',
        fix='the expression in env, and "$NAME" in the script',
        judge=_injected,
    ),
    Rule(
        id="no-fork-on-our-runner",
        what="A job on a runner of ours cannot start for a pull request from a fork",
        why="it would run a stranger's code in the lab's project; where the guard fails, only the runner group is left",
        example="`on: pull_request` and `runs-on: [self-hosted, tpu-ci]` without `if`",
        fix="if: github.event.pull_request.head.repo.full_name == github.repository",
        judge=_runners,
    ),
    Rule(
        id="no-stranger-with-rights",
        what="Where a workflow has the repository's rights, no stranger's code is checked out",
        why="`pull_request_target`, `workflow_run` and `issue_comment` have secrets and a token that may write",
        example="`on: pull_request_target` and `ref: ${{ github.event.pull_request.head.sha }}`",
        fix="the default branch, or a condition that only the repository's own branches meet",
        judge=_checked_out,
    ),
    Rule(
        id="comment-by-whom",
        what="A job that obeys a comment asks who wrote it",
        why="anybody with an account can write `/deploy`",
        example="`if: contains(github.event.comment.body, '/deploy')`",
        fix='contains(fromJSON(\'["MEMBER", "OWNER"]\'), github.event.comment.author_association)',
        judge=_commands_of_comments,
    ),
    Rule(
        id="secret-for-forks",
        what="A step that needs a secret does not run for a pull request of a fork",
        why="GitHub gives a fork no secrets: the step fails for every contributor, or goes on with an empty one",
        example="`on: pull_request` and `env: {HF_TOKEN: '${{ secrets.HF_TOKEN }}'}` without a guard",
        fix="if: github.event.pull_request.head.repo.full_name == github.repository; or secrets.NAME || ''",
        judge=_secretless,
    ),
)
