"""Waiting for long-running operations, in the two shapes that Google's APIs have.

An operation is asked for soon, and then whenever it has taken half as long again: a quick one is noticed within a
third of its time, a slow one costs few calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from infra.local.provider.transport import Api, ApiError, Deadline

_SHORTEST_POLL, _LONGEST_POLL = 0.05, 5.0


class Wait(StrEnum):
    """How a type's calls end."""

    NONE = "the answer is the resource"
    LRO = "google.longrunning: name, done, error or response"
    COMPUTE = "compute: status, error.errors"


class OperationFailedError(Exception):
    """The operation ended without success; the text holds the code and Google's message."""


class OperationTimeoutError(Exception):
    """The operation was still running at the deadline; it goes on by itself."""


def poll(deadline: Deadline, ended: Callable[[], bool]) -> None:
    """Ask until `ended`, after a first pause. Raises OperationTimeoutError, CancelledError."""
    began = deadline.now()
    while True:
        deadline.pause(min(_LONGEST_POLL, max(_SHORTEST_POLL, (deadline.now() - began) / 2)))
        if ended():
            return
        if deadline.left() <= 0:
            raise OperationTimeoutError(f"still running after {deadline.seconds:g} s")


def wait(api: Api, shape: Wait, base: str, operation: Mapping[str, Any], deadline: Deadline) -> None:
    """Wait until a call's operation has ended. `base` is the path that the operation's name stands below."""
    match shape:
        case Wait.NONE:
            return
        case Wait.LRO:
            _wait_lro(api, base, operation, deadline)
        case Wait.COMPUTE:
            _wait_compute(api, base, operation, deadline)


def _wait_lro(api: Api, base: str, operation: Mapping[str, Any], deadline: Deadline) -> None:
    """An answer without a name is finished. `error` holds an rpc status."""
    latest = dict(operation)

    def ended() -> bool:
        return bool(latest.get("done")) or "name" not in latest

    def ask() -> bool:
        nonlocal latest
        latest = _ask(api, f"{base}/{operation['name']}", deadline) or latest
        return ended()

    if not ended():
        poll(deadline, ask)
    if error := latest.get("error"):
        raise OperationFailedError(f"Error code {error.get('code')}, message: {error.get('message')}")


def _wait_compute(api: Api, base: str, operation: Mapping[str, Any], deadline: Deadline) -> None:
    """Zone, region or neither says where the operation is asked for; its status counts."""
    latest = dict(operation)
    place = "global"
    for scope in ("zone", "region"):
        if link := operation.get(scope):
            place = f"{scope}s/{link.rsplit('/', 1)[-1]}"
    project = operation["selfLink"].split("/projects/", 1)[1].split("/", 1)[0]
    path = f"{base}/projects/{project}/{place}/operations/{operation['name']}"

    def ask() -> bool:
        nonlocal latest
        latest = _ask(api, path, deadline) or latest
        return latest.get("status") == "DONE"

    if latest.get("status") != "DONE":
        poll(deadline, ask)
    if errors := (latest.get("error") or {}).get("errors"):
        raise OperationFailedError(
            "; ".join(f"Error code {each.get('code')}, message: {each.get('message')}" for each in errors)
        )


def _ask(api: Api, path: str, deadline: Deadline) -> dict[str, Any] | None:
    """The operation; None where it is not to be seen yet: the official provider asks again on a 404."""
    try:
        return api.call("GET", path, deadline)
    except ApiError as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return None
