"""Doing what was decided, one action after another, and saying what each came to.

Owns the calls and what is asked once more before them, since lists lie and lag: a node is deleted only while it is
still the one that was seen, in the state that was seen, and no job runs on it; a VM is made only where its slot has
none at any of its other places, but one that is stuck; a zone that cannot be asked is passed over where nothing says
that the slot had one there. After the first trouble of a place, and once a sweep's time is over, the rest is left to a
later sweep. Does not own deciding. Every action may be repeated.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from infra.fleet.controller import tpu_api
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
from infra.fleet.controller.desired import Desired, SlotPlace
from infra.fleet.controller.events import Result
from infra.fleet.controller.github import NO_WAY, GitHub, GitHubError, ListedRunners
from infra.fleet.controller.keys import BackoffKey, NodeKey
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.observed import NodeSeen, Observed, Trouble
from infra.fleet.controller.outcomes import ActionOutcome
from infra.fleet.controller.rules import DEAD, GIVEN_BACK
from infra.fleet.controller.vm_records import order, restart
from infra.fleet.google import Api, Clients, GoogleError
from infra.fleet.records import Records
from infra.model import bucket_names, run_labels

DELETE_SECONDS: Final = 90.0
"""How long one sweep waits for deletes, all together, before it leaves the creates that follow to a later one."""
ACTING_SECONDS: Final = 300.0
"""After so long a sweep begins nothing more: with looking, its last action and its records it stays below the limit of
its job on Cloud Run (`infra.components.controller.SWEEP_SECONDS`)."""
ABREAST: Final = 16
"""Actions that are under way at a time, where they are many."""
CALL_SECONDS: Final = 20.0
"""How long one call of a sweep that acts may take; one that failed is tried once more."""

_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 2.0
_SERVER: Final = 500
_GONE, _EXISTS = 404, 409


A = TypeVar("A", bound=Action)
Came = TypeVar("Came")


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """What acts on one stack for one sweep, from its making on.

    seen, memory: what this sweep saw, by which was decided, and what it remembers.
    clock, sleep: of real time, for the wait between a delete and its create. troubles: what a place, or a whole zone,
    was in trouble with, by backoff key or zone.
    """

    google: Clients
    records: Records
    github: GitHub | None
    desired: Desired
    seen: Observed = field(default_factory=lambda: Observed(zones={}))
    memory: Memory = EMPTY
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    began: float = field(default_factory=time.monotonic)
    troubles: dict[BackoffKey | str, str] = field(default_factory=dict)
    _listed: ListedRunners = field(default_factory=ListedRunners, repr=False)

    def all(self, actions: Iterable[Action], lost: Callable[[], str]) -> Iterator[ActionOutcome]:
        """Do all of these, several at once where no source but Google is asked; the outcome of each as it comes.

        Deletes are sent before any of them is waited for. lost: why nothing more may be done, empty while it may; it is
        called by one thread at a time.
        """
        lock = threading.Lock()

        def may_not() -> str:
            with lock:
                return lost()

        def do(action: Action) -> ActionOutcome:
            why = may_not()
            return ActionOutcome(action=action, result=Result.FAILED, text=why) if why else self.do(action)

        abreast, others, deleted = [], [], []
        for action in actions:
            (abreast if _asks_google_alone(action) else others).append(action)
        pool = ThreadPoolExecutor(max_workers=ABREAST, thread_name_prefix="act")
        try:
            for outcome in itertools.chain(_first_of_each_place_first(pool, do, abreast), map(do, others)):
                if isinstance(outcome.action, Recreate) and outcome.result is Result.DEFERRED:
                    deleted.append(outcome.action)
                else:
                    yield outcome
            yield from self._made_again(deleted, may_not, pool)
        finally:
            pool.shutdown(cancel_futures=True)

    def do(self, action: Action) -> ActionOutcome:
        """Do one action; of a Recreate that has a place the first half, so that it is DEFERRED.

        A failure is an outcome, and keeps nothing from being done but what goes to the same place.
        """
        if why := self._left(action):
            return ActionOutcome(action=action, result=Result.LEFT, text=why)
        return self._tried(action, self._do)

    def _made_again(
        self, deleted: Iterable[Recreate], lost: Callable[[], str], pool: ThreadPoolExecutor
    ) -> Iterator[ActionOutcome]:
        """The second half of replacements whose deletes were sent: each is made once its VM is gone.

        Where it is not asked for, a later sweep does it: its VM went, so it counts as begun all the same.
        """

        def make(action: Recreate) -> tuple[Recreate, ActionOutcome | None]:
            return action, self._deferred(action, lost()) or self._tried(action, self._once_gone)

        left, pause = list(deleted), _PAUSE
        until = min(self.clock() + DELETE_SECONDS, self.began + ACTING_SECONDS)
        while left:
            for action, outcome in _first_of_each_place_first(pool, make, self._without_those_that_go(left)):
                if outcome is not None:
                    left.remove(action)
                    yield replace(outcome, result=Result.DEFERRED) if outcome.was_not_begun else outcome
            if left and self.clock() >= until:
                text = "its delete takes long; it is made later"
                yield from (ActionOutcome(action=each, result=Result.DEFERRED, text=text) for each in left)
                return
            if left:
                self.sleep(min(pause, until - self.clock()))
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _without_those_that_go(self, deleted: Iterable[Recreate]) -> list[Recreate]:
        """Those whose VM no list shows on its way out: one list a zone. Each is asked for by name before it is made."""
        deleted = list(deleted)
        going = set[NodeKey]()
        for zone in sorted({each.node.zone for each in deleted}):
            with suppress(GoogleError, tpu_api.ShapeError):
                listed = tpu_api.nodes(self.google, self.desired.project, zone)
                going |= {node.key for node in listed if node.state == "DELETING"}
        return [each for each in deleted if each.node.key not in going]

    def _tried(self, action: A, do: Callable[[A], Came]) -> Came | ActionOutcome:
        try:
            return do(action)
        except (GoogleError, GitHubError) as error:
            return ActionOutcome(action=action, result=Result.FAILED, text=str(error))

    def _left(self, action: Action) -> str:
        """Why an action is not begun in this sweep; empty where it is."""
        if self.clock() >= self.began + ACTING_SECONDS:
            return "the sweep's time is over"
        if isinstance(action, Create) and (why := self._trouble(action, action.place)):
            return why
        zone = _zone(action)
        return f"{zone} is in trouble: {self.troubles[zone]}" if zone in self.troubles else ""

    def _deferred(self, action: Recreate, lost: str) -> ActionOutcome | None:
        """The outcome of a replacement that is not made now though its delete was sent; None where it may be."""
        why = lost or (self._trouble(action, action.place) if action.place else "")
        return ActionOutcome(action=action, result=Result.DEFERRED, text=why) if why else None

    def _trouble(self, action: Create | Recreate, place: SlotPlace) -> str:
        """What was the matter with a place in this sweep, or with a zone that must answer before it."""
        first = set(self._asked_first(action.slot, place)) - action.passed
        asked = (place.zone, self._key(action.slot, place), *sorted(first))
        known = (each for each in asked if each in self.troubles)
        return next((f"{each} is in trouble: {self.troubles[each]}" for each in known), "")

    def _key(self, name: str, place: SlotPlace) -> BackoffKey:
        slot = self.desired.slot(name)
        return BackoffKey(place.zone, slot.accelerator.name if slot else "", place.capacity)

    def _asked_first(self, name: str, place: SlotPlace) -> tuple[str, ...]:
        """Zones of a slot's other places, which must lack it before it is made at this one.

        Not those that this sweep could not list, unless it was asked for or listed there: that such a zone is silent
        must not keep what is lost elsewhere from being made.
        """
        slot, known = self.desired.slot(name), self.memory.vms.get(name)
        asked = known.tried if known else {}
        others = {each.zone for each in slot.places} - {place.zone} if slot else set()
        return tuple(
            zone
            for zone in sorted(others)
            if zone not in self.seen.zones
            or self.seen.zone_known(zone)
            or zone in asked
            or NodeKey(zone, name) in self.memory.nodes
        )

    def _do(self, action: Action) -> ActionOutcome:
        match action:
            case Create():
                return self._create(action, action.place)
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
                order(
                    self.records, action.vm, image=action.image or bucket_names.NO_IMAGE, bundle=action.bundle, **drain
                )
            case Report():
                pass
        return ActionOutcome(action=action, result=Result.DONE)

    def _recreate(self, action: Recreate) -> ActionOutcome:
        deleted = self._deleted(action, action.node)
        if deleted.result is not Result.DONE or action.place is None:
            return deleted
        return ActionOutcome(action=action, result=Result.DEFERRED)

    def _once_gone(self, action: Recreate) -> ActionOutcome | None:
        """What making a VM again came to; None while the one before is there still."""
        if action.place is None or self._node(action.node.zone, action.node.name) is not None:
            return None
        return self._create(action, action.place)

    def _deleted(self, action: Action, seen: NodeSeen) -> ActionOutcome:
        node = self._node(seen.zone, seen.name)
        if node is None:
            return ActionOutcome(action=action, result=Result.DONE, text="it was gone already")
        if not _is_as_seen(node, seen):
            now = f"made {node.get('createTime')}, {node.get('state')}"
            return ActionOutcome(action=action, result=Result.CHANGED, text=f"it is not as it was listed: {now}")
        if (node.get("labels") or {}) != seen.labels:
            return ActionOutcome(action=action, result=Result.CHANGED, text="its labels were changed meanwhile")
        if seen.state not in DEAD and run_labels.read(seen.labels) is None and self._has_a_job(seen):
            return ActionOutcome(action=action, result=Result.CHANGED, text="a job began on it")
        try:
            request = self._nodes().delete(name=self._path(seen.zone, seen.name))
            self._asked(seen.zone, request, f"deleting {seen.name}")
        except GoogleError as error:
            if error.status != _GONE:
                raise
        return ActionOutcome(action=action, result=Result.DONE)

    def _create(self, action: Create | Recreate, place: SlotPlace) -> ActionOutcome:
        name = action.slot
        for zone in self._asked_first(name, place):
            node = None if zone in action.passed else self._node(zone, name)
            if node is not None and not any(each.zone == zone and _is_as_seen(node, each) for each in action.stuck):
                return ActionOutcome(action=action, result=Result.CHANGED, text=f"it stands in {zone}")
        for zone in sorted(action.passed):
            if self._stands_after_all(zone, name):
                return ActionOutcome(action=action, result=Result.CHANGED, text=f"it stands in {zone} after all")
        parent = f"projects/{self.desired.project}/locations/{place.zone}"
        request = self._nodes().create(parent=parent, nodeId=name, body=dict(place.node))
        try:
            operation = self._taken(request, f"creating {name} in {place.zone}")
        except GoogleError as error:
            if error.status == _EXISTS:
                return ActionOutcome(action=action, result=Result.DONE, text="it exists already")
            return self._not_created(action, place, str(error), tpu_api.trouble_of_answer(error.status, error.reason))
        failure = operation.get("error")
        if failure:
            code, text = int(failure.get("code", 0)), str(failure.get("message", ""))
            return self._not_created(action, place, text, tpu_api.trouble_of_operation(code, text))
        return ActionOutcome(action=action, result=Result.DONE, operation=str(operation.get("name", "")))

    def _stands_after_all(self, zone: str, name: str) -> bool:
        """Whether a zone that cannot be listed answers for one VM, which is not the one that Google took back."""
        if zone in self.troubles:
            return False
        with suppress(GoogleError):
            node = self._node(zone, name)
            return node is not None and node.get("state") not in GIVEN_BACK
        return False

    def _not_created(self, action: Create | Recreate, place: SlotPlace, text: str, trouble: Trouble) -> ActionOutcome:
        self.troubles.setdefault(self._key(action.slot, place), text)
        return ActionOutcome(action=action, result=Result.FAILED, text=text, trouble=trouble)

    def _remove_runner(self, action: RemoveRunner) -> ActionOutcome:
        """Once more it is asked whether it is offline: GitHub takes minutes to notice that one came back."""
        github = self._github()
        runner = github.runner(action.scope, action.name)
        if runner is not None and (runner.online or runner.id != action.id):
            return ActionOutcome(action=action, result=Result.CHANGED, text="it came online")
        if runner is not None:
            github.remove(action.scope, action.id)
        return ActionOutcome(action=action, result=Result.DONE)

    def _has_a_job(self, node: NodeSeen) -> bool:
        return self._listed.has_a_job(node, self._github(), self.desired.scopes, self.seen, self.memory, self.clock())

    def _github(self) -> GitHub:
        if self.github is None:
            raise GitHubError(NO_WAY)
        return self.github

    def _node(self, zone: str, name: str) -> Mapping[str, Any] | None:
        try:
            return self._asked(zone, self._nodes().get(name=self._path(zone, name)), f"looking up {name} in {zone}")
        except GoogleError as error:
            if error.status == _GONE:
                return None
            raise

    def _asked(self, zone: str, request: Any, doing: str) -> Mapping[str, Any]:
        """What a zone answers. One that does not is in trouble for the rest of the sweep."""
        try:
            return self._taken(request, doing)
        except GoogleError as error:
            if error.status is None or error.status >= _SERVER:
                self.troubles.setdefault(zone, str(error))
            raise

    def _taken(self, request: Any, doing: str) -> Mapping[str, Any]:
        until = self.began + ACTING_SECONDS
        return tpu_api.taken(request, doing, sleep=self.sleep, clock=self.clock, until=until)

    def _nodes(self) -> Any:
        return self.google.api(Api.TPU).projects().locations().nodes()

    def _path(self, zone: str, name: str) -> str:
        return f"projects/{self.desired.project}/locations/{zone}/nodes/{name}"


def _asks_google_alone(action: Action) -> bool:
    """Whether it makes a VM, or makes one again that no job can run on."""
    return isinstance(action, Create) or (isinstance(action, Recreate) and action.node.state in DEAD)


def _first_of_each_place_first(
    pool: ThreadPoolExecutor, do: Callable[[A], Came], actions: Iterable[A]
) -> Iterator[Came]:
    """Do them, several at once; one of each place before the others, which are left alone where that one fails."""
    firsts, others = dict[str, A](), []
    for action in actions:
        where = action.place.zone if isinstance(action, Create) else _zone(action)
        if firsts.setdefault(where, action) is not action:
            others.append(action)
    yield from pool.map(do, firsts.values())
    yield from pool.map(do, others)


def _is_as_seen(node: Mapping[str, Any], seen: NodeSeen) -> bool:
    """Whether a node is still the one that was seen, in the state that was seen."""
    return str(node.get("createTime", "")) == seen.created and node.get("state") == seen.state


def _zone(action: Action) -> str:
    """The zone of the VM that an action is about, empty for none."""
    match action:
        case Recreate() | Delete():
            return action.node.zone
        case _:
            return ""
