"""The calls of a type that is an ordinary REST resource, and waiting for what they begin.

POST to a collection, GET, PATCH and DELETE of an item. Long-running operations come in the two shapes that Google's
APIs have. One is asked for soon, and then whenever it has taken half as long again: a quick one is noticed within a
third of its time, a slow one costs few calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from bench.providers.google.fields import Field
from bench.providers.google.resource import Path, ResourceCall
from bench.providers.google.transport import ApiError, Deadline, RestApi

_SHORTEST_POLL, _LONGEST_POLL = 0.05, 5.0


class Wait(StrEnum):
    """How a type's calls end."""

    NONE = "the answer is the resource"
    LRO = "google.longrunning: name, done, error or response"
    COMPUTE = "compute: status, error.errors"
    CONTAINER = "container: status, error or statusMessage"


class OperationFailedError(Exception):
    """The operation ended without success; the text holds the code and Google's message.

    gone: whether nothing is left of what it was to make.
    """

    gone = False


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


def wait(api: RestApi, shape: Wait, base: str, operation: Mapping[str, Any], deadline: Deadline) -> None:
    """Wait until a call's operation has ended. `base` is the path that the operation's name stands below."""
    if shape is Wait.NONE or (shape is Wait.LRO and "name" not in operation):
        return
    latest = dict(operation)
    path = _place(shape, base, operation)

    def ended() -> bool:
        return bool(latest.get("done")) or latest.get("status") == "DONE"

    def ask() -> bool:
        nonlocal latest
        latest = _ask(api, path, deadline) or latest
        return ended()

    if not ended():
        poll(deadline, ask)
    error = latest.get("error") or {}
    if failed := error.get("errors") or ([error] if error else []):
        raise OperationFailedError(
            "; ".join(f"Error code {each.get('code')}, message: {each.get('message')}" for each in failed)
        )
    if shape is Wait.CONTAINER and (message := latest.get("statusMessage")):
        raise OperationFailedError(message)


def _place(shape: Wait, base: str, operation: Mapping[str, Any]) -> str:
    """Where an operation is asked for: compute's and GKE's name it by a link."""
    if shape is Wait.LRO:
        return f"{base}/{operation['name']}"
    return f"{base}/projects/" + operation["selfLink"].split("/projects/", 1)[1]


def _ask(api: RestApi, path: str, deadline: Deadline) -> dict[str, Any] | None:
    """The operation; None where it is not to be seen yet: the official provider asks again on a 404."""
    try:
        return api.call("GET", path, deadline)
    except ApiError as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return None


@contextmanager
def conflict_with_ourselves(*, always: bool = False) -> Generator[None]:
    """For a create: what is there already was made by an earlier attempt of this one, or `always` serves."""
    try:
        yield
    except ApiError as error:
        if error.code != HTTPStatus.CONFLICT or not (error.doubtful or always):
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """An ordinary resource.

    base: the API's path, version included. collection, item: below it. query: what a create says there, by hole.
    wait: how these calls end; patch_waits: whether an update does too, or its answer is the resource.
    masks: what the mask says of a changed part, where that is not the part's own name.
    masked: an update carries `updateMask` and the masked parts alone; else the changed parts without a mask.
    named: a create says the whole name. whole: an update carries everything, without a mask. carried: what every update
        carries, whatever changed.
    settling: whether a body shows a resource on its way to another state, which a read waits for.
    gone: whether a body shows what was deleted and is only kept for a while.
    """

    base: str
    collection: Path
    item: Path
    fields: Mapping[str, Field]
    query: Mapping[str, Path] = field(default_factory=dict)
    wait: Wait = Wait.NONE
    patch_waits: bool = True
    masks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    masked: bool = True
    named: bool = False
    whole: bool = False
    carried: tuple[str, ...] = ()
    settling: Callable[[Mapping[str, Any]], bool] | None = None
    gone: Callable[[Mapping[str, Any]], bool] = lambda _: False

    def create(self, call: ResourceCall) -> None:
        query = {name: path.fill(call.values) for name, path in self.query.items()}
        body = {**call.body, "name": self.item.fill(call.values)} if self.named else call.body
        with conflict_with_ourselves():
            self.ended(call, call.send("POST", self.collection_path(call), query=query, body=body))

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        found: dict[str, Any] | None = None

        def settled() -> bool:
            nonlocal found
            found = call.find(self.path(call))
            return found is None or self.settling is None or not self.settling(found)

        if not settled():
            poll(call.deadline, settled)
        return None if found is None or self.gone(found) else found

    def update(self, call: ResourceCall) -> None:
        paths = self.changed_paths(call)
        if not paths:
            return
        tops = {path.split(".")[0] for path in paths} | {*self.carried}
        body = {top: value for top, value in call.body.items() if self.whole or top in tops}
        body |= {name: self.fields[name].zero for name in self.carried if name not in body}
        mask = (name for path in paths for name in self.masks.get(path, (path,)))
        query = {"updateMask": ",".join(mask)} if self.masked and not self.whole else None
        answer = call.send("PATCH", self.path(call), query=query, body=body)
        if self.patch_waits:
            self.ended(call, answer)

    def delete(self, call: ResourceCall) -> None:
        self.ended(call, call.send("DELETE", self.path(call)))

    def ended(self, call: ResourceCall, operation: Mapping[str, Any]) -> None:
        """Wait until what a call began has ended."""
        wait(call.api, self.wait, self.base, operation, call.deadline)

    def changed_paths(self, call: ResourceCall) -> list[str]:
        """Where in the body the changed properties stand; those that only the provider knows stand nowhere."""
        changed = ((name, self.fields[name]) for name in call.changed)
        return sorted(field.wire or name for name, field in changed if not field.local)

    def path(self, call: ResourceCall) -> str:
        return f"{self.base}/{self.item.fill(call.values)}"

    def collection_path(self, call: ResourceCall) -> str:
        return f"{self.base}/{self.collection.fill(call.values)}"
