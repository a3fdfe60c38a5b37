"""Files of test suites, one job a suite, every Python with every jax, and of a package whose tests were green."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from infra.model.errors import ConfigError, Problem
from workflows import steps
from workflows.builders import (
    Access,
    Concurrency,
    Expression,
    Grant,
    Hosted,
    Job,
    Matrix,
    Permissions,
    PullRequest,
    Purpose,
    Push,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowRun,
    call,
    context,
    template,
    timed,
)
from workflows.builders.expression import Value, literal
from workflows.composite import FOLDER, Generated, generated, made_of
from workflows.generate.keeping import Keeper
from workflows.generate.package_results import TESTING, LegParts, keeper, said
from workflows.placement import OnGitHub, OnPools, place_suite
from workflows.spec import Spec
from workflows.spec.model import Publish, Suite, Tests
from workflows.world import World

SET_UP_MINUTES = {True: 5, False: 1}
"""What a job keeps for everything before its tests: on GitHub's runners, and on ours, which have it all."""

SLOWEST = 20
"""How many of the slowest tests each job names."""
BUILD, PUBLISH = "build", "publish"
_ARTIFACT = "package"
_UPSTREAM = "github.event.workflow_run"
_WHY = "runs only for a green push to this repository, of a commit that GitHub lists for the main branch"


def files(spec: Spec, world: World) -> Iterator[Generated]:
    """One file for each entry of `tests`; ConfigError with what cannot be made of any of them."""
    for index, tests in enumerate(spec.declared.tests):
        made = _jobs(spec, world, index, tests)
        triggers = Triggers.of(
            Push(branches=[spec.declared.branch], paths=_paths(tests)), PullRequest(paths=_paths(tests))
        )
        group = template(f"{tests.file.partition('.')[0]}-", context("github.ref"))
        workflow = Workflow(name=tests.name, triggers=triggers, jobs=made, concurrency=Concurrency(group, Purpose.TEST))
        lines = {suite.job: spec.line("tests", index, "suites", place) for place, suite in enumerate(tests.suites)}
        yield generated(spec, tests.file, workflow, lines)


def _paths(tests: Tests) -> list[str]:
    """What starts the tests, and a change of how they are run; everything does where nothing is said."""
    return [*tests.paths, f"{FOLDER}/{tests.file}"] if tests.paths else []


def _jobs(spec: Spec, world: World, index: int, tests: Tests) -> list[Job]:
    neighbours = tuple(suite for each in spec.declared.tests for suite in each.suites)
    found: list[Job] = []
    problems: list[Problem] = []
    for place, suite in enumerate(tests.suites):
        try:
            with made_of(spec.line("tests", index, "suites", place)):
                found.append(_job(suite, place_suite(suite, neighbours, world), world, keeper(spec, world)))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return found


def _job(suite: Suite, placed: OnPools | OnGitHub, world: World, kept: Keeper | None) -> Job:
    hosted = isinstance(placed, OnGitHub)
    minutes = suite.timeout_minutes - SET_UP_MINUTES[hosted]
    left = LegParts(keeper=kept, suite=suite, placed=placed) if kept else None
    return Job(
        id=suite.job,
        name=said(suite, placed, {axis: context(f"matrix.{axis}") for axis in ("python", "jax", "pool")}),
        runs_on=placed.runner,
        timeout_minutes=suite.timeout_minutes,
        permissions=Permissions.of(steps.READ_CONTENTS),
        purpose=Purpose.TEST,
        condition=_condition(placed),
        matrix=_matrix(suite, placed),
        env=dict(suite.env) if hosted else {**steps.runner_env(world.images), **suite.env},
        steps=[
            *_before(suite, placed, world, left),
            _test(suite, minutes, left, hosted=hosted),
            *(left.after() if left else ()),
        ],
        why=placed.why,
    )


def _condition(placed: OnPools | OnGitHub) -> Expression | None:
    """A suite with pools for one event alone has no runner for the other."""
    if isinstance(placed, OnGitHub) or len(placed.pools) > 1:
        return None
    return context("github.event_name").equals(next(iter(placed.pools)))


def _matrix(suite: Suite, placed: OnPools | OnGitHub) -> Matrix | None:
    axes: dict[str, list[str]] = {}
    if suite.python:
        axes["python"] = list(suite.python)
    if suite.jax:
        axes["jax"] = list(suite.jax)
    if isinstance(placed, OnGitHub):
        return Matrix(axes=axes) if axes else None
    if not placed.differs:
        return Matrix(axes=axes, max_parallel=placed.max_parallel) if axes else None
    by_event = {event: {**axes, "pool": list(placed.labels(event))} for event in placed.pools}
    unlike = [json.dumps(each) for each in by_event.values()]
    if len(set(unlike)) == 1:
        return Matrix(axes=next(iter(by_event.values())), max_parallel=placed.max_parallel)
    chosen = context("github.event_name").equals(next(iter(by_event)))
    asked, pushed = map(literal, unlike)
    return Matrix(computed=call("fromJSON", chosen & asked | pushed), max_parallel=placed.max_parallel)


def _before(suite: Suite, placed: OnPools | OnGitHub, world: World, left: LegParts | None) -> Iterator[Step]:
    anew = left.anew if left else None
    yield steps.checkout(world)
    yield from left.before() if left else ()
    if isinstance(placed, OnGitHub):
        yield replace(steps.uv(world, context("matrix.python")), condition=anew)
        if suite.node:
            yield replace(steps.node(world, suite.node), condition=anew)
        yield Step(name="Install", condition=anew, run=f"uv sync {' '.join(_chosen(suite))}\n")


def _test(suite: Suite, minutes: int, left: LegParts | None, *, hosted: bool) -> Step:
    jax = [f'--with "jax[{"cpu" if hosted else "tpu"}]==$JAX"'] if suite.jax else []
    uv = " ".join(["uv run", *_chosen(suite), *jax, *(left.installed if left else ())])
    pytest = ["pytest", *suite.tests, f"-m '{suite.markers}'", *suite.options, f"--durations={SLOWEST}"]
    lines = [uv, " ".join(pytest), *(left.options if left else ())]
    told: dict[str, Value] = {"JAX": context("matrix.jax")} if suite.jax else {}
    told |= left.told if left else {}
    # A fork has no secrets: its tests go on without, which is said here and not left to happen.
    told |= {name: context(f"secrets.{name}") | literal("") for name in suite.secrets}
    return Step(
        name="Test",
        id=TESTING if left and left.inputs else "",
        condition=left.anew if left else None,
        env=told,
        working_directory="" if suite.folder == "." else suite.folder,
        timeout_minutes=minutes,
        run=timed(steps.seconds(minutes), " \\\n  ".join(lines)) + "\n",
    )


def _chosen(suite: Suite) -> Iterable[str]:
    """What of the workspace's lock a command of uv takes."""
    yield f"--package {suite.package}"
    yield from (f"--extra {extra}" for extra in suite.extras)
    yield from (f"--group {group}" for group in suite.groups)
    yield "--frozen"


def published(spec: Spec, world: World) -> Iterator[Generated]:
    """One file for each entry of `publish`."""
    for index, publish in enumerate(spec.declared.publish):
        stem = publish.file.partition(".")[0]
        workflow = Workflow(
            name=publish.name,
            triggers=Triggers.of(WorkflowRun(workflows=[publish.follows], branches=[spec.declared.branch], why=_WHY)),
            jobs=[_build(publish, world, spec.declared.branch), _publish(publish, world)],
            # A group of its own for each run that ended: of those that wait GitHub keeps the newest, so that in a
            # common queue a red build would cancel the green one's publishing.
            concurrency=Concurrency(template(f"{stem}-", context(f"{_UPSTREAM}.id")), Purpose.PUBLISH),
        )
        line = spec.line("publish", index)
        yield generated(spec, publish.file, workflow, {BUILD: line, PUBLISH: line})


def _build(publish: Publish, world: World, branch: str) -> Job:
    return Job(
        id=BUILD,
        name=f"Build {publish.package}",
        runs_on=Hosted(),
        timeout_minutes=15,
        permissions=Permissions.of(steps.READ_CONTENTS),
        purpose=Purpose.PUBLISH,
        guarded=True,
        condition=context(f"{_UPSTREAM}.conclusion").equals("success") & context(f"{_UPSTREAM}.event").equals("push"),
        steps=[
            steps.python(
                world,
                "branch_commit",
                name=f"Check that {branch} has the commit",
                env={**steps.TOKEN, "BRANCH": branch, "COMMIT": context(f"{_UPSTREAM}.head_sha")},
            ),
            steps.checkout(world, ref=context(f"{_UPSTREAM}.head_sha"), history=True),
            steps.uv(world, publish.python, cached=False),
            steps.script(world, "development_version.sh", name="Set the version", env={"PACKAGE": publish.package}),
            Step(name="Build", run=f"uv build --package {publish.package} --out-dir dist\n"),
            Step(
                uses=world.actions.uses("actions/upload-artifact"),
                inputs={"name": _ARTIFACT, "path": "dist/", "if-no-files-found": "error", "retention-days": 7},
            ),
        ],
        why=f"The commit that {publish.follows} tested, which need not be the branch's newest.",
    )


def _publish(publish: Publish, world: World) -> Job:
    return Job(
        id=PUBLISH,
        name=f"Publish {publish.package}",
        needs=[BUILD],
        runs_on=Hosted(),
        timeout_minutes=10,
        permissions=Permissions.of(
            Grant(
                Scope.ID_TOKEN,
                Access.WRITE,
                "shows the package index which workflow publishes, so no password is stored",
            )
        ),
        purpose=Purpose.PUBLISH,
        guarded=True,
        environment=publish.environment,
        steps=[
            Step(
                uses=world.actions.uses("actions/download-artifact"),
                inputs={"name": _ARTIFACT, "path": "dist/"},
            ),
            Step(uses=world.actions.uses("pypa/gh-action-pypi-publish"), inputs={"skip-existing": True}),
        ],
        why="A job of its own, so that no code of the package runs where the index trusts the job.",
    )
