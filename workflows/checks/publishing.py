"""Rules of what is applied or published: which jobs do that, and how a version is set."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workflows.checks.plain import text
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.shell import Command
from workflows.checks.views import Job, Step

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


def finishes(job: Job) -> bool:
    """Whether it applies or publishes something, which must not be done by half."""
    if any(_publishes(step) for step in job.steps):
        return True
    applies = any(_CLUSTER.match(each.said) for step in job.steps for each in step.commands)
    return applies and not job.mentions(_OWN_CLUSTER)


def _publishes(step: Step) -> bool:
    if step.action in _ACTIONS or (step.action == "docker/build-push-action" and pushes(step)):
        return True
    return any(_applies(each) for each in step.commands)


def pushes(step: Step) -> bool:
    """Whether a build action pushes what it built."""
    return text(step.inputs.get("push")) not in {"", "false"} or "push=true" in text(step.inputs.get("outputs"))


def _applies(command: Command) -> bool:
    if _HAS_PUSH.match(command.said):
        return any(each == "--push" or "push=true" in each for each in command.texts)
    return bool(_COMMANDS.match(command.said)) and "--dry-run" not in command.texts and "--help" not in command.texts


def _versions(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for step in job.steps:
            for command in step.commands:
                if script := _bumped(command):
                    reason = f"this changes every line that matches, those of dependencies and tools too: {script}"
                    path = (*step.path, "run")
                    yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason, lines=command.line)


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


RULES = (
    Rule(
        id="one-version-set",
        what="A version is set in the one place that holds it",
        why="`version = ` stands in the tables of dependencies and tools too, which change with it",
        example='`sed -i "s/version = .*/version = \\"$V\\"/g" pyproject.toml`',
        fix='uv version "$VERSION", or a build back end that takes it from the environment',
        judge=_versions,
    ),
)
