"""Rules of workflows behind others, schedules, and what is applied or published: of which commit, by which digest."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

from cronsim import CronSim, CronSimError

from workflows.checks.machines import makes_in, request_of
from workflows.checks.plain import becoming, listed, mapping, text
from workflows.checks.possible import job_starts
from workflows.checks.rule import Broken, Repository, WorkflowRule, broken
from workflows.checks.shell import Command
from workflows.checks.views import JobView, StepView, WorkflowView
from workflows.expressions import references

_ACTIONS = frozenset(
    (
        "pypa/gh-action-pypi-publish",
        "actions/deploy-pages",
        "softprops/action-gh-release",
        "google-github-actions/deploy-cloudrun",
    )
)
_COMMANDS = re.compile(
    r"(\S*/)?(twine upload|docker push|docker image push|npm publish|uv publish|poetry publish|cargo publish"
    r"|crane (copy|cp|push|tag)|skopeo copy|docker buildx imagetools create"
    r"|gh release (create|upload|edit)"
    r"|terraform (apply|destroy)|pulumi (up|destroy)|tidepool (up|destroy)|gcloud (run|app) deploy"
    r"|gcloud run jobs (deploy|update)|gcloud builds submit"
    r"|git push)\b"
)
_CLUSTER = re.compile(r"(\S*/)?(kubectl (apply|create|delete|rollout)|helm (install|upgrade))\b")
_OWN_CLUSTER = r"minikube|kind create cluster|helm/kind-action|k3d|k3s"
"""What makes a cluster that goes with the job."""
_HAS_PUSH = re.compile(r"docker (buildx )?(build|bake)\b")
_EDITOR = re.compile(r"(\S*/)?(g?sed|perl)")
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_VERSIONED = re.compile(r"\.(toml|cfg|py|json)\b")
_SUBSTITUTION = re.compile(r"^s(?P<sign>[/|#,@])(?P<pattern>.*?)(?<!\\)(?P=sign)")
_VERSION = re.compile(r"(?<!\w)version\W{0,3}\s*(=|:)")
_DEPLOYS = re.compile(r"(\S*/)?(tidepool (up|destroy)|pulumi (up|destroy)|terraform (apply|destroy))\b")
_INDEX = "pypa/gh-action-pypi-publish"
_BRANCH = frozenset(("github.event.workflow_run.head_branch", "github.event.workflow_run.head_ref"))
_BRANCH_PROOF = r"git/refs?/heads/|rev-list --first-parent"
"""How a job asks which commits are a branch's own: of GitHub by the full name of the ref, or of git."""
_IMAGE = re.compile(
    r"(?:[\w.-]+\.(?:pkg\.dev|io|com|org)|localhost(?::\d+)?)/[\w./-]+(?::[\w.-]+)?(?P<digest>@sha256:[0-9a-f]{64})?"
)

MOST_LEVELS = 3
"""Levels of workflow_run that GitHub starts, as its page on events says.

https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows (read 2026-11-21)
"""
_SOMETIME = datetime(2026, 1, 1, tzinfo=UTC)
CONCLUSION = "github.event.workflow_run.conclusion"
BAD_ENDS = ("failure", "cancelled", "timed_out")
_CHECKOUT = "actions/checkout"


def finishes(job: JobView) -> bool:
    """Whether it applies or publishes something, which must not be done by half."""
    if any(_publishes(step) for step in job.steps):
        return True
    applies = any(_CLUSTER.match(each.said) for step in job.steps for each in step.commands)
    return applies and not job.mentions(_OWN_CLUSTER)


def _publishes(step: StepView) -> bool:
    if step.action in _ACTIONS or (step.action == "docker/build-push-action" and pushes(step)):
        return True
    return any(_applies(each) for each in step.commands)


def pushes(step: StepView) -> bool:
    """Whether a build action pushes what it built."""
    return text(step.inputs.get("push")) not in {"", "false"} or "push=true" in text(step.inputs.get("outputs"))


def _applies(command: Command) -> bool:
    if _HAS_PUSH.match(command.said):
        return any(each == "--push" or "push=true" in each for each in command.texts)
    return bool(_COMMANDS.match(command.said)) and "--dry-run" not in command.texts and "--help" not in command.texts


def _versions(judged: Repository) -> Iterator[Broken]:
    for step, command in judged.commands():
        if script := _bumped(command):
            reason = f"this changes every line that matches, those of dependencies and tools too: {script}"
            yield broken(step, reason, line=command.line)


def _bumped(command: Command) -> str:
    """The substitution of every version in a file of settings, without an address that limits it."""
    words = command.texts
    editor = next((index for index, each in enumerate(words) if _EDITOR.fullmatch(each)), None)
    if editor is None or not any(map(_IN_PLACE.match, words[editor:])):
        return ""
    # Behind xargs the files come from what stands before it.
    if "xargs" not in words[:editor] and not any(map(_VERSIONED.search, words)):
        return ""
    for each in words[editor:]:
        found = _SUBSTITUTION.match(each)
        if found and _VERSION.search(found["pattern"]):
            return each
    return ""


def _unasked(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        if not _deploys(job) or text(job.data.get("environment")) or isinstance(job.data.get("environment"), dict):
            continue
        reason = "it applies or publishes without an environment, which no rule of GitHub's can then hold back"
        yield broken(job, reason)


def _deploys(job: JobView) -> bool:
    """Whether it changes infrastructure, or publishes where the workflow itself is trusted."""
    if any(step.action == _INDEX and "password" not in step.inputs for step in job.steps):
        return True
    commands = (each for step in job.steps for each in step.commands)
    return any(_DEPLOYS.match(each.said) and not {"--dry-run", "--help"} & set(each.texts) for each in commands)


def _moving(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        if "workflow_run" not in workflow.triggers:
            continue
        for job in workflow.jobs:
            if not finishes(job) and not any(finishes(other) for other in workflow.jobs if job in other.ancestors):
                continue
            for step in job.steps:
                ref = text(step.inputs.get("ref"))
                if step.action == "actions/checkout" and any(path in _BRANCH for path, _ in becoming(ref)):
                    reason = f"{ref} is the branch's newest commit, which may be later than the one that was tested"
                    yield broken(step, reason)


def _unproven(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        if "workflow_run" not in workflow.triggers:
            continue
        for job in workflow.jobs:
            if finishes(job) and not any(each.mentions(_BRANCH_PROOF) for each in (job, *job.ancestors)):
                reason = "a tag with the branch's name passes `branches:` and `head_branch`: its commit is published"
                yield broken(job, reason)


def _tagged(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        for step in job.steps:
            request = request_of(step)
            for image in (
                (text(step.known_env.get("IMAGE")), request.image if request else "") if makes_in(step) else ()
            ):
                found = _IMAGE.fullmatch(image)
                if found and not found["digest"]:
                    reason = f"the VM runs {found[0]}, which is another image when somebody pushes one"
                    yield broken(step, reason, "env", "IMAGE")


def _followed(workflow: WorkflowView) -> tuple[str, ...]:
    return listed(workflow.filters("workflow_run").get("workflows"))


def _exists(judged: Repository) -> Iterator[Broken]:
    known = {*judged.upstreams, *judged.known.workflows}
    for workflow in judged.workflows:
        for name in _followed(workflow):
            if name not in known:
                near = next((each for each in sorted(known) if name.lower() in each.lower()), "")
                hint = f"; there is {near}" if near else ""
                yield broken(workflow, f"no workflow is called {name}{hint}", "on", "workflow_run", "workflows")


def _chains(judged: Repository) -> Iterator[Broken]:
    by_name = judged.upstreams

    def levels(name: str, seen: tuple[str, ...]) -> int:
        if name in seen or name not in by_name:
            return 0
        return 1 + max((levels(each, (*seen, name)) for each in _followed(by_name[name])), default=-1)

    for workflow in judged.workflows:
        if _followed(workflow) and (deep := levels(workflow.name, ())) > MOST_LEVELS:
            reason = f"it is {deep} runs behind what starts it, and GitHub follows {MOST_LEVELS}"
            yield broken(workflow, reason, "on", "workflow_run")


def _names(judged: Repository) -> Iterator[Broken]:
    files: dict[str, list[WorkflowView]] = defaultdict(list)
    for workflow in judged.workflows:
        files[workflow.name].append(workflow)
    for name, workflows in files.items():
        for workflow in workflows[1:]:
            reason = f"{workflows[0].file.source} is called {name} too"
            yield broken(workflow, reason, "name")


def _conclusions(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        types = listed(workflow.filters("workflow_run").get("types"))
        if "workflow_run" not in workflow.triggers or (types and "completed" not in types):
            continue
        around = [each for each in judged.situations(workflow) if each.event == "workflow_run"]
        for job in workflow.jobs:
            bad = [end for end in BAD_ENDS if any(job_starts(job, each.knowing(CONCLUSION, end)) for each in around)]
            asks = _asks_conclusion(job) or any(_asks_conclusion(each) for each in job.ancestors)
            # A job that asks may report a failure; one that publishes may not follow it.
            if bad and (not asks or finishes(job)):
                reason = f"the job starts after a {bad[0]} of {' or '.join(_followed(workflow))} too"
                yield broken(job, reason)


def _asks_conclusion(job: JobView) -> bool:
    return any(
        asked.job == job.id and any(path.startswith(CONCLUSION) for path in references(asked.node))
        for asked in job.workflow.asked
    ) or any(CONCLUSION in content for step in job.steps for _, content in step.scripts)


def _commits(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        if "workflow_run" in workflow.triggers:
            reason = "workflow_run checks out the newest commit of the default branch, not the one that ran before"
            fix = "ref: ${{ github.event.workflow_run.head_sha || github.sha }}, or the default branch by name"
        elif "issue_comment" in workflow.triggers and _for_pull_requests(workflow):
            reason = "issue_comment checks out the default branch, not the pull request that was commented on"
            fix = "ref: refs/pull/${{ github.event.issue.number }}/head, or the default branch by name"
        else:
            continue
        for job in workflow.jobs:
            for step in job.steps:
                if step.action == _CHECKOUT and not {"ref", "repository"} & step.inputs.keys():
                    yield broken(step, reason, fix=fix)


def _for_pull_requests(workflow: WorkflowView) -> bool:
    paths = {path for each in workflow.asked for path in references(each.node)}
    return any(path.startswith("github.event.issue.pull_request") for path in paths)


def _schedules(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        entries = workflow.triggers.get("schedule")
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            cron = text(mapping(entry).get("cron"))
            if said := _cron(cron):
                yield broken(workflow, f"{cron}: {said}", "on", "schedule", index, "cron")


def _cron(cron: str) -> str:
    if len(cron.split()) != 5 or set(cron) & set("LW#?@"):
        return "GitHub reads five fields of POSIX: minute, hour, day, month, weekday"
    try:
        times = list(islice(CronSim(cron, _SOMETIME), 30))
    except CronSimError:
        return "this is not a time"
    if not times:
        return "this time never comes"
    if any(later - earlier < timedelta(minutes=5) for earlier, later in pairwise(times)):
        return "GitHub starts a schedule every five minutes at most"
    return ""


RULES = (
    WorkflowRule(
        "one-version-set", _versions, 'uv version "$VERSION", or a build back end that takes it from the environment'
    ),
    WorkflowRule("asks-first", _unasked, "environment: the one that has the reviewers"),
    WorkflowRule("tested-commit-stays", _moving, "ref: ${{ github.event.workflow_run.head_sha }}"),
    WorkflowRule(
        "branch-is-proven", _unproven, "a step that looks for the commit among the branch's own: `branch-commit`"
    ),
    WorkflowRule("run-image-by-digest", _tagged, "IMAGE: NAME@sha256:DIGEST"),
    WorkflowRule("upstream-exists", _exists, "the name as the other file's `name:` has it"),
    WorkflowRule("upstream-near", _chains, "jobs of one workflow, joined by needs"),
    WorkflowRule("name-stands-once", _names, "a name of its own"),
    WorkflowRule("conclusion-tested", _conclusions, "if: github.event.workflow_run.conclusion == 'success'"),
    WorkflowRule("commit-is-said", _commits, "with: ref"),
    WorkflowRule("schedule-comes", _schedules, "cron: 0 2 * * *"),
)
