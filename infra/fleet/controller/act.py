"""Doing what was decided, one action after another, and saying what each came to.

Owns the calls and what is asked once more before them, since lists lie and lag: a node is deleted only while it is
still the one that was seen, in the state that was seen, and no job runs on it; a VM is made only where its slot has
none at any of its other places. Does not own deciding. Every action may be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from infra.fleet.controller import troubles
from infra.fleet.controller.actions import (
    Action,
    Assign,
    Create,
    Delete,
    Drain,
    Recreate,
    RemoveRunner,
    Report,
    Restart,
)
from infra.fleet.controller.desired import Desired, Place
from infra.fleet.controller.github import NO_WAY, GitHub, GitHubError
from infra.fleet.controller.observed import NodeSeen, RunnerSeen, Trouble
from infra.fleet.controller.orders import order, restart
from infra.fleet.controller.outcomes import Outcome, Result
from infra.fleet.controller.rules import DEAD
from infra.fleet.google import Api, Clients, GoogleError, execute
from infra.fleet.records import Records
from infra.model import names, run_labels

DELETE_SECONDS: Final = 90.0
"""How long one sweep waits for deletes, all together, before it leaves the creates that follow to a later one."""

_PAUSE: Final = 1.0
_GONE, _EXISTS = 404, 409


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """What acts on one stack for one sweep, from its making on.

    clock, sleep: of real time, for the wait between a delete and its create.
    """

    google: Clients
    records: Records
    github: GitHub | None
    desired: Desired
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    began: float = field(default_factory=time.monotonic)

    def do(self, action: Action) -> Outcome:
        """Do one action. A failure is an outcome, and keeps no other action from being done."""
        try:
            return self._do(action)
        except (GoogleError, GitHubError) as error:
            return Outcome(action=action, result=Result.FAILED, text=str(error))

    def _do(self, action: Action) -> Outcome:
        match action:
            case Create():
                return self._create(action, action.slot, action.place)
            case Recreate():
                return self._recreate(action)
            case Delete():
                return self._deleted(action, action.node)
            case RemoveRunner():
                return self._remove_runner(action)
            case Restart():
                restart(self.records, action.vm, action.number)
            case Drain():
                order(self.records, action.vm, drain=action.on)
            case Assign():
                drain = {"drain": action.drained} if action.first else {}
                order(self.records, action.vm, image=action.image or names.NO_IMAGE, bundle=action.bundle, **drain)
            case Report():
                pass
        return Outcome(action=action, result=Result.DONE)

    def _recreate(self, action: Recreate) -> Outcome:
        deleted = self._deleted(action, action.node)
        if deleted.result is not Result.DONE or action.place is None:
            return deleted
        while self._node(action.node.zone, action.node.name) is not None:
            if self.clock() >= self.began + DELETE_SECONDS:
                return Outcome(action=action, result=Result.DEFERRED, text="its delete takes long; it is made later")
            self.sleep(_PAUSE)
        return self._create(action, action.slot, action.place)

    def _deleted(self, action: Action, seen: NodeSeen) -> Outcome:
        node = self._node(seen.zone, seen.name)
        if node is None:
            return Outcome(action=action, result=Result.DONE, text="it was gone already")
        if str(node.get("createTime", "")) != seen.created or node.get("state") != seen.state:
            now = f"made {node.get('createTime')}, {node.get('state')}"
            return Outcome(action=action, result=Result.CHANGED, text=f"it is another than was seen: {now}")
        if (node.get("labels") or {}) != seen.labels:
            return Outcome(action=action, result=Result.CHANGED, text="its labels are others than were seen")
        if seen.state not in DEAD and run_labels.read(seen.labels) is None and self._has_a_job(seen.name):
            return Outcome(action=action, result=Result.CHANGED, text="a job began on it")
        try:
            execute(self._nodes().delete(name=self._path(seen.zone, seen.name)), f"deleting {seen.name}")
        except GoogleError as error:
            if error.status != _GONE:
                raise
        return Outcome(action=action, result=Result.DONE)

    def _create(self, action: Action, name: str, place: Place) -> Outcome:
        slot = self.desired.slot(name)
        for zone in sorted({each.zone for each in slot.places} - {place.zone}) if slot else ():
            if self._node(zone, name) is not None:
                return Outcome(action=action, result=Result.CHANGED, text=f"it stands in {zone}")
        parent = f"projects/{self.desired.project}/locations/{place.zone}"
        request = self._nodes().create(parent=parent, nodeId=name, body=dict(place.node))
        try:
            operation = execute(request, f"creating {name} in {place.zone}")
        except GoogleError as error:
            return self._not_created(action, error)
        failure = operation.get("error")
        if failure:
            text = str(failure.get("message", ""))
            trouble = troubles.of_operation(int(failure.get("code", 0)), text)
            return Outcome(action=action, result=Result.FAILED, text=text, trouble=trouble)
        return Outcome(action=action, result=Result.DONE, operation=str(operation.get("name", "")))

    def _not_created(self, action: Action, error: GoogleError) -> Outcome:
        if error.status == _EXISTS:
            return Outcome(action=action, result=Result.DONE, text="it exists already")
        trouble: Trouble = troubles.of_answer(error.status, str(error))
        return Outcome(action=action, result=Result.FAILED, text=str(error), trouble=trouble)

    def _remove_runner(self, action: RemoveRunner) -> Outcome:
        """Once more it is asked whether it is offline: GitHub takes minutes to notice that one came back."""
        github = self._github()
        listed = self._runners((action.scope,))
        runner = next((each for each in listed if (each.scope, each.id) == (action.scope, action.id)), None)
        if runner is not None and (runner.online or runner.name != action.name):
            return Outcome(action=action, result=Result.CHANGED, text="it came online")
        if runner is not None:
            github.remove(action.scope, action.id)
        return Outcome(action=action, result=Result.DONE)

    def _has_a_job(self, vm: str) -> bool:
        """Asked again right before a delete: a job may have begun since. GitHubError where nobody can say."""
        return any(runner.vm == vm and runner.online and runner.busy for runner in self._runners(self.desired.scopes))

    def _runners(self, scopes: tuple[str, ...]) -> list[RunnerSeen]:
        github = self._github()
        return [runner for source in github.sources(scopes) for runner in github.runners(source)]

    def _github(self) -> GitHub:
        if self.github is None:
            raise GitHubError(NO_WAY)
        return self.github

    def _node(self, zone: str, name: str) -> Mapping[str, Any] | None:
        try:
            return execute(self._nodes().get(name=self._path(zone, name)), f"looking up {name} in {zone}")
        except GoogleError as error:
            if error.status == _GONE:
                return None
            raise

    def _nodes(self) -> Any:
        return self.google.api(Api.TPU).projects().locations().nodes()

    def _path(self, zone: str, name: str) -> str:
        return f"projects/{self.desired.project}/locations/{zone}/nodes/{name}"
