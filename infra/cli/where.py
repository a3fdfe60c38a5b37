"""Which cloud the running command works on, as every JSON object of it says, whoever prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from infra.operations.ports import CloudName

_CLOUD: Final = "tidepool.cloud"
"""Key of `click.Context.meta`: the cloud, once it is chosen."""


def works_on(cloud: CloudName) -> bool:
    """Let every object of the running command say it. Whether that was not known yet."""
    context = click.get_current_context(silent=True)
    known = context is not None and _CLOUD in context.meta
    if context is not None:
        context.meta[_CLOUD] = cloud.value
    return not known


def with_cloud(body: Mapping[str, Any]) -> dict[str, Any]:
    """The object with the cloud, where the running command works on one."""
    context = click.get_current_context(silent=True)
    cloud = context.meta.get(_CLOUD) if context else None
    return ({"cloud": cloud} if cloud else {}) | dict(body)
