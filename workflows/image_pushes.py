"""Which images' jobs of GitHub a push starts, asked of the generated workflow of the repository that is pushed to.

Owns what such a run is given besides its event: that it is set up, and the plan that its first job makes. Runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from infra.model.federation import IMAGES_WORKFLOW
from infra.model.images.rebuilds import Change, rebuilds
from infra.model.images.spec import Builder
from workflows import steps
from workflows.events import push
from workflows.generate import Generated, generate
from workflows.image_builds import TESTED, built_by_github
from workflows.own import generate_own
from workflows.own.docker_images import CHOICE
from workflows.runs import Given, run
from workflows.spec import load_spec, spec_names
from workflows.spec.load import FOLDER as SPECS
from workflows.world import World, load_world


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
