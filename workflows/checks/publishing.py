"""Rules of what is applied or published: who is asked first, of which commit, by which digest and version."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workflows.checks.machines import makes_in
from workflows.checks.plain import becoming, text
from workflows.checks.rule import Broken, Repository, Rule, broken
from workflows.checks.shell import Command
from workflows.checks.views import JobView, StepView

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
_DEFAULT_BRANCH = "github.event.repository.default_branch"
_IMAGE = re.compile(
    r"(?:[\w.-]+\.(?:pkg\.dev|io|com|org)|localhost(?::\d+)?)/[\w./-]+(?::[\w.-]+)?(?P<digest>@sha256:[0-9a-f]{64})?"
)


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


def _tagged(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        for step in job.steps:
            found = _IMAGE.fullmatch(text(step.known_env.get("IMAGE"))) if makes_in(step) else None
            if found and not found["digest"]:
                reason = f"the VM runs {found[0]}, which is another image when somebody pushes one"
                yield broken(step, reason, "env", "IMAGE")


RULES = (
    Rule("one-version-set", _versions, 'uv version "$VERSION", or a build back end that takes it from the environment'),
    Rule("asks-first", _unasked, "environment: the one that has the reviewers"),
    Rule("tested-commit-stays", _moving, "ref: ${{ github.event.workflow_run.head_sha }}"),
    Rule("run-image-by-digest", _tagged, "IMAGE: NAME@sha256:DIGEST"),
)
