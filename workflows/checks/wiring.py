"""Rules of what jobs hand to one another and call: outputs, artifacts, GitHub's API, workflows that exist."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from workflows.checks.plain import becoming, mapping, text
from workflows.checks.rule import Broken, Repository, WorkflowRule, asks_wrongly, broken
from workflows.checks.views import JobView, StepView, WorkflowView
from workflows.expressions import references
from workflows.triggering import must_be_given

_QUIET = frozenset(
    ("echo", "printf", "export", "set", "cd", "mkdir", "rm", "cp", "mv", "cat", "ls", "test", "[", "[[", "exit", "date",
     "git", "sed", "grep", "cut", "tr", "head", "tail", "sort", "docker", "gcloud", "curl", "pip", "for", "true")
)  # fmt: skip
"""Commands that write no outputs of a step by themselves."""
_DOWNLOAD = "actions/download-artifact"
_UPLOAD = "actions/upload-artifact"
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


def _outputs(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        seen: set[tuple[str, str]] = set()
        for asked in workflow.asked:
            job = workflow.job(asked.job)
            if job is None:
                continue
            for path in references(asked.node):
                if (job.id, path) not in seen and (reason := _unwritten(job, path)):
                    seen.add((job.id, path))
                    yield asks_wrongly(workflow, asked, reason)


def _unwritten(job: JobView, path: str) -> str:
    """What is wrong with reading an output, if anything is."""
    parts = path.split(".")
    if len(parts) < 4 or parts[2] != "outputs" or parts[3] == "*":
        return ""
    if parts[0] == "steps":
        step = next((each for each in job.steps if each.id.lower() == parts[1]), None)
        if step is None:
            return f"{path}: no step of the job has the id {parts[1]}"
        return f"{path}: the step {step.said} never writes {parts[3]}" if not _writes(step, parts[3]) else ""
    if parts[0] == "needs":
        other = next((each for each in job.workflow.jobs if each.id.lower() == parts[1]), None)
        if other is None or other.id not in job.needs:
            return f"{path}: {job.id} does not need {parts[1]}"
        declared = other.data.get("outputs")
        if not other.reusable and parts[3] not in {str(key).lower() for key in declared or ()}:
            return f"{path}: {other.id} puts out no {parts[3]}"
    return ""


def _writes(step: StepView, name: str) -> bool:
    """Whether a script may write an output; programs of the repository may write what the script does not show."""
    script = step.run
    if step.uses or not script:
        return True
    if re.search(rf"\b{re.escape(name)}\b", script, re.IGNORECASE) and (
        "GITHUB_OUTPUT" in script or "set-output" in script
    ):
        return True
    if "GITHUB_OUTPUT" in script:
        # Names that are not literal, as `jq -r ... >>"$GITHUB_OUTPUT"` or `cat FILE` write them.
        return any(
            command.program not in {"echo", "printf"} for command in step.commands if _to_output(command.redirects)
        )
    return any(command.program not in _QUIET for command in step.commands)


def _to_output(redirects: tuple[tuple[str, object], ...]) -> bool:
    return any("GITHUB_OUTPUT" in getattr(word, "raw", "") for _, word in redirects)


def _artifacts(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        if "workflow_call" in workflow.triggers or any(_elsewhere(job) for job in workflow.jobs):
            continue
        uploads = [(job, step) for job in workflow.jobs for step in job.steps if step.action == _UPLOAD]
        for job in workflow.jobs:
            for step in job.steps:
                if step.action != _DOWNLOAD or {"run-id", "artifact-ids"} & step.inputs.keys():
                    continue
                wanted = text(step.inputs.get("name")) or text(step.inputs.get("pattern")) or "*"
                if reason := _not_uploaded(workflow, job, step, wanted, uploads):
                    yield broken(step, reason)


def _elsewhere(job: JobView) -> bool:
    """Whether another file may upload for it: a called workflow, or an action of the repository's own."""
    return job.reusable or any(step.uses.startswith("./") for step in job.steps)


def _not_uploaded(
    workflow: WorkflowView, job: JobView, step: StepView, wanted: str, uploads: list[tuple[JobView, StepView]]
) -> str:
    named = [(other, each) for other, each in uploads if _named(each, wanted)]
    if not named:
        return f"no job of {workflow.name} uploads {wanted}"
    if any(other in job.ancestors or (other == job and each.index < step.index) for other, each in named):
        return ""
    return f"{wanted} is uploaded by {named[0][0].id}, which the job does not wait for"


def _twice(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        names: dict[str, tuple[JobView, StepView]] = {}
        for job in workflow.jobs:
            for step in job.steps:
                if step.action != _UPLOAD or text(step.inputs.get("overwrite")) == "true":
                    continue
                name = text(step.inputs.get("name")) or "artifact"
                told = any(path.startswith(("matrix.", "strategy.job-index")) for path, _ in becoming(name))
                if "strategy" in job.data and not told and (job.legs is None or len(job.legs) > 1):
                    reason = f"every leg uploads {name}, and a run takes a name once"
                    yield broken(step, reason)
                elif name in names and not _either(names[name][1], step):
                    reason = f"{names[name][0].id} uploads {name} too, and a run takes a name once"
                    yield broken(step, reason)
                names.setdefault(name, (job, step))


def _either(one: StepView, other: StepView) -> bool:
    """Whether both stand in one job under conditions, of which one may hold at a time."""
    return one.job == other.job and "if" in one.data and "if" in other.data


def _named(step: StepView, wanted: str) -> bool:
    name = text(step.inputs.get("name")) or "artifact"
    given, asked = (re.sub(r"\$\{\{.*?\}\}", "*", each) for each in (name, wanted))
    return fnmatch.fnmatch(given, asked) or fnmatch.fnmatch(asked, given)


def _rights(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        rights = job.permissions
        if not isinstance(rights, dict):
            continue
        for step in job.steps:
            for scope, level in sorted(set(_needed(step))):
                held = max(_LEVELS.get(text(rights.get(each)), 0) for each in scope.split(" or "))
                if held < _LEVELS[level]:
                    reason = f"{step.said} needs {scope}: {level}, which the job's token does not have"
                    yield broken(step, reason)


def _needed(step: StepView) -> Iterator[tuple[str, str]]:
    if step.action in _ACTIONS and not {"repository", "password"} & step.inputs.keys():
        yield _ACTIONS[step.action]
    if step.action == "actions/download-artifact" and "run-id" in step.inputs:
        yield "actions", "read"
    # A token of somebody else's has other rights.
    if any(_TOKEN.search(text(value)) for value in step.known_env.values()):
        script = text(step.data.get("run"))
        yield from (right for pattern, right in _CALLS if pattern.search(script))


def _called(judged: Repository) -> Iterator[Broken]:
    files = {posixpath.basename(workflow.file.source): workflow for workflow in judged.workflows}
    for job in judged.jobs():
        used = text(job.data.get("uses"))
        if used.startswith(_LOCAL):
            given = mapping(job.data.get("with"))
            for reason in _wrong(files.get(used.removeprefix(_LOCAL)), used, "workflow_call", set(given)):
                yield broken(job, reason, "uses")
        for step in job.steps:
            for name, sent in _dispatched(step):
                for reason in _wrong(files.get(name), name, "workflow_dispatch", sent):
                    yield broken(step, reason)


def _dispatched(step: StepView) -> Iterator[tuple[str, set[str] | None]]:
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


def _wrong(called: WorkflowView | None, name: str, event: str, given: set[str] | None) -> Iterator[str]:
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


RULES = (
    WorkflowRule("output-is-written", _outputs, 'echo "NAME=$VALUE" >>"$GITHUB_OUTPUT", in the step of that id'),
    WorkflowRule("artifact-is-uploaded", _artifacts, "the name of the upload, and its job in needs"),
    WorkflowRule(
        "artifact-name-once", _twice, "name: NAME-${{ matrix.KEY }}, and pattern: NAME-* where it is downloaded"
    ),
    WorkflowRule("rights-suffice", _rights, "permissions: {SCOPE: write}, in the job that calls"),
    WorkflowRule("called-exists", _called, "the file's name, its trigger, and its inputs as it declares them"),
)
