"""Which events start a job, how many legs each starts, on which runner, and whose code they then run.

Owns the events that a file's own triggers let through, with every label that its conditions name. Leaves conditions and
matrices to `workflows.runs`; where those hang on what nobody can know before a run, to `workflows.checks.possible`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.model.demand import Code
from infra.model.errors import ConfigError
from infra.model.federation import IMAGES_WORKFLOW
from infra.model.images.rebuilds import Change, rebuilds
from infra.model.images.spec import Builder
from workflows import events, steps
from workflows.checks.plain import mapping, text
from workflows.checks.possible import job_starts
from workflows.checks.situations import situations
from workflows.checks.views import WorkflowView
from workflows.events import GitHubEvent, push
from workflows.expressions import ExpressionError, Scope, expand
from workflows.expressions.syntax import Literal, Node, children
from workflows.generate import Generated, generate
from workflows.image_builds import TESTED, built_by_github
from workflows.legs import Leg
from workflows.own import generate_own
from workflows.own.docker_images import CHOICE
from workflows.read import WorkflowFile
from workflows.runs import Given, run
from workflows.spec import FOLDER as SPECS
from workflows.spec import load_spec, spec_names
from workflows.triggering import least, listed, triggers
from workflows.world import World, load_world

_PULLS = ("pull_request", "pull_request_target")
_DEFAULT_TYPES = ("synchronize",)


@dataclass(frozen=True, slots=True)
class RunnerLabels:
    """What a leg waits for."""

    labels: tuple[str, ...]
    group: str = ""


@dataclass(frozen=True, slots=True)
class StartedLegs:
    """Legs of one job on one kind of runner."""

    event: str
    code: Code
    runner: RunnerLabels
    legs: int


def legs_started(data: Mapping[str, Any], job: str, repository: str) -> tuple[StartedLegs, ...]:
    """Every event that starts legs of the job, the most of each where one event starts now more and now fewer."""
    most: dict[tuple[str, Code, RunnerLabels], int] = {}
    for code, event in _events(data, repository):
        for found in _of_run(data, job, code, event):
            key = found.event, found.code, found.runner
            most[key] = max(most.get(key, 0), found.legs)
    if not most:
        most = {(each.event, each.code, each.runner): each.legs for each in _possible(data, job, repository)}
    return tuple(StartedLegs(event, code, runner, legs) for (event, code, runner), legs in most.items())


def _of_run(data: Mapping[str, Any], job: str, code: Code, event: GitHubEvent) -> Iterator[StartedLegs]:
    try:
        jobs = run(data, event).jobs
    except ConfigError:
        return  # what GitHub itself refuses is told by the checks of files
    counts: Counter[RunnerLabels] = Counter()
    for leg in next((each.legs for each in jobs if each.id == job and each.starts), ()):
        labels = tuple(label for label in leg.labels if label)
        runner = RunnerLabels(labels or _written(mapping(data["jobs"][job])), leg.group)
        counts[runner] += 1
    yield from (StartedLegs(event.name, code, runner, count) for runner, count in counts.items())


def _possible(data: Mapping[str, Any], job: str, repository: str) -> Iterator[StartedLegs]:
    """For a job whose start hangs on outputs or results: every situation in which it may start."""
    workflow = _view(data)
    view = workflow.job(job)
    if view is None:
        return
    counts = Counter(_runner(view.data, leg) for leg in view.legs or ({},))
    for situation in situations(workflow, repository, {}):
        if job_starts(view, situation):
            code = Code.FORK if situation.fork and situation.event in _PULLS else code_of(situation.event)
            yield from (StartedLegs(situation.event, code, runner, count) for runner, count in counts.items())


def _runner(spec: Mapping[str, Any], leg: Leg) -> RunnerLabels:
    """What a leg waits for, as far as its own values say."""
    wanted = spec.get("runs-on")
    scope = Scope({"matrix": leg})
    try:
        labels = tuple(str(expand(label, scope)) for label in _written(spec))
    except ExpressionError:
        labels = ()
    return RunnerLabels(tuple(filter(None, labels)) or _written(spec), text(mapping(wanted).get("group")))


def _written(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels as they are written, for those that nobody can compute beforehand: no runner has such ones."""
    wanted = spec.get("runs-on")
    return listed(wanted.get("labels") if isinstance(wanted, Mapping) else wanted)


def code_of(event: str) -> Code:
    """Whose code an event runs where nothing else is known of it."""
    return Code.BRANCH if event in {*_PULLS, "merge_group", "workflow_call"} else Code.MAIN


def _events(data: Mapping[str, Any], repository: str) -> Iterator[tuple[Code, GitHubEvent]]:
    """What may start a file, each once for whose code it brings."""
    on = triggers(data.get("on"))
    labels = sorted(_constants(data)) or ["any"]
    for name, filters in on.items():
        if name == "push":
            yield Code.MAIN, events.push(repository=repository)
            yield Code.MAIN, events.push(tag="v1.0.0", repository=repository)
            yield Code.BRANCH, events.push("change", repository=repository)
        elif name in _PULLS:
            yield from _pulls(name, filters, labels, repository)
        elif name == "schedule":
            yield from ((Code.MAIN, events.schedule(text(each.get("cron")), repository=repository)) for each in filters)
        elif name == "workflow_dispatch":
            inputs = least(filters.get("inputs") or {})
            yield Code.MAIN, events.dispatch(inputs, repository=repository)
            yield Code.BRANCH, events.dispatch(inputs, branch="change", repository=repository)
        elif name == "workflow_run":
            for conclusion in ("success", "failure"):
                yield Code.MAIN, events.workflow_run(conclusion, repository=repository)
                yield Code.MAIN, events.workflow_run(conclusion, of="pull_request", repository=repository)
        elif name == "issue_comment":
            yield Code.MAIN, events.issue_comment(repository=repository)
        elif name == "merge_group":
            yield Code.BRANCH, events.merge_group(repository=repository)
        else:
            yield code_of(name), GitHubEvent(title=name, name=name, payload={"repository": {"full_name": repository}})


def _pulls(
    name: str, filters: Mapping[str, Any], labels: list[str], repository: str
) -> Iterator[tuple[Code, GitHubEvent]]:
    bases = listed(filters.get("branches")) or ("main",)
    base = next((each for each in bases if not set(each) & set("*?+[!")), "main")
    for activity in listed(filters.get("types")) or _DEFAULT_TYPES:
        for label in labels if activity in {"labeled", "unlabeled"} else [""]:
            for fork in (False, True):
                event = events.pull_request(
                    fork=fork, activity=activity, labels=[] if label else labels, label=label, base=base,
                    target=name == "pull_request_target", repository=repository,
                )  # fmt: skip
                yield Code.FORK if fork else Code.BRANCH, event


def _constants(data: Mapping[str, Any]) -> set[str]:
    """Every text that an expression of the file compares something with: the labels that it asks for are among them."""
    return {found for asked in _view(data).asked for found in _texts_of(asked.node)}


def _view(data: Mapping[str, Any]) -> WorkflowView:
    return WorkflowView(WorkflowFile("", data, {}, {}))


def _texts_of(node: Node) -> Iterator[str]:
    if isinstance(node, Literal) and isinstance(node.value, str) and node.value:
        yield node.value
    for child in children(node):
        yield from _texts_of(child)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageJobs:
    """file: the workflow. images: whose jobs start, parents first. why: what keeps them, where none does."""

    file: str
    images: tuple[str, ...]
    why: str = ""


def image_jobs(
    root: Path, repository: str, changed: Iterable[str], *, branch: str = "main", tag: str = ""
) -> ImageJobs | None:
    """What a push of these files starts; None for a repository without a workflow of images that this checkout makes.

    ConfigError where the workflow cannot be generated.
    """
    if not (root / SPECS).is_dir():
        return None
    world = load_world(root)
    paths = tuple(changed)
    event = push("" if tag else branch, tag=tag, paths=paths, repository=repository)
    changes = [Change(repository, path) for path in paths]
    plan = [each.image for each in rebuilds(world.images, changes, world.stacks) if each.builder is Builder.GITHUB]
    # That some commit of the sources has been tested is taken for granted.
    outputs = {CHOICE: {"images": json.dumps(plan)}, TESTED: {"commit": "0" * 40}}
    given = Given(variables={steps.PROVIDER.partition(".")[2]: "set"}, outputs=outputs)
    for file in _files(root, world, repository):
        if file.path == IMAGES_WORKFLOW:
            found = run(file.workflow.plain(), event, given)
            starting = {job.id for job in found.jobs if job.starts}
            images = tuple(image.name for image in built_by_github(world) if image.name in starting)
            return ImageJobs(
                file=file.path, images=images, why="" if images else found.why or "no image of GitHub's is rebuilt"
            )
    return None


def _files(root: Path, world: World, repository: str) -> Iterator[Generated]:
    if repository.lower() == world.images.recipes.lower():
        yield from generate_own(world)
    for name in spec_names(root):
        spec = load_spec(root, name, world)
        if spec.declared.repository.lower() == repository.lower():
            yield from generate(spec, world)
