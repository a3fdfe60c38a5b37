"""The workflows of this repository, made by the same builders as those of its users: pure, so that equal inputs give
equal bytes.

Owns which files there are and that each says what made it. Leaves what a file does to its module, reading and writing
files to the commands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from infra.model.demand import WRITE
from infra.model.errors import ConfigError, Problem
from infra.model.federation import IMAGES_WORKFLOW
from infra.model.schema import StackConfig
from workflows.composite import FOLDER, MARK, Generated
from workflows.image_builds import built_by_github
from workflows.own import apply, bases, checks, docker_images, drift, plan, preview, preview_comment
from workflows.own.steps import File, OrderedWorld, module_file
from workflows.world import World

_IMAGES: Final = PurePosixPath(IMAGES_WORKFLOW).name
_FILES: Final[Mapping[str, Callable[[OrderedWorld], File]]] = {
    "apply.yaml": apply.file,
    "bases.yaml": bases.file,
    "checks.yaml": checks.file,
    "drift.yaml": drift.file,
    "plan.yaml": plan.file,
    "preview-comment.yaml": preview_comment.file,
    "preview.yaml": preview.file,
}


def generate_own(world: World) -> tuple[Generated, ...]:
    """Every workflow file of this repository, by path; that of images where GitHub builds one.

    ConfigError where an action is missing, or where no stack lets in an environment to apply in.
    """
    _check_environments(world.stacks)
    around = OrderedWorld(world, _in_turn(world.stacks))
    wanted = {**_FILES, **({_IMAGES: docker_images.file} if built_by_github(world) else {})}
    return tuple(_generated(name, make, around) for name, make in sorted(wanted.items()))


def _generated(name: str, make: Callable[[OrderedWorld], File], around: OrderedWorld) -> Generated:
    file = make(around)
    header = (
        f"{MARK} {module_file(make.__module__)} and the stacks. Do not edit: change it there and run\n"
        f"{WRITE}\n\n{file.workflow.header}"
    )
    return Generated(path=f"{FOLDER}/{name}", workflow=replace(file.workflow, header=header), sources=file.sources)


def _in_turn(stacks: Mapping[str, StackConfig]) -> tuple[str, ...]:
    """The stacks in the order of an apply: those that read another's outputs come after it."""
    return tuple(sorted(stacks, key=lambda name: (stacks[name].registry_stack is not None, name)))


def _check_environments(stacks: Mapping[str, StackConfig]) -> None:
    declared = {each for stack in stacks.values() if stack.github for each in stack.github.environments}
    rule = (
        f"apply.yaml deploys from the environments {apply.AT_ONCE} and {apply.AFTER_APPROVAL}, so a stack lets both in"
    )
    found = [
        Problem("tidepool:github.environments", ", ".join(sorted(declared)), rule, missing)
        for missing in (apply.AT_ONCE, apply.AFTER_APPROVAL)
        if missing not in declared
    ]
    if found:
        raise ConfigError(found)
