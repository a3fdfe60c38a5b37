"""A passing copy of a stack's state, on which something is tried that the state itself must not show.

Owns the copy: a backend of its own that is gone afterwards, the state in it, and the outputs of the stack whose
registries the program reads. Does not own what is tried (`engine`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from pulumi import automation

from infra.engines.official.adoption import outputs_alone
from infra.engines.official.workspace import Place, Workspace, scratch
from infra.engines.protocol import Request
from infra.model.stack import load_stack

Exported = Callable[[str], Mapping[str, Any] | None]
"""A stack's state, as it is exported; None where it has none."""


@contextmanager
def passing_copy(
    request: Request,
    place: Place,
    runner: automation.PulumiCommand,
    state: Mapping[str, Any] | None,
    exported: Exported,
) -> Generator[Workspace]:
    """A workspace that holds the stack with this state, None for none; what is done in it is forgotten."""
    with scratch(request, place, runner) as work:
        _lend_registries(work, request, exported)
        work.create_stack(request.stack)
        if state is not None:
            work.load(request.stack, state)
        yield work


def _lend_registries(work: Workspace, request: Request, exported: Exported) -> None:
    """Where there are no outputs to lend, the program says so itself."""
    owner = load_stack(request.root, request.stack).registry_stack
    lent = exported(str(owner)) if owner is not None else None
    if lent is not None:
        work.create_stack(str(owner))
        work.load(str(owner), outputs_alone(lent))
