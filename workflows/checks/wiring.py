"""Rules of what jobs hand to one another and where they run: needs, outputs, artifacts, runners."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

from workflows.checks.conditions import situations_of
from workflows.checks.plain import becoming, text
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.runners import runners
from workflows.checks.views import Job, Step, Workflow
from workflows.expressions import references

_QUIET = frozenset(
    ("echo", "printf", "export", "set", "cd", "mkdir", "rm", "cp", "mv", "cat", "ls", "test", "[", "[[", "exit", "date",
     "git", "sed", "grep", "cut", "tr", "head", "tail", "sort", "docker", "gcloud", "curl", "pip", "for", "true")
)  # fmt: skip
"""Commands that write no outputs of a step by themselves."""
_DOWNLOAD = "actions/download-artifact"
_UPLOAD = "actions/upload-artifact"


def _needs(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for need in job.needs:
            other = job.workflow.job(need)
            path = (*job.path, "needs")
            if other is None:
                known = ", ".join(each.id for each in job.workflow.jobs)
                reason = f"there is no job {need}, there are {known}"
                yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason)
            elif job in other.ancestors or other == job:
                reason = f"{job.id} and {need} wait for one another"
                yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason)


def _outputs(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        seen: set[tuple[str, str]] = set()
        for asked in workflow.asked:
            job = workflow.job(asked.job)
            if job is None:
                continue
            for path in references(asked.node):
                if (job.id, path) not in seen and (reason := _unwritten(job, path)):
                    seen.add((job.id, path))
                    yield Broken(workflow=workflow, path=asked.path, job=job.id, reason=reason)


def _unwritten(job: Job, path: str) -> str:
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


def _writes(step: Step, name: str) -> bool:
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


def _artifacts(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        if "workflow_call" in workflow.triggers or any(_elsewhere(job) for job in workflow.jobs):
            continue
        uploads = [(job, step) for job in workflow.jobs for step in job.steps if step.action == _UPLOAD]
        for job in workflow.jobs:
            for step in job.steps:
                if step.action != _DOWNLOAD or {"run-id", "artifact-ids"} & step.inputs.keys():
                    continue
                wanted = text(step.inputs.get("name")) or text(step.inputs.get("pattern")) or "*"
                if reason := _not_uploaded(workflow, job, step, wanted, uploads):
                    yield Broken(workflow=workflow, path=step.path, job=job.id, reason=reason)


def _elsewhere(job: Job) -> bool:
    """Whether another file may upload for it: a called workflow, or an action of the repository's own."""
    return job.reusable or any(step.uses.startswith("./") for step in job.steps)


def _not_uploaded(workflow: Workflow, job: Job, step: Step, wanted: str, uploads: list[tuple[Job, Step]]) -> str:
    named = [(other, each) for other, each in uploads if _named(each, wanted)]
    if not named:
        return f"no job of {workflow.name} uploads {wanted}"
    if any(other in job.ancestors or (other == job and each.index < step.index) for other, each in named):
        return ""
    return f"{wanted} is uploaded by {named[0][0].id}, which the job does not wait for"


def _twice(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        names: dict[str, tuple[Job, Step]] = {}
        for job in workflow.jobs:
            for step in job.steps:
                if step.action != _UPLOAD or text(step.inputs.get("overwrite")) == "true":
                    continue
                name = text(step.inputs.get("name")) or "artifact"
                told = any(path.startswith(("matrix.", "strategy.job-index")) for path, _ in becoming(name))
                if "strategy" in job.data and not told and (job.legs is None or len(job.legs) > 1):
                    reason = f"every leg uploads {name}, and a run takes a name once"
                    yield Broken(workflow=workflow, path=step.path, job=job.id, reason=reason)
                elif name in names and not _either(names[name][1], step):
                    reason = f"{names[name][0].id} uploads {name} too, and a run takes a name once"
                    yield Broken(workflow=workflow, path=step.path, job=job.id, reason=reason)
                names.setdefault(name, (job, step))


def _either(one: Step, other: Step) -> bool:
    """Whether both stand in one job under conditions, of which one may hold at a time."""
    return one.job == other.job and "if" in one.data and "if" in other.data


def _named(step: Step, wanted: str) -> bool:
    name = text(step.inputs.get("name")) or "artifact"
    given, asked = (re.sub(r"\$\{\{.*?\}\}", "*", each) for each in (name, wanted))
    return fnmatch.fnmatch(given, asked) or fnmatch.fnmatch(asked, given)


def _runners(scene: Scene) -> Iterator[Broken]:
    pools = scene.known.pools
    for job in scene.jobs():
        for labels in runners(job, situations_of(job.workflow, scene)) or ():
            wanted = frozenset(labels) - {"self-hosted"}
            path = (*job.path, "runs-on")
            if not labels or (len(labels) == 1 and labels[0] in scene.known.hosted):
                continue
            if not wanted and not job.group:
                reason = "self-hosted alone is any runner of any pool"
                yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason)
                continue
            if pools is None or any(wanted <= {label.lower() for label in pool.labels} for pool in pools):
                continue
            near = sorted({label for pool in pools for label in pool.labels if label != "self-hosted"})
            reason = f"no runner has {', '.join(labels)}; pools have {', '.join(near) or 'none'}"
            yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason)


def _latest(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for labels in runners(job, situations_of(job.workflow, scene)) or ():
            if moving := [each for each in labels if each.endswith("-latest") and each in scene.known.hosted]:
                reason = f"{moving[0]} is another system when GitHub says so"
                yield Broken(workflow=job.workflow, path=(*job.path, "runs-on"), job=job.id, reason=reason)


RULES = (
    Rule(
        id="needs-a-job",
        what="A job needs jobs of its own workflow, and none needs itself",
        why="GitHub refuses the file, and nothing of it runs",
        example="`needs: build` where the job is called `build-package`",
        fix="the id of a job",
        judge=_needs,
    ),
    Rule(
        id="output-is-written",
        what="An output that is read is written: by the step of that id, and put out by the job that is needed",
        why="what is missing is empty text, and a condition on it never holds",
        example="`steps.date.outputs.DATE` where the step writes to `GITHUB_ENV`",
        fix='echo "NAME=$VALUE" >>"$GITHUB_OUTPUT", in the step of that id',
        judge=_outputs,
    ),
    Rule(
        id="artifact-is-uploaded",
        what="An artifact that is downloaded was uploaded, by a job that is waited for",
        why="the download fails, or takes what another job had ready by chance",
        example="`name: dist` where `name: package` is uploaded",
        fix="the name of the upload, and its job in needs",
        judge=_artifacts,
    ),
    Rule(
        id="artifact-name-once",
        what="Every artifact of a run has a name of its own",
        why="the second upload of a name is refused with 409: one leg's result is there, and the others' are lost",
        example="`name: results` in a job with a matrix",
        fix="name: NAME-${{ matrix.KEY }}, and pattern: NAME-* where it is downloaded",
        judge=_twice,
    ),
    Rule(
        id="runner-has-labels",
        what="`runs-on` is a label of GitHub's, or labels that one pool has together",
        why="the job waits for 24 hours and then fails",
        example="`runs-on: [self-hosted, tpu-v5]`",
        fix="a label of a pool, as its stack file has it",
        judge=_runners,
    ),
    Rule(
        id="runner-stays",
        what="A runner of GitHub's is named by its version",
        why="`-latest` becomes another system without a commit",
        example="`runs-on: ubuntu-latest`",
        fix="runs-on: ubuntu-24.04",
        judge=_latest,
    ),
)
