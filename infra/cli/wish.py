"""Writing what people wish of a fleet, for the controller to obey at its next sweep."""

from __future__ import annotations

from collections.abc import Callable

from infra.fleet.controller.lease import Kind
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Body, Records
from infra.model import names
from infra.operations.errors import Failure
from infra.operations.fleet.looks import Fleet
from infra.operations.leased import leased


def wish(fleet: Fleet, change: Callable[[Body | None], Body]) -> None:
    """Change the wishes record under the lease. Raises Failure where the bucket refuses, or another holds the lease."""
    try:
        with (
            leased(fleet.config, fleet.session, Kind.DRAIN),
            clients(fleet.place.project, fleet.place.endpoint) as google,
        ):
            Records(google=google, bucket=fleet.place.bucket).update(names.wishes_object(fleet.stack), change)
    except GoogleError as error:
        raise Failure(f"nothing was changed: {error}") from None
