"""The calls of Pub/Sub topics, which are made by PUT, and of Cloud Scheduler jobs, which are paused by calls."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from infra.local.provider.resource import Call
from infra.local.provider.rest import Rest
from infra.local.provider.transport import ApiError

_PAUSED: Final = "PAUSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic(Rest):
    """A topic; what is said of `Rest` holds but for the following."""

    def create(self, call: Call) -> None:
        try:
            call.send("PUT", self.path(call), body=call.body)
        except ApiError as error:
            if not (error.doubtful and error.code == HTTPStatus.CONFLICT):
                raise

    def update(self, call: Call) -> None:
        """The mask stands in the query, as the official provider sends it; the topic is a part of the body."""
        if paths := self.changed_paths(call):
            call.send("PATCH", self.path(call), query={"updateMask": ",".join(paths)}, body={"topic": call.body})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Rest):
    """A job; what is said of `Rest` holds but for the following. No body says anything of a pause."""

    def create(self, call: Call) -> None:
        paused = bool(call.body.pop("paused", False))
        call.body["name"] = self.item.fill(call.values)
        Rest.create(self, call)
        self._set(call, paused)

    def read(self, call: Call) -> dict[str, Any] | None:
        found = Rest.read(self, call)
        return None if found is None else {**found, "paused": found.get("state") == _PAUSED}

    def update(self, call: Call) -> None:
        paused = bool(call.body.pop("paused", False))
        Rest.update(self, call)
        if "paused" in call.changed:
            self._set(call, paused)

    def _set(self, call: Call, paused: bool) -> None:
        """The official provider makes this call after every creation."""
        call.send("POST", f"{self.path(call)}:{'pause' if paused else 'resume'}", body={})
