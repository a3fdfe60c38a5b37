"""The calls of a type that is an ordinary REST resource, and waiting for what they begin.

POST to a collection, GET, PATCH and DELETE of an item. Long-running operations come in the two shapes that Google's
APIs have. One is asked for soon, and then whenever it has taken half as long again: a quick one is noticed within a
third of its time, a slow one costs few calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain
from typing import Any, TypeVar

from bench.providers.google.fields import Fields, Given, JsonObject
from bench.providers.google.spellings import last_part
from bench.providers.google.transport import ApiError, CallError, Deadline, RestApi

_SHORTEST_POLL, _LONGEST_POLL = 0.05, 5.0

T = TypeVar("T")


class OperationFailedError(CallError):
    """The operation ended without success; the text holds the code and Google's message."""


class OperationTimeoutError(CallError):
    """The operation was still running at the deadline; it goes on by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCall:
    """One action on one resource: where it is sent, how long it may take, and what is known of the resource.

    values: everything known of it: inputs, what the provider's settings add, what follows from them.
    old: the outputs before an update. changed: names of the top-level properties that differ.
    """

    api: RestApi
    deadline: Deadline
    values: JsonObject
    body: JsonObject = field(default_factory=dict)
    old: JsonObject = field(default_factory=dict)
    changed: frozenset[str] = frozenset()

    def send(self, method: str, path: str, **more: Any) -> JsonObject:
        return self.api.call(method, path, self.deadline, **more)

    def find(self, path: str, *, method: str = "GET", body: Any = None) -> JsonObject | None:
        """What the API answers, None where it knows no such thing (404)."""
        try:
            return self.send(method, path, body=body)
        except ApiError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return None


def until(deadline: Deadline, ask: Callable[[], T | None]) -> T:
    """Ask until there is an answer. Raises OperationTimeoutError, CancelledError."""
    began = deadline.now()
    while (found := ask()) is None:
        if deadline.left() <= 0:
            raise OperationTimeoutError(f"still running after {deadline.seconds:g} s")
        deadline.pause(min(_LONGEST_POLL, max(_SHORTEST_POLL, (deadline.now() - began) / 2)))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """An ordinary resource. Its calls raise CallError and CancelledError.

    base: the API's path, version included. collection, item: below it. query: what a create says there, by hole.
    masked: an update says in `updateMask` which parts it carries.
    named: a create says the whole name. complete: an update carries everything, without a mask; verb: it is sent by.
    carried: what every update carries, whatever changed.
    assigned: parts of the id that the service chooses, and where a body has them.
    settling: whether a body shows a resource on its way to another state, which a read waits for.
    gone: whether a body shows what was deleted and is only kept for a while.
    """

    base: str
    collection: str
    item: str
    fields: Fields
    query: Mapping[str, str] = field(default_factory=dict)
    masked: bool = True
    named: bool = False
    complete: bool = False
    verb: str = "PATCH"
    carried: tuple[str, ...] = ()
    assigned: Mapping[str, str] = field(default_factory=dict)
    settling: Callable[[Given], bool] = lambda _: False
    gone: Callable[[Given], bool] = lambda _: False

    def create(self, call: ResourceCall) -> None:
        """Make it and wait; what the service chose of its id joins what is known of it."""
        query = {name: hole.format_map(call.values) for name, hole in self.query.items()}
        body = {**call.body, "name": self.item.format_map(call.values)} if self.named else call.body
        self.make(call, "POST", f"{self.base}/{self.collection.format_map(call.values)}", body, query)

    def make(
        self, call: ResourceCall, method: str, path: str, body: Any, query: Mapping[str, str] | None = None
    ) -> None:
        """Create by this call and wait.

        What is there already is no conflict where an earlier attempt of this very call made it, or where the program
        shares it (`createIgnoreAlreadyExists`).
        """
        try:
            answer = self.begin(call, method, path, body, query)
        except ApiError as error:
            ours = error.doubtful or call.values.get("createIgnoreAlreadyExists")
            if error.code != HTTPStatus.CONFLICT or not ours or self.assigned:
                raise
        else:
            self.ended(call, answer)
            call.values.update({hole: last_part(answer[key]) for hole, key in self.assigned.items()})

    def read(self, call: ResourceCall) -> JsonObject | None:
        """Its body as the API has it, None where it is gone."""

        def settled() -> JsonObject | None:
            found = call.find(self.path(call)) or {}
            return None if self.settling(found) else found

        found = until(call.deadline, settled)
        return None if not found or self.gone(found) else found

    def update(self, call: ResourceCall) -> None:
        """Change in place what `call.changed` names, and wait."""
        paths = self.changed_paths(call)
        if not paths:
            return
        tops = {path.split(".")[0] for path in paths} | {*self.carried}
        body = {top: value for top, value in call.body.items() if self.complete or top in tops}
        body |= {name: self.fields[name].zero for name in self.carried if name not in body}
        query = {"updateMask": ",".join(paths)} if self.masked and not self.complete else None
        self.act(call, self.verb, self.path(call), body, query)

    def delete(self, call: ResourceCall) -> None:
        """Remove it and wait; an ApiError 404 counts as removed."""
        self.act(call, "DELETE", self.path(call))

    def act(
        self, call: ResourceCall, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None
    ) -> None:
        """Send a call, and wait until what it began has ended."""
        self.ended(call, self.begin(call, method, path, body, query))

    def begin(
        self, call: ResourceCall, method: str, path: str, body: Any, query: Mapping[str, str] | None
    ) -> JsonObject:
        return call.send(method, path, body=body, query=query)

    def ended(self, call: ResourceCall, operation: JsonObject) -> None:
        """Wait until what a call began has ended; an answer that is no operation is the resource itself."""
        name = operation.get("name", "")
        if not ("operationType" in operation or "operations/" in name):
            return
        if link := operation.get("selfLink", ""):  # compute's and GKE's name it so
            name = "projects/" + link.split("/projects/", 1)[1]
        # One that is not to be seen yet is asked for again, as the official provider does.
        answers = chain([operation], iter(lambda: call.find(f"{self.base}/{name}") or {}, None))
        ended = until(call.deadline, lambda: _ended(next(answers)))
        if error := ended.get("error"):
            raise OperationFailedError(f"Error code {error.get('code')}, message: {error.get('message')}")

    def changed_paths(self, call: ResourceCall) -> list[str]:
        """Where in the body the changed properties stand; those that only the provider knows stand nowhere."""
        changed = ((name, self.fields[name]) for name in call.changed)
        return sorted(field.wire or name for name, field in changed if not field.local)

    def path(self, call: ResourceCall) -> str:
        return f"{self.base}/{self.item.format_map(call.values)}"


def _ended(operation: JsonObject) -> JsonObject | None:
    return operation if operation.get("done") or operation.get("status") == "DONE" else None
