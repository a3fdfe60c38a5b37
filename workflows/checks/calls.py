"""Rules of what a job calls: GitHub's API with the rights that it needs, workflows and values that exist."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from workflows.checks.plain import mapping, text
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.views import Job, Step, Workflow
from workflows.expressions import references
from workflows.inputs import must_be_given

_LEVELS = {"none": 0, "read": 1, "write": 2}
_ACTIONS: Mapping[str, tuple[str, str]] = {
    "actions/checkout": ("contents", "read"),
    "actions/deploy-pages": ("pages", "write"),
    "github/codeql-action/analyze": ("security-events", "write"),
    "pypa/gh-action-pypi-publish": ("id-token", "write"),
}
"""What an action asks of the job's token."""
_CALLS: tuple[tuple[re.Pattern[str], tuple[str, str]], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), right)
    for pattern, right in (
        (r"\bgh issue (create|close|edit|comment|reopen)\b", ("issues", "write")),
        (r"\bgh pr (comment|edit|close|merge|review)\b", ("pull-requests", "write")),
        (r"\bgh (workflow run|run (cancel|rerun))\b", ("actions", "write")),
        (
            r"\bgh api \S*/actions/(artifacts|runs|workflows)\b(?!.*(-X|--method) ?(POST|PUT|DELETE))",
            ("actions", "read"),
        ),
        (r"\bgh run (list|view|download)\b", ("actions", "read")),
        (r"\bgh release (create|upload|edit|delete)\b", ("contents", "write")),
        (r"""ask\("(POST|PATCH|DELETE)", f?"/(issues|pulls)""", ("issues or pull-requests", "write")),
        (r"""ask\("(POST|PATCH|PUT|DELETE)", f?"/actions/""", ("actions", "write")),
        (r"""ask\("POST", f?"/statuses/""", ("statuses", "write")),
        (r"""ask\("(POST|PATCH)", f?"/git/""", ("contents", "write")),
        (r"""\bgit push\b|\bgit\(\w+, "push\"""", ("contents", "write")),
        (r"\./tidepool drift report\b(?!.*--help)", ("issues", "write")),
    )
)
"""Calls of GitHub, as shell and the shipped Python write them, with the right that GitHub's REST pages say they need.

https://docs.github.com/en/rest/authentication/permissions-required-for-github-apps (read 2026-11-22)
"""
_TOKEN = re.compile(r"github\.token|secrets\.GITHUB_TOKEN", re.IGNORECASE)
_LOCAL = "./.github/workflows/"
_DISPATCH = re.compile(
    r"\bgh workflow run (?P<file>[\w.-]+\.ya?ml)|/actions/workflows/\{[\w.]+\['(?P<variable>\w+)'\]\}/dispatches"
)
_SENT = re.compile(r"\binputs(?:\"|'|\b) ?[:=] ?\{(?P<inputs>[^}]*)\}")
_FLAG = re.compile(r"(?:^|\s)(?:-f|-F|--field|--raw-field)[ =]?['\"]?(?P<name>[\w-]+)=")


def _rights(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        rights = job.permissions
        if not isinstance(rights, dict):
            continue
        for step in job.steps:
            for scope, level in sorted(set(_needed(step))):
                held = max(_LEVELS.get(text(rights.get(each)), 0) for each in scope.split(" or "))
                if held < _LEVELS[level]:
                    reason = f"{step.said} needs {scope}: {level}, which the job's token does not have"
                    yield Broken(workflow=job.workflow, path=step.path, job=job.id, reason=reason)


def _needed(step: Step) -> Iterator[tuple[str, str]]:
    if step.action in _ACTIONS and not {"repository", "password"} & step.inputs.keys():
        yield _ACTIONS[step.action]
    if step.action == "actions/download-artifact" and "run-id" in step.inputs:
        yield "actions", "read"
    # A token of somebody else's has other rights.
    if any(_TOKEN.search(text(value)) for value in step.known_env.values()):
        script = text(step.data.get("run"))
        yield from (right for pattern, right in _CALLS if pattern.search(script))


def _called(scene: Scene) -> Iterator[Broken]:
    files = {posixpath.basename(workflow.file.source): workflow for workflow in scene.workflows}
    for job in scene.jobs():
        used = text(job.data.get("uses"))
        if used.startswith(_LOCAL):
            given = mapping(job.data.get("with"))
            for reason in _wrong(files.get(used.removeprefix(_LOCAL)), used, "workflow_call", set(given)):
                yield Broken(workflow=job.workflow, path=(*job.path, "uses"), job=job.id, reason=reason)
        for step in job.steps:
            for name, sent in _dispatched(step):
                for reason in _wrong(files.get(name), name, "workflow_dispatch", sent):
                    yield Broken(workflow=job.workflow, path=step.path, job=job.id, reason=reason)


def _dispatched(step: Step) -> Iterator[tuple[str, set[str] | None]]:
    """Files that a script starts, with the names of the inputs that it sends; None where those are not plain."""
    script = text(step.data.get("run"))
    for found in _DISPATCH.finditer(script):
        name = found["file"] or text(step.known_env.get(found["variable"]))
        if not name or "${{" in name:
            continue
        if found["file"]:
            line = script[found.start() :].replace("\\\n", " ").partition("\n")[0]
            yield name, {each["name"] for each in _FLAG.finditer(line)}
        else:
            sent = _SENT.search(script)
            yield name, set(re.findall(r'"(\w+)":', sent["inputs"])) if sent else None


def _wrong(called: Workflow | None, name: str, event: str, given: set[str] | None) -> Iterator[str]:
    if called is None:
        yield f"there is no file {name}"
        return
    if event not in called.triggers:
        yield f"{name} has no trigger {event}"
        return
    declared: Mapping[str, Any] = mapping(called.filters(event).get("inputs"))
    if given is None:
        return
    yield from (f"{name} has no input {each}" for each in sorted(given - declared.keys()))
    for each, about in declared.items():
        if must_be_given(mapping(about)) and each not in given:
            yield f"{name} is not given its input {each}"


def _values(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        seen: set[tuple[str, str]] = set()
        declared = {
            name.lower()
            for event in ("workflow_dispatch", "workflow_call")
            for name in mapping(workflow.filters(event).get("inputs"))
        }
        for asked in workflow.asked:
            for path in references(asked.node):
                context, _, rest = path.partition(".")
                key = rest.partition(".")[0]
                if not key or key == "*" or (asked.job, path) in seen:
                    continue
                keys = (
                    declared if context == "inputs" else _axes(workflow.job(asked.job)) if context == "matrix" else None
                )
                if keys is not None and key not in keys:
                    seen.add((asked.job, path))
                    reason = f"{path}: there is no {key}, only {', '.join(sorted(keys)) or 'nothing'}"
                    yield Broken(workflow=workflow, path=asked.path, job=asked.job, reason=reason)


def _axes(job: Job | None) -> set[str] | None:
    """The names of the values of a job's legs, None where they are computed."""
    if job is None or job.legs is None:
        return None
    return {key.lower() for leg in job.legs for key in leg}


RULES = (
    Rule(
        id="rights-suffice",
        what="The job's token may do what its steps ask of GitHub",
        why="the call is refused with 403, on the day when something is to be told",
        example="`gh issue create` in a job with `permissions: {contents: read}`",
        fix="permissions: {SCOPE: write}, in the job that calls",
        judge=_rights,
    ),
    Rule(
        id="called-exists",
        what="A workflow that is called or started exists, hears of it, and has the inputs that it gets",
        why="GitHub refuses the call, and what should have run never does",
        example="`gh workflow run nightly.yaml` after the file was renamed",
        fix="the file's name, its trigger, and its inputs as it declares them",
        judge=_called,
    ),
    Rule(
        id="value-is-there",
        what="What is read of `matrix` and `inputs` is declared there",
        why="it is empty text, and the leg tests something else than it says",
        example="`${{ matrix.jaxx }}` where the axis is `jax`",
        fix="the name as it is declared",
        judge=_values,
    ),
)
