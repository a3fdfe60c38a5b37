"""A client of the control surface: what `./tidepool cloud ...` and tests tell the local cloud."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from bench.cloud.loopback import NoAnswerError, asked
from infra.model.errors import OutsideError

JsonObject = dict[str, Any]


class ControlError(OutsideError):
    """The cloud refused, or nobody answers at the address."""


class Control:
    """Each command of the cloud is a method: the function of that name which `cloud.obeys` marks, without the cloud.

    `surface` has those of the cloud as a whole; services, clusters and GitHub have theirs. What the cloud refuses is a
    `ControlError` with its words. url: root of a local cloud, as `daemon.Handle` has it. timeout: seconds.
    """

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout

    @property
    def api(self) -> str:
        """What a client takes as the base URL of a GitHub Enterprise server."""
        return f"{self.url}/github/api/v3"

    def __getattr__(self, command: str) -> Callable[..., Any]:
        if command.startswith("_"):
            raise AttributeError(command)
        return lambda *arguments, **named: self._ask(command, {"arguments": arguments, **named})

    def _ask(self, command: str, body: JsonObject) -> Any:
        try:
            found = asked(self.url, "POST", f"/_tidepool/{command}", json.dumps(body), seconds=self._timeout)
            answer = json.loads(found.body)
        except (NoAnswerError, ValueError) as error:
            raise ControlError(f"the local cloud at {self.url} does not answer: {error}") from error
        if found.status >= 400:
            raise ControlError(answer["error"]["message"])
        return answer


class CloudClock:
    """What time it is in a local cloud, for what works beside it. Asked each time: a clock that was moved is moved."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self._control.clock()["seconds"], tz=UTC)
