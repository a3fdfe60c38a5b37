"""Making the chosen engine. Imports only the one that is asked for: each costs its start-up time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.engines.protocol import EngineName

if TYPE_CHECKING:
    from infra.engines.protocol import Engine, Request


def make_engine(name: EngineName, request: Request) -> Engine:
    """The engine of that name for this request."""
    if name is EngineName.PULUMI:
        from infra.engines.official import OfficialEngine

        return OfficialEngine(request)
    from infra.engines.embedded import EmbeddedEngine

    return EmbeddedEngine(request)
