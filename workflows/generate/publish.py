"""The file that publishes a development build of a package, of a commit whose tests were green."""

from __future__ import annotations

from collections.abc import Iterator

from workflows import steps
from workflows.builders import (
    Access,
    Concurrency,
    Grant,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowRun,
    context,
    template,
)
from workflows.composite import Generated, generated
from workflows.spec import Spec
from workflows.spec.model import Publish
from workflows.world import World

BUILD, PUBLISH = "build", "publish"
_ARTIFACT = "package"
_UPSTREAM = "github.event.workflow_run"
_WHY = "runs only for a green push to the main branch of this repository, at that very commit"


def files(spec: Spec, world: World) -> Iterator[Generated]:
    """One file for each entry of `publish`."""
    for index, publish in enumerate(spec.declared.publish):
        stem = publish.file.partition(".")[0]
        workflow = Workflow(
            name=publish.name,
            triggers=Triggers.of(WorkflowRun(workflows=[publish.follows], branches=[spec.declared.branch], why=_WHY)),
            jobs=[_build(publish, world), _publish(publish, world)],
            # A group of its own for each run that ended: of those that wait GitHub keeps the newest, so that in a
            # common queue a red build would cancel the green one's publishing.
            concurrency=Concurrency(template(f"{stem}-", context(f"{_UPSTREAM}.id")), Purpose.PUBLISH),
        )
        line = spec.line("publish", index)
        yield generated(spec, publish.file, workflow, {BUILD: line, PUBLISH: line})


def _build(publish: Publish, world: World) -> Job:
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
            Grant(Scope.ID_TOKEN, Access.WRITE, "by which the package index trusts this workflow; there is no password")
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
        why="Apart from the build, so that nothing of the package's own code runs where the index trusts the job.",
    )
