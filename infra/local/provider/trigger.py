"""The calls of a Cloud Build trigger: the service makes its id, and an update carries all of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from infra.local.engine.provider import UNKNOWN
from infra.local.provider.resource import Call
from infra.local.provider.rest import Rest
from infra.local.provider.transport import ApiError

_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DEFAULT_TIMEOUT: Final = "600s"


def steps_fit_into_the_build(values: Mapping[str, Any]) -> str | None:
    """Google's provider refuses a build whose steps could take longer than all of it, side by side or not."""
    build = values.get("build")
    if not isinstance(build, Mapping) or not isinstance(build.get("steps"), list):
        return None
    steps = [step.get("timeout") for step in build["steps"] if isinstance(step, Mapping)]
    allowed = build.get("timeout", _DEFAULT_TIMEOUT)
    try:
        whole = _seconds("build timeout", allowed)
        total = sum(_seconds("build step timeout", each) for each in steps if each and each is not UNKNOWN)
    except ValueError as error:
        return str(error)
    if allowed is UNKNOWN or total <= whole:
        return None
    return f"Step timeout sum ({_as_go(total)}) cannot be greater than build timeout ({_as_go(whole)})"


def _seconds(subject: str, duration: Any) -> float:
    """Of a duration as Go writes it (`1h30m`, `600s`). Raises ValueError."""
    if duration is UNKNOWN:
        return 0.0
    if not _DURATION.fullmatch(duration):
        raise ValueError(f"Error parsing {subject}: {duration!r} is no duration such as 600s or 10m")
    sign = -1 if duration.startswith("-") else 1
    return sign * sum(float(amount) * _SECONDS[unit] for amount, unit in _PART.findall(duration))


def _as_go(seconds: float) -> str:
    """`9h30m0s`, `10m0s`, `30s`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}h{minutes}m{rest:g}s" if hours else f"{minutes}m{rest:g}s" if minutes else f"{rest:g}s"


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
