"""Pulling images of Docker Hub through a stack's mirror, which its builder reads as it reads any repository of its own.

Owns which mirror is near enough and how an image is called there. Leaves the mirrors themselves to the stack file.
Docker Hub counts pulls by address, and many builders share one. Sources, read 2026-11-22:
https://docs.docker.com/docker-hub/usage/ and
https://docs.cloud.google.com/artifact-registry/docs/repositories/remote-overview
"""

from __future__ import annotations

from typing import Final

from infra.model.names import docker_path
from infra.model.schema import StackConfig

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
