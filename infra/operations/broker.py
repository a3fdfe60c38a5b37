"""The environment by which a person serves the token broker of a stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from infra.fleet.broker.settings import BUCKET, PROJECT
from infra.model.schema import StackConfig


def with_stack(environ: Mapping[str, str], config: Callable[[], StackConfig]) -> dict[str, str]:
    """The environment, and what it leaves out from the stack: a container has no stack file and needs none.

    config: the stack's, read only where it is needed.
    """
    if environ.get(PROJECT) and environ.get(BUCKET):
        return dict(environ)
    found = config()
    return {PROJECT: found.project, BUCKET: found.bucket.name, **environ}
