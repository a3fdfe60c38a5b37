"""The job that builds one image at GitHub, the same in every repository that builds images: from the jobs that
`infra.model.images.github` spells, with the identity, the rights and the limits around them.

Leaves which images are built when, and the file around the jobs, to `workflows.generate.images` and
`workflows.own.docker_images`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final

from infra.model import names
from infra.model.federation import IMAGE_BUILDER, MAIN
from infra.model.images.github import build_jobs
from infra.model.images.places import places
from infra.model.images.spec import Builder, Image
from infra.model.images.steps import FETCH, MINUTE, STEPS_FOLDER
from infra.model.schema import StackConfig
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
    Scope,
    Step,
    context,
    template,
)
from workflows.world import World

ALL: Final = "all"
"""What a person chooses who wants every image."""
SET_UP_MINUTES: Final = 10
"""Of a job, beside the limits of its own steps."""

LONGEST_MINUTES: Final = 6 * MINUTE
"""GitHub's limit of a job on a runner of its own."""
TESTED: Final = "tested"
FETCHES: Final = f"{STEPS_FOLDER}/{FETCH}"
TESTED_COMMIT: Final = context(f"needs.{TESTED}.outputs.commit")
TESTED_COMMIT_STEP: Final = context("steps.tested.outputs.commit")
MAIN_BRANCH: Final = PurePosixPath(MAIN).name
_RESULTS = Grant(Scope.ACTIONS, Access.READ, "how the tests of a commit ended")
_PACKAGES = Grant(Scope.PACKAGES, Access.WRITE, "pushes to packages that let this repository's jobs write")


@dataclass(frozen=True)
class ImageBuilds:
    """What the jobs of one repository's file have in common.

    stack: whose record and whose identity they use. revisions: expressions of commits, by repository; of one that is
    not named the branch's newest is built.
    """

    world: World
    stack: StackConfig
    revisions: Mapping[str, Expression] = field(default_factory=dict)

    @property
    def account(self) -> str:
        """The address of the account that these jobs act as."""
        return names.account_email(names.role_account_id(self.stack.stack, IMAGE_BUILDER[0]), self.stack.project)

    def job(self, image: Image, *, name: str, condition: Expression, after: tuple[str, ...] = (), why: str = "") -> Job:
        """The job of an image that GitHub builds, after those of its parents. after: jobs that it needs besides."""
        plain = self._plain[image.name]
        return Job(
            id=image.name,
            name=name,
            needs=[*after, *self.parents(image)],
            condition=condition,
            runs_on=Hosted(plain["runs-on"]),
            timeout_minutes=min(plain["timeout-minutes"] + SET_UP_MINUTES, LONGEST_MINUTES),
            permissions=Permissions.of(steps.READ_CONTENTS, _PACKAGES, steps.IDENTITY),
            purpose=Purpose.PUBLISH,
            outputs={key: _expression(value) for key, value in plain["outputs"].items()},
            env={key: steps.valued(value) for key, value in plain["env"].items()},
            steps=[steps.google(self.world, self.account), *map(self._step, plain["steps"])],
            why=why,
        )

    def _step(self, plain: Mapping[str, Any]) -> Step:
        """What fetches the recipes is an action; each other step is a file of what was fetched."""
        fetches = plain["run"] == self.world.first_step
        return steps.from_plain(plain, steps.shared(self.world, "image_fetch", FETCHES) if fetches else None)

    def parents(self, image: Image) -> tuple[str, ...]:
        """The jobs of the same file whose digests the image is built from."""
        return tuple(self._plain[image.name].get("needs", ()))

    @cached_property
    def _plain(self) -> dict[str, dict[str, Any]]:
        spec, builds = self.world.images, self.stack.builds
        return build_jobs(
            spec,
            self.world.pins,
            places={image.name: places(image, self.world.stacks) for image in spec.images},
            timeout=builds.timeout if builds else LONGEST_MINUTES * MINUTE,
            bootstrap=self.world.first_step,
            revisions={repository: str(revision) for repository, revision in self.revisions.items()},
        )


def commit_of_tests(
    world: World,
    repository: str,
    tests: str,
    *,
    condition: Expression,
    needs: tuple[str, ...] = (),
    revision: Expression | None = None,
) -> Job:
    """The job that finds the commit of tested sources. tests: a workflow by its name. revision: the one asked for."""
    return Job(
        id=TESTED,
        name="Find the tested commit",
        runs_on=Hosted(),
        timeout_minutes=SET_UP_MINUTES,
        permissions=Permissions.of(_RESULTS, steps.READ_CONTENTS),
        purpose=Purpose.CHECK,
        needs=needs,
        condition=condition,
        outputs={"commit": TESTED_COMMIT_STEP},
        steps=[
            steps.python(
                world,
                "tested_commit",
                name=f"Look up how {tests} ended",
                step_id="tested",
                outputs=("commit",),
                env={
                    **steps.TOKEN,
                    "REPOSITORY": repository,
                    "TESTS": tests,
                    "BRANCH": MAIN_BRANCH,
                    "REVISION": "" if revision is None else revision,
                },
            )
        ],
        why=f"Training images are built from a commit that passed {tests}, whatever starts the build.",
    )


def built_by_github(world: World) -> tuple[Image, ...]:
    """The images that GitHub's jobs build, parents first."""
    return tuple(image for image in world.images.order() if image.builder is Builder.GITHUB)


def choice(images: Iterable[str]) -> Input:
    """What a person who starts the file by hand says: one of these images, or all."""
    return Input(description="What to build", kind="choice", default=ALL, options=[ALL, *images])


def at_once(file: str) -> Concurrency:
    """A group of each run: two builds of one image may run at once, also of two repositories.

    The record tells which is of older sources, and that one becomes current nowhere and moves no tag.
    """
    return Concurrency(template(f"{PurePosixPath(file).stem}-", context("github.run_id")), Purpose.PUBLISH)


def _expression(text: str) -> Expression:
    value = steps.valued(text)
    if not isinstance(value, Expression):
        raise TypeError(f"an output is an expression, not {text!r}")
    return value
