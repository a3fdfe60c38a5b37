"""Where an image is pushed: its names in every registry that has it, mirrors of Docker Hub, and who runs it.

Owns the spelling of places. A place has no tag and no digest: `us-central1-docker.pkg.dev/PROJECT/REPOSITORY/NAME`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from infra.model.errors import ConfigError, Problem
from infra.model.images.record import Uses
from infra.model.images.spec import SPEC_FILE, Image, ImageSpec
from infra.model.names import docker_path
from infra.model.schema import StackConfig


def places(image: Image, stacks: Mapping[str, StackConfig]) -> tuple[str, ...]:
    """Every place of the image: the first is pushed to, the others are copied to.

    Artifact Registry's come first, with the region where the stack's builds run ahead of the others, which are sorted.
    """
    found: list[str] = []
    registry = image.push.artifact_registry
    if registry is not None:
        stack = stacks[registry.stack]
        paths = (docker_path(stack.project, region, registry.repository) for region in regions(image, stack))
        found += [f"{path}/{image.name}" for path in paths]
    if image.push.ghcr is not None:
        found.append(image.push.ghcr)
    return tuple(found)


def regions(image: Image, stack: StackConfig) -> tuple[str, ...]:
    """Where Artifact Registry holds the image, the builds' own region first; empty where it does not."""
    registry = image.push.artifact_registry
    if registry is None or stack.registries is None:
        return ()
    named = stack.registries.regions if registry.regions is None else registry.regions
    first = stack.builds.region if stack.builds is not None else ""
    return tuple(sorted(set(named), key=lambda region: (region != first, region)))


HUB: Final = "docker.io/"
_UPSTREAM: Final = "docker-hub"


def hub_mirror(stack: StackConfig) -> str:
    """What the names of Docker Hub's images start with in the mirror that a stack's builds pull from.

    Empty where the stack has none in the multi-region around its builds, by whose name the names of regions begin;
    what is declared as a mirror stands in a multi-region.
    """
    if stack.builds is None:
        return ""
    around = stack.builds.region.partition("-")[0]
    near = (each.name for each in stack.mirrors if each.upstream == _UPSTREAM and around in each.locations)
    return next((docker_path(stack.project, around, name) for name in near), "")


def through(reference: str, mirror: str) -> str:
    """An image of Docker Hub as the mirror calls it; any other image, and every one without a mirror, as it is."""
    return f"{mirror}/{reference.removeprefix(HUB)}" if mirror and reference.startswith(HUB) else reference


def record_stack(spec: ImageSpec) -> str:
    """The stack whose fleet bucket has the record of all images: the one whose registries they are pushed to.

    Images that no stack's registries hold are recorded beside the others. Raises ConfigError where there is no such
    stack, or more than one: pools could then run what another record says.
    """
    stacks = sorted({image.push.artifact_registry.stack for image in spec.images if image.push.artifact_registry})
    if len(stacks) == 1:
        return stacks[0]
    rule = "images are pushed to the registries of two stacks, and one stack's bucket has their record"
    fix = "push.artifact_registry.stack: the same in every image that has one"
    raise ConfigError([Problem(f"{SPEC_FILE} images", ", ".join(stacks) or "no stack", rule, fix)])


def uses(spec: ImageSpec, stacks: Mapping[str, StackConfig]) -> Uses:
    """The images that each pool may run, for every pool of every stack."""
    known = pool_stacks(stacks)
    return {
        pool: frozenset(
            image.name for image in spec.images if pool in image.used_by.pools and image.used_by.stack == stack
        )
        for pool, stack in known.items()
    }


def pool_stacks(stacks: Mapping[str, StackConfig]) -> Mapping[str, str]:
    """The stack of every pool; pool names are unique in a project, as VM names are made of them."""
    return {pool.name: name for name, stack in sorted(stacks.items()) for pool in stack.pools}
