"""docker-images.yaml: builds the images of GitHub's jobs anew for a change of what they are made by, which is here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import Final

from infra.model.federation import IMAGES_WORKFLOW, MAIN
from infra.model.images.places import record_stack
from infra.model.images.rebuilds import trigger_files, trigger_ignores
from infra.model.images.spec import DOCKERFILE, Builder, Image
from workflows.builders import (
    Expression,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Push,
    Step,
    Triggers,
    Workflow,
    WorkflowDispatch,
    call,
    context,
    not_cancelled,
)
from workflows.image_builds import (
    ALL,
    MAIN_BRANCH,
    TESTED,
    TESTED_COMMIT,
    ImageBuilds,
    at_once,
    built_by_github,
    choice,
    commit_of_tests,
)
from workflows.own.steps import File, OrderedWorld, is_set_up, line_of, script
from workflows.steps import READ_CONTENTS, checkout
from workflows.world import World

CHOICE: Final = "choose"


def file(around: OrderedWorld) -> File:
    world = around.world
    images = built_by_github(world)
    first, builds = choose(around), [build(around, image) for image in images]
    found = [find_tested(around, image) for image in images if image.when.after][:1]
    workflow = Workflow(
        name="Docker Images",
        header="""\
Builds what a push changed: recipes, the steps that all images share, what they are pinned to. Each image is built from
the digest that its parent's job just got, and pushed to GHCR.

The workflow of the same name in the repository with the sources has the same jobs, for pushes, tests and times there.
A job takes the newest commit of both repositories, and of what trains the newest whose tests were green, so that of two
builds of one image the one that began last is of the newer sources, whichever repository it is of; the record keeps the
other from becoming current. No other commit can be named: its steps would run with this file's identity, without having
been on main.""",
        triggers=Triggers.of(
            Push(branches=[MAIN_BRANCH], paths=list(_filters(world, images))),
            WorkflowDispatch(inputs={"image": choice(image.name for image in images)}),
        ),
        concurrency=at_once(IMAGES_WORKFLOW),
        jobs=(first, *found, *builds),
    )
    return File(
        workflow,
        {
            first.id: line_of(choose),
            **{job.id: line_of(find_tested) for job in found},
            **{job.id: line_of(build) for job in builds},
        },
    )


def choose(around: OrderedWorld) -> Job:
    images = built_by_github(around.world)
    return Job(
        id=CHOICE,
        name="Choose the images",
        purpose=Purpose.CHECK,
        runs_on=Hosted(),
        timeout_minutes=15,
        condition=is_set_up() & context("github.ref").equals(MAIN),
        why="All that was pushed at once is compared with what was there before. Every image that is built is on this\n"
        "list, descendants of another one too. After a forced push nothing is known of before: start it by hand.",
        permissions=Permissions.of(READ_CONTENTS),
        outputs={"images": context("steps.plan.outputs.images")},
        steps=[
            checkout(around.world, history=True),
            Step(
                name="Plan",
                id="plan",
                env={"ASKED": context("inputs.image"), "BEFORE": context("github.event.before")},
                run=script(
                    'case "$ASKED" in',
                    *_cases(images),
                    "esac",
                    './tidepool images plan "$@" --json >"$RUNNER_TEMP/plan.json"',
                    f"""jq -r '.[] | select(.builder == "{Builder.GITHUB}") | "- \\(.image): \\(.reason)"' \\""",
                    '  "$RUNNER_TEMP/plan.json" >>"$GITHUB_STEP_SUMMARY"',
                    f"""images=$(jq -c '[.[] | select(.builder == "{Builder.GITHUB}").image]' """
                    '"$RUNNER_TEMP/plan.json")',
                    'echo "images=$images" >>"$GITHUB_OUTPUT"',
                ),
                timeout_minutes=10,
            ),
        ],
    )


def build(around: OrderedWorld, image: Image) -> Job:
    world = around.world
    tested_at = {_sources(image): TESTED_COMMIT} if image.when.after else {}
    builds = ImageBuilds(world, world.stacks[record_stack(world.images)], tested_at)
    chosen, needed = _is_chosen(image.name), context(f"needs.{CHOICE}.result").equals("success")
    condition = not_cancelled() & needed & chosen
    for parent in builds.parents(image):
        condition = condition & (context(f"needs.{parent}.result").equals("success") | ~_is_chosen(parent))
    if image.when.after:
        condition = condition & TESTED_COMMIT.differs("")
    why = ""
    if parents := ", ".join(builds.parents(image)):
        why = f"FROM the digest that {parents} just got, or, where that is not built, the record's current one."
    after = (CHOICE, TESTED) if image.when.after else (CHOICE,)
    return builds.job(image, name=f"Build {image.name}", after=after, condition=condition, why=why)


def find_tested(around: OrderedWorld, image: Image) -> Job:
    """The newest tested commit of the sources of an image whose build follows tests."""
    following = [each.name for each in built_by_github(around.world) if each.when.after]
    wanted = reduce(or_, map(_is_chosen, following))
    tests = image.when.after or ""
    return commit_of_tests(around.world, _sources(image), tests, condition=wanted, needs=(CHOICE,))


def _sources(image: Image) -> str:
    return image.context.repository


def _is_chosen(image: str) -> Expression:
    return call("contains", call("fromJSON", context(f"needs.{CHOICE}.outputs.images")), image)


def _filters(world: World, images: tuple[Image, ...]) -> Iterator[str]:
    """The files of this repository whose change builds one of the images, and then those that no build reads."""
    spec = world.images
    files = {each for image in images for each in trigger_files(spec, image, spec.recipes)}
    yield from sorted(files)
    yield from (f"!{each}" for each in trigger_ignores(spec, spec.recipes))


def _cases(images: tuple[Image, ...]) -> Iterator[str]:
    """Lines of a `case`: after a push what it changed; by hand an image, as though its recipe had been changed."""
    recipes = {image.name: f"{image.folder}/{DOCKERFILE}" for image in images}
    yield """  '') set -- --base "$BEFORE" ;;"""
    yield f"  {ALL}) set -- --changed {' '.join(recipes.values())} ;;"
    yield from (f"  {name}) set -- --changed {recipe} ;;" for name, recipe in recipes.items())
