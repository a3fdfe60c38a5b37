"""Where the fleet of a stack file is: on Google Cloud, or on the local cloud with what moves there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from infra.fleet.place import Place, github_way, told_place
from infra.model.schema import StackConfig
from infra.operations.workspace import workspace

if TYPE_CHECKING:
    from infra.operations.local.guests import LocalGuests

__all__ = ("Place", "declared_place", "guests_at", "told_place")


def declared_place(config: StackConfig, endpoint: str | None) -> Place:
    """endpoint: root of the local cloud, whose GitHub then knows what the stack serves; None for Google."""
    if endpoint is None:
        project, bucket = config.project, config.bucket.name
        github = github_way(config.stack, project, bucket, os.environ)
        return Place(project=project, bucket=bucket, endpoint=None, github=github, builds=config.builds is not None)
    from infra.operations.local.fleet import local_place  # on Google Cloud nothing local is loaded

    return local_place(config, endpoint)


def guests_at(endpoint: str | None) -> LocalGuests | None:
    """The guests of the local cloud at this root; None on Google Cloud, whose VMs live by themselves."""
    if endpoint is None:
        return None
    from infra.operations.local.guests import LocalGuests  # on Google Cloud nothing local is loaded

    return LocalGuests(home=workspace().home, url=endpoint)
