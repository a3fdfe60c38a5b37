"""The file that builds images: GitHub's own, each from the digest of its parent's job, and the start of Cloud Build's.

Leaves what a build does to `infra.model.images`, and its job to `workflows.image_builds`. When which image is built
follows from its `when` and its parents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from infra.model.images.spec import Builder, Image
from infra.model.images.steps import MINUTE
from workflows import steps
from workflows.builders import (
    Access,
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
)
from workflows.composite import FOLDER, Generated, generated, made_of
from workflows.image_builds import (
    ALL,
    LONGEST_MINUTES,
    SET_UP_MINUTES,
    TESTED,
    TESTED_COMMIT,
    ImageBuilds,
    at_once,
    built_by_github,
    choice,
    commit_of_tests,
)
from workflows.spec import Spec, SpecLine
from workflows.spec.model import ImageGroup, Images
from workflows.world import World

FOLLOWING: Final = "after-tests"
STARTING: Final = "start-runs"
_REVISION = context("inputs.revision")
_QUEUE_MINUTES: Final = 10
"""What a build of Cloud Build waits for a machine, beside its own limit."""
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
        commit = _REVISION | context("github.sha")
        self._builds = ImageBuilds(world, stack, {spec.declared.repository: commit})
        self._tested = ImageBuilds(world, stack, {spec.declared.repository: TESTED_COMMIT})
        named = {name for group in images.groups for name in group.images}
        self._built = [image for image in built_by_github(world) if image.name in named]

    def workflow(self) -> Workflow:
        builds = map(self._build, self._built)
        jobs = [*self._following(), *self._starts_of_cloud_build(), *self._testing(), *builds, *self._starting()]
        return Workflow(
            name=self._images.name,
            triggers=Triggers.of(*self._triggers()),
            jobs=jobs,
            concurrency=at_once(self._images.file),
        )

    def sources(self) -> dict[str, SpecLine]:
        here = self._spec.line("images", self._index)
        lines = {job.id: here for job in (*self._following(), *self._testing(), *self._starting())}
        for place, group in enumerate(self._images.groups):
            line = self._spec.line("images", self._index, "groups", place)
            cloud = self._by_cloud_build(group)
            lines |= {group.job: line} if cloud else dict.fromkeys(group.images, line)
        return lines

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
        yield WorkflowDispatch(
            inputs={
                "image": choice(name for group in self._images.groups for name in group.images),
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
                    f"{name} passed, so {image.name} is built from its commit. Google admits no run that follows\n"
                    "another, since such a run has the rights of whoever started the first; so this job starts one."
                ),
            )

    def _testing(self) -> Iterator[Job]:
        """The tested commit, for images whose build follows tests; whose those are is the same for all of a file."""
        for name in self._follows[:1]:
            started = context("github.event_name").differs("workflow_run")
            repository = self._spec.declared.repository
            yield commit_of_tests(self._world, repository, name, condition=started, revision=_REVISION)

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
                timeout_minutes=self._wait_minutes + 2 * SET_UP_MINUTES,
                permissions=Permissions.of(steps.READ_CONTENTS, steps.IDENTITY),
                purpose=Purpose.PUBLISH,
                condition=context("github.event_name").equals("workflow_dispatch") & self._asked(*group.images),
                steps=[
                    steps.checkout(self._world, repository=self._world.images.recipes, path="tidepool"),
                    steps.uv(self._world, "3.11", cached=False),
                    steps.google(self._world, self._builds.account),
                    *(self._trigger(name) for name in group.images),
                ],
                why=(
                    "Cloud Build builds these, and its triggers start by themselves on pushes and at their times.\n"
                    "By hand this job sends the message that starts one, waits for its record and says the digest."
                ),
            )

    @property
    def _wait_minutes(self) -> int:
        """As long as the stack lets a build take, and no longer than a job may wait for it."""
        longest = LONGEST_MINUTES - 2 * SET_UP_MINUTES
        builds = self._builds.stack.builds
        return min(builds.timeout // MINUTE + _QUEUE_MINUTES, longest) if builds else longest

    def _trigger(self, name: str) -> Step:
        return steps.script(
            self._world,
            "trigger_build.sh",
            name=f"Build {name}",
            folder="tidepool",
            timeout_minutes=self._wait_minutes + SET_UP_MINUTES,
            env={
                "IMAGE": name,
                "REVISION": _REVISION,
                "REPOSITORY": context("github.repository"),
                "WAIT_MINUTES": self._wait_minutes,
            },
        )

    def _build(self, image: Image) -> Job:
        group = next(group for group in self._images.groups if image.name in group.images)
        builds, after = (self._tested, (TESTED,)) if image.when.after else (self._builds, ())
        condition, why = self._condition(image), self._why(image)
        return builds.job(image, name=f"{group.job}: {image.name}", after=after, condition=condition, why=why)

    def _condition(self, image: Image) -> Expression:
        """A build starts where the image's own `when` says so, or where a parent was just built."""
        needs = self._builds.parents(image)
        event = context("github.event_name")
        wanted = event.equals("workflow_dispatch") & self._asked(image.name)
        started = [name for name, when in (("push", image.when.push), ("schedule", image.when.schedule)) if when]
        for name in started:
            wanted = wanted | event.equals(name)
        if not needs:
            return TESTED_COMMIT.differs("") & wanted if image.when.after else wanted
        for parent in needs:
            wanted = wanted | context(f"needs.{parent}.result").equals("success")
        # A parent that was not asked for is skipped, and the record's digest of it is taken; one that failed is not.
        condition = not_cancelled()
        if image.when.after:
            condition = condition & TESTED_COMMIT.differs("")
        for parent in needs:
            condition = condition & context(f"needs.{parent}.result").one_of(("success", "skipped"))
        return condition & wanted

    def _why(self, image: Image) -> str:
        said = []
        if image.parents:
            said.append(f"FROM the digest that {', '.join(image.parents)} just got, or the record's current one.")
        if image.when.after:
            said.append(f"Built from a commit that passed {image.when.after}.")
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
        if any(image.when.schedule for image in self._built):
            # Not after every build: a run takes hours of many chips, and who wants one more starts it by hand.
            built = context("github.event_name").equals("schedule") & built
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
