"""Where an image is pushed: the names of one image in every registry that has it.

Owns the spelling of places. A place has no tag and no digest: `us-central1-docker.pkg.dev/PROJECT/REPOSITORY/NAME`.
"""

from __future__ import annotations

from collections.abc import Mapping

from infra.model.images.spec import Image
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
