"""The file that builds images: GitHub's own, each from the digest of its parent's job, and the start of Cloud Build's.

Leaves what a build does to `infra.model.images`. When which image is built follows from its `when` and its parents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from infra.model import names
from infra.model.federation import IMAGE_BUILDER
from infra.model.images.github import build_jobs
from infra.model.images.places import places
from infra.model.images.spec import Builder, Image
from infra.model.images.steps import MINUTE
from workflows import steps
from workflows.builders import (
    Access,
    Concurrency,
    Expression,
    Grant,
    Hosted,
    Input,
    Job,
    Permissions,
    Purpose,
    Push,
    Schedule,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowDispatch,
    WorkflowRun,
    context,
    not_cancelled,
    template,
)
from workflows.generate.result import FOLDER, Generated, generated, made_of
from workflows.spec import Spec, SpecLine
from workflows.spec.model import ImageGroup, Images
from workflows.world import World

ALL: Final = "all"
FOLLOWING: Final = "after-tests"
STARTING: Final = "start-runs"
_WAIT_MINUTES: Final = 180
_SET_UP_MINUTES: Final = 10
_PACKAGES = Grant(Scope.PACKAGES, Access.WRITE, "pushes to this repository's own packages")
_DISPATCH = Grant(Scope.ACTIONS, Access.WRITE, "starts a workflow of this repository, which then has its own identity")
_WHY_FOLLOWING = "starts this workflow anew for a commit of the main branch, and does nothing else"


def files(spec: Spec, world: World) -> Iterator[Generated]:
    """One file for each entry of `images`."""
    for index, images in enumerate(spec.declared.images):
        made = _File(spec, world, images, index)
        with made_of(spec.line("images", index)):
            workflow = made.workflow()
        yield generated(spec, images.file, workflow, made.sources())


class _File:
    """One file's jobs, by what starts each image."""

    def __init__(self, spec: Spec, world: World, images: Images, index: int) -> None:
        self._spec, self._world, self._images, self._index = spec, world, images, index
        stack = world.stacks[spec.declared.stack]
        self._account = names.account_email(names.role_account_id(stack.stack, IMAGE_BUILDER[0]), stack.project)
        self._project = stack.project
        self._severity = stack.builds.severity if stack.builds else "critical"
        named = {name for group in images.groups for name in group.images}
        self._built = [
            image for image in world.images.order() if image.name in named and image.builder is Builder.GITHUB
        ]

    def workflow(self) -> Workflow:
        jobs = [*self._following(), *self._starts_of_cloud_build(), *self._builds(), *self._starting()]
        return Workflow(
            name=self._images.name,
            triggers=Triggers.of(*self._triggers()),
            jobs=jobs,
            # Two builds of one image may run at once: the record tells which is older, and that one moves nothing.
            concurrency=Concurrency(template(f"{self._stem}-", context("github.run_id")), Purpose.PUBLISH),
        )

    def sources(self) -> dict[str, SpecLine]:
        here = self._spec.line("images", self._index)
        lines = {job.id: here for job in (*self._following(), *self._starting())}
        for place, group in enumerate(self._images.groups):
            line = self._spec.line("images", self._index, "groups", place)
            cloud = self._by_cloud_build(group)
            lines |= {group.job: line} if cloud else dict.fromkeys(group.images, line)
        return lines

    @property
    def _stem(self) -> str:
        return self._images.file.partition(".")[0]

    @property
    def _follows(self) -> tuple[str, ...]:
        """Workflows whose success starts a build of one of the images, by name."""
        return tuple(sorted({image.when.after for image in self._built if image.when.after}))

    def _by_cloud_build(self, group: ImageGroup) -> bool:
        return self._world.images.image(group.images[0]).builder is Builder.CLOUDBUILD

    def _triggers(self) -> Iterator[Any]:
        pushed = [image for image in self._built if image.when.push]
        if pushed:
            filters = dict.fromkeys(path for image in pushed for path in image.context.paths)
            own = f"{FOLDER}/{self._images.file}"
            yield Push(branches=[self._spec.declared.branch], paths=[*filters, own])
        crons = dict.fromkeys(image.when.schedule.cron for image in self._built if image.when.schedule)
        if crons:
            yield Schedule(tuple(crons))
        options = [ALL, *(name for group in self._images.groups for name in group.images)]
        yield WorkflowDispatch(
            inputs={
                "image": Input(description="What to build", kind="choice", default=ALL, options=options),
                "revision": Input(description="The commit to build from; the branch's newest where it is empty"),
            }
        )
        if self._follows:
            yield WorkflowRun(workflows=self._follows, branches=[self._spec.declared.branch], why=_WHY_FOLLOWING)

    def _asked(self, *names_: str) -> Expression:
        """Whether who started the run by hand wants one of these."""
        return context("inputs.image").one_of((ALL, *names_))

    def _following(self) -> Iterator[Job]:
        for name in self._follows:
            image = next(each for each in self._built if each.when.after == name)
            upstream = "github.event.workflow_run"
            yield Job(
                id=FOLLOWING,
                name=f"Start {image.name} after {name}",
                runs_on=Hosted(),
                timeout_minutes=5,
                permissions=Permissions.of(_DISPATCH),
                purpose=Purpose.APPLY,
                guarded=True,
                condition=context("github.event_name").equals("workflow_run")
                & context(f"{upstream}.conclusion").equals("success")
                & context(f"{upstream}.event").equals("push"),
                steps=[self._start(self._images.file, image=image.name, revision=context(f"{upstream}.head_sha"))],
                why=(
                    f"{name} was green, so {image.name} is built of its commit. Google lets no run in that follows\n"
                    "another one, since such a run works for whoever started the first; so this one starts its own."
                ),
            )

    def _start(self, file: str, *, image: str = "", revision: Expression | None = None) -> Step:
        told: dict[str, Any] = {
            "GH_TOKEN": context("github.token"),
            "REPOSITORY": context("github.repository"),
            "BRANCH": self._spec.declared.branch,
        }
        fields = ""
        if revision is not None:
            told |= {"IMAGE": image, "REVISION": revision}
            fields = ' -f image="$IMAGE" -f revision="$REVISION"'
        return Step(
            name=f"Start {file}",
            env=told,
            run=f'gh workflow run {file} --repo "$REPOSITORY" --ref "$BRANCH"{fields}\n',
        )

    def _starts_of_cloud_build(self) -> Iterator[Job]:
        for group in self._images.groups:
            if not self._by_cloud_build(group):
                continue
            yield Job(
                id=group.job,
                name=f"Start {', '.join(group.images)}",
                runs_on=Hosted(),
                timeout_minutes=_WAIT_MINUTES + _SET_UP_MINUTES,
                permissions=Permissions.of(steps.READ_CONTENTS, steps.IDENTITY),
                purpose=Purpose.PUBLISH,
                condition=context("github.event_name").equals("workflow_dispatch") & self._asked(*group.images),
                steps=[
                    steps.checkout(self._world, repository=self._world.images.recipes, path="tidepool"),
                    steps.uv(self._world, "3.11", cached=False),
                    steps.google(self._world, self._account),
                    *(self._trigger(name) for name in group.images),
                ],
                why=(
                    "Cloud Build builds these, and its triggers start by themselves on pushes and at their times.\n"
                    "By hand this job sends the message that starts one, waits for its record and says the digest."
                ),
            )

    def _trigger(self, name: str) -> Step:
        return steps.script(
            self._world,
            "trigger_build.sh",
            name=f"Build {name}",
            folder="tidepool",
            timeout_minutes=_WAIT_MINUTES,
            env={
                "IMAGE": name,
                "REVISION": context("inputs.revision"),
                "REPOSITORY": context("github.repository"),
                "WAIT_MINUTES": _WAIT_MINUTES - _SET_UP_MINUTES,
            },
        )

    def _builds(self) -> Iterator[Job]:
        spec = self._world.images
        revision = context("inputs.revision") | context("github.sha")
        plain = build_jobs(
            spec,
            self._world.pins,
            places={image.name: places(image, self._world.stacks) for image in spec.images},
            severity=self._severity,
            bootstrap=self._world.first_step,
            revisions={self._spec.declared.repository: str(revision)},
        )
        for image in self._built:
            yield self._build(image, plain[image.name])

    def _build(self, image: Image, plain: Mapping[str, Any]) -> Job:
        needs = [plain["needs"]] if isinstance(plain.get("needs"), str) else list(plain.get("needs", ()))
        made = [steps.from_plain(step) for step in plain["steps"]]
        group = next(group for group in self._images.groups if image.name in group.images)
        return Job(
            id=image.name,
            name=f"{group.job}: {image.name}",
            needs=needs,
            condition=self._condition(image, needs),
            runs_on=Hosted(plain["runs-on"]),
            timeout_minutes=min(plain["timeout-minutes"] + _SET_UP_MINUTES, 6 * MINUTE),
            permissions=Permissions.of(steps.READ_CONTENTS, _PACKAGES, steps.IDENTITY),
            purpose=Purpose.PUBLISH,
            outputs={key: self._expression(value) for key, value in plain["outputs"].items()},
            env={key: steps.valued(value) for key, value in plain["env"].items()},
            steps=[steps.google(self._world, self._account), *made],
            why=self._why(image),
        )

    def _expression(self, text: str) -> Expression:
        value = steps.valued(text)
        if not isinstance(value, Expression):
            raise TypeError(f"an output is an expression, not {text!r}")
        return value

    def _condition(self, image: Image, needs: list[str]) -> Expression:
        """A build starts where the image's own `when` says so, or where a parent was just built."""
        event = context("github.event_name")
        wanted = event.equals("workflow_dispatch") & self._asked(image.name)
        started = [name for name, when in (("push", image.when.push), ("schedule", image.when.schedule)) if when]
        for name in started:
            wanted = wanted | event.equals(name)
        if not needs:
            return wanted
        for parent in needs:
            wanted = wanted | context(f"needs.{parent}.result").equals("success")
        # A parent that was not asked for is skipped, and the record's digest of it is taken; one that failed is not.
        condition = not_cancelled()
        for parent in needs:
            condition = condition & context(f"needs.{parent}.result").one_of(("success", "skipped"))
        return condition & wanted

    def _why(self, image: Image) -> str:
        said = []
        if image.parents:
            said.append(f"FROM the digest that {', '.join(image.parents)} just got, or the record's current one.")
        if image.when.after:
            said.append(f"Follows {image.when.after}: what trains has been tested.")
        return "\n".join(said)

    def _starting(self) -> Iterator[Job]:
        """Starts the runs that use an image, once a job of this file has built it."""
        runs = [run for run in self._spec.declared.runs if run.file in self._images.starts]
        images = sorted({run.image for run in runs} & {image.name for image in self._built})
        if not images:
            return
        built = context(f"needs.{images[0]}.result").equals("success")
        for name in images[1:]:
            built = built | context(f"needs.{name}.result").equals("success")
        yield Job(
            id=STARTING,
            name="Start what runs the new images",
            needs=images,
            condition=not_cancelled() & built,
            runs_on=Hosted(),
            timeout_minutes=5,
            permissions=Permissions.of(_DISPATCH),
            purpose=Purpose.APPLY,
            steps=[self._start(run.file) for run in runs],
            why="They make VMs, so each starts as a run of its own on the main branch, which Google lets in.",
        )
