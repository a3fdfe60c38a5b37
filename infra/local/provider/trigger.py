"""The calls of a Cloud Build trigger: the service makes its id, and an update carries all of it."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from infra.local.provider.resource import Call
from infra.local.provider.rest import Rest
from infra.local.provider.transport import ApiError


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger(Rest):
    """A trigger; what is said of `Rest` holds but for the following."""

    def create(self, call: Call) -> None:
        """Its id joins what is known of it. One whose answer was lost is found again by its name."""
        path = f"{self.base}/{self.collection.fill(call.values)}"
        try:
            made = call.send("POST", path, body=call.body)
        except ApiError as error:
            if not (error.doubtful and error.code == HTTPStatus.CONFLICT):
                raise
            made = call.send("GET", f"{path}/{call.values['name']}")
        call.values["triggerId"] = made["id"]

    def update(self, call: Call) -> None:
        if self.changed_paths(call):
            call.send("PATCH", self.path(call), body={**call.body, "id": call.values["triggerId"]})
