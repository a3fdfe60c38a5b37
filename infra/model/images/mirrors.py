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
_MULTI_REGIONS: Final = {"us": ("us-", "northamerica-"), "europe": ("europe-",), "asia": ("asia-",)}
"""Multi-regions of Artifact Registry, and what the names of the regions near them start with."""


def hub_mirror(stack: StackConfig) -> str:
    """What the names of Docker Hub's images start with in the mirror that a stack's builds pull from.

    Empty where the stack has none in the region of its builds or the multi-region around it.
    """
    if stack.builds is None:
        return ""
    region = stack.builds.region
    near = [region, *(multi for multi, starts in _MULTI_REGIONS.items() if region.startswith(starts))]
    for location in near:
        for mirror in stack.mirrors:
            if mirror.upstream == _UPSTREAM and location in mirror.locations:
                return docker_path(stack.project, location, mirror.name)
    return ""


def through(reference: str, mirror: str) -> str:
    """An image of Docker Hub as the mirror calls it; any other image, and every one without a mirror, as it is."""
    return f"{mirror}/{reference.removeprefix(HUB)}" if mirror and reference.startswith(HUB) else reference
