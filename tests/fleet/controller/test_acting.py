"""What each action asks once more, sends and comes to, by an API of VMs that answers what a test says."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import httplib2
import pytest
from googleapiclient.errors import HttpError

from infra.fleet.controller.act import ACTING_SECONDS, DELETE_SECONDS, Actor
from infra.fleet.controller.actions import (
    Action,
    Assign,
    Create,
    Delete,
    Drain,
    Recreate,
    RemoveRunner,
    Restart,
)
from infra.fleet.controller.events import Result
from infra.fleet.controller.keys import BackoffKey, NodeKey
from infra.fleet.controller.memory import EMPTY, VmMemory
from infra.fleet.controller.observed import NodeSeen, Observed, RunnerSeen, Trouble, unknown
from infra.fleet.controller.outcomes import ActionOutcome
from infra.model import bucket_names
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import (
    AWAY,
    HOME,
    START,
    V5E,
    Shelf,
    fleet,
    node,
    place,
    runner,
    seen,
    slot,
)

FLEET = fleet(slots=(slot(0, fallbacks=(place(AWAY),)), slot(1)))
VM, OTHER = (each.name for each in FLEET.slots)
MADE = "2026-11-21T10:00:00Z"
WHY: dict[str, Any] = {"rule": "r", "reason": "why"}
HERE = BackoffKey(HOME, V5E.name, CapacityKind.PREEMPTIBLE)


def refusal(status: int, text: str = "no") -> HttpError:
    return HttpError(httplib2.Response({"status": status}), f'{{"error": {{"message": "{text}"}}}}'.encode())


class Tpus:
    """The API of VMs: what stands, by zone and name; what a call is answered with in place of what it would be."""

    def __init__(self, *standing: NodeSeen, **answers: Any) -> None:
        self.nodes = {(each.zone, each.name): body(each) for each in standing}
        self.answers, self.calls = answers, []
        self.now, self.slept = 0.0, []

    def _itself(self, *_: object) -> Any:
        return self

    api = projects = locations = nodes_api = _itself

    def get(self, *, name: str) -> Any:
        def found() -> Any:
            if (known := self.nodes.get(self._key(name))) is None:
                raise refusal(404)
            return known

        return self._request("get", self._key(name), found)

    def delete(self, *, name: str) -> Any:
        return self._request("delete", self._key(name), dict)

    def list_next(self, request: Any, answer: Any) -> None:
        """A list has one page."""

    def create(self, *, parent: str, nodeId: str, body: Any) -> Any:  # noqa: N803
        sent = (parent.rpartition("/")[2], nodeId)
        assert parent == f"projects/a-lab/locations/{sent[0]}"
        assert body == {"acceleratorType": V5E.name}
        return self._request("create", sent, lambda: {"name": "operation-1"})

    def _request(self, verb: str, key: tuple[str, str], usual: Callable[[], Any]) -> Any:
        def execute(num_retries: int) -> Any:
            del num_retries
            self.calls.append((verb, *key))
            said = self.answers.get(f"{verb}_{key[0]}".replace("-", "_"), self.answers.get(verb))
            if isinstance(said, Exception):
                raise said
            return usual() if said is None else said

        return SimpleNamespace(execute=execute, http=SimpleNamespace(close=lambda: None))

    @staticmethod
    def _key(path: str) -> tuple[str, str]:
        _, project, _, zone, _, name = path.split("/")
        assert project == "a-lab"
        return zone, name

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def sent(self) -> Any:
        """The calls that change something."""
        return [each for each in self.calls if each[0] not in ("get", "list")]

    def list(self, *, parent: str, **_: Any) -> Any:
        zone = parent.rpartition("/")[2]
        there = [{**each, "name": name} for (where, name), each in self.nodes.items() if where == zone]
        return self._request("list", (zone, ""), lambda: {"nodes": there})


def body(of: NodeSeen) -> dict[str, Any]:
    return {"createTime": of.created, "state": of.state, "labels": dict(of.labels)}


class Hub:
    """GitHub with these runners."""

    def __init__(self, *runners: RunnerSeen) -> None:
        self.listed, self.removed = runners, []

    def sources(self, scopes: Any) -> Any:
        return {scope: (scope,) for scope in scopes}

    def runners(self, source: str) -> tuple[RunnerSeen, ...]:
        return tuple(each for each in self.listed if each.scope == source)

    def runner(self, scope: str, name: str) -> RunnerSeen | None:
        return next((each for each in self.listed if (each.scope, each.name) == (scope, name)), None)

    def remove(self, scope: str, number: int) -> None:
        self.removed.append((scope, number))


class Checked(Actor):
    def do(self, action: Action) -> ActionOutcome:
        outcome = super().do(action)
        assert outcome.action is action
        return outcome


def actor(tpus: Tpus, github: Any = None, **given: Any) -> Actor:
    google: Any = SimpleNamespace(api=lambda _: SimpleNamespace(projects=lambda: SimpleNamespace(
        locations=lambda: SimpleNamespace(nodes=lambda: tpus))))  # fmt: skip
    usual: dict[str, Any] = {"records": Shelf(), "desired": FLEET, "seen": seen(FLEET), "memory": EMPTY}
    return Checked(
        google=google, github=github, clock=lambda: tpus.now, sleep=tpus.sleep, began=0.0, **{**usual, **given}
    )


def create(name: str = VM, zone: str = HOME, **given: Any) -> Create:
    return Create(slot=name, place=place(zone), **WHY, **given)


def came(outcome: Any) -> tuple[Result, str]:
    return outcome.result, outcome.text


DEAD = node(VM, "PREEMPTED")


@pytest.mark.parametrize(
    ("now", "result", "text"),
    [
        (None, Result.DONE, "it was gone already"),
        (node(VM, "PREEMPTED", created="later"), Result.CHANGED, "it is not as it was listed: made later, PREEMPTED"),
        (node(VM, "READY"), Result.CHANGED, f"it is not as it was listed: made {MADE}, READY"),
        (node(VM, "PREEMPTED", labels={}), Result.CHANGED, "its labels were changed meanwhile"),
        (DEAD, Result.DONE, ""),
    ],
    ids=["gone", "made again", "another state", "another's", "as seen"],
)
def test_a_vm_is_deleted_only_while_it_is_the_one_that_was_seen(now: NodeSeen, result: Result, text: str) -> None:
    tpus = Tpus(*([now] if now else []))
    assert came(actor(tpus).do(Delete(node=DEAD, **WHY))) == (result, text)
    assert tpus.sent() == ([("delete", HOME, VM)] if now is DEAD else [])


@pytest.mark.parametrize(
    ("github", "result", "text"),
    [
        (Hub(runner(VM, busy=True)), Result.CHANGED, "a job began on it"),
        (Hub(runner(VM)), Result.DONE, ""),
        (None, Result.FAILED, "there is no broker and no token of GitHub"),
    ],
    ids=["busy", "idle", "nobody knows"],
)
def test_a_vm_that_lives_is_deleted_only_where_no_job_runs_on_it(github: Any, result: Result, text: str) -> None:
    tpus = Tpus(node(VM))
    assert came(actor(tpus, github).do(Delete(node=node(VM), **WHY))) == (result, text)
    assert bool(tpus.sent()) is (result is Result.DONE)


@pytest.mark.parametrize(
    ("answer", "result", "text", "trouble"),
    [
        (refusal(409), Result.DONE, "it exists already", None),
        (refusal(429, "There is no more capacity"), Result.FAILED,
         f"creating {VM} in {HOME} failed: There is no more capacity (429)", Trouble.STOCKOUT),
        (refusal(400), Result.FAILED, f"creating {VM} in {HOME} failed: no (400)", Trouble.REFUSED),
        (refusal(503), Result.FAILED, f"creating {VM} in {HOME} failed: no (503)", Trouble.OUTAGE),
        ({"error": {"code": 8, "message": "gone"}}, Result.FAILED, "gone", Trouble.STOCKOUT),
        ({"error": {"code": 8, "message": "Quota limit"}}, Result.FAILED, "Quota limit", Trouble.QUOTA),
        ({"error": {"code": 14}}, Result.FAILED, "", Trouble.OUTAGE),
        ({"error": {"message": "odd"}}, Result.FAILED, "odd", Trouble.REFUSED),
    ],
)  # fmt: skip
def test_a_create_that_fails_says_what_is_the_matter_and_keeps_others_from_its_place(
    answer: Any, result: Result, text: str, trouble: Trouble | None
) -> None:
    acting = actor(Tpus(create=answer))
    outcome = acting.do(create())
    assert (*came(outcome), outcome.trouble) == (result, text, trouble)
    assert acting.troubles == ({HERE: text} if trouble else {})
    if trouble:
        assert came(acting.do(create(OTHER))) == (Result.LEFT, f"{HERE} is in trouble: {text}")


@pytest.mark.parametrize(
    ("now", "made"),
    [({}, True), ({"state": "READY"}, False), ({"created": "later"}, False)],
    ids=["as seen", "alive again", "made again"],
)
def test_beside_a_stuck_vm_another_is_made_while_that_is_as_it_was_seen(now: dict[str, str], made: bool) -> None:
    stuck = node(VM, "DELETING", zone=AWAY)
    tpus = Tpus(node(VM, zone=AWAY, **{"state": "DELETING", **now}))
    outcome = actor(tpus).do(create(stuck=(stuck,)))
    assert came(outcome) == ((Result.DONE, "") if made else (Result.CHANGED, f"it stands in {AWAY}"))
    assert bool(tpus.sent()) is made


@pytest.mark.parametrize(
    ("asked", "tried", "listed"), [(False, False, False), (True, True, False), (True, False, True)]
)
def test_a_silent_zone_is_asked_first_only_where_the_vm_may_be_there(asked: bool, tried: bool, listed: bool) -> None:
    known = seen(FLEET)
    dark = Observed(zones={**known.zones, AWAY: unknown("503")}, nodes=known.nodes)
    there = {NodeKey(AWAY, VM): object()} if listed else {}
    memory: Any = SimpleNamespace(vms={VM: VmMemory(seen=START, tried={AWAY: START})} if tried else {}, nodes=there)
    tpus = Tpus(get=refusal(503))
    outcome = actor(tpus, seen=dark, memory=memory).do(create())
    assert (outcome.result is Result.DONE) is not asked
    assert (("get", AWAY, VM) in tpus.calls) is asked


@pytest.mark.parametrize(
    ("standing", "answers", "result", "text"),
    [
        ((node(VM, zone=AWAY),), {}, Result.CHANGED, f"it stands in {AWAY} after all"),
        ((node(VM, "PREEMPTED", zone=AWAY),), {}, Result.DONE, ""),
        ((node(OTHER, zone=AWAY),), {}, Result.DONE, ""),
        ((node(VM, zone=AWAY),), {"get_us_central1_a": refusal(503)}, Result.DONE, ""),
    ],
    ids=["stands", "taken back", "another", "silent"],
)
def test_a_zone_that_is_passed_over_is_asked_all_the_same_and_must_not_answer_with_the_vm(
    standing: tuple[NodeSeen, ...], answers: Any, result: Result, text: str
) -> None:
    acting = actor(Tpus(*standing, **answers))
    assert came(acting.do(create(passed=frozenset({AWAY})))) == (result, text)


def test_a_passed_zone_in_trouble_is_not_asked_and_keeps_nothing_from_being_made() -> None:
    tpus = Tpus(node(VM, zone=AWAY))
    acting = actor(tpus, troubles={AWAY: "503"})
    assert acting.do(create(passed=frozenset({AWAY}))).result is Result.DONE
    assert tpus.calls == [("create", HOME, VM)]
    assert came(acting.do(create())) == (Result.LEFT, f"{AWAY} is in trouble: 503"), "it must answer where it counts"


def again(name: str = VM) -> Recreate:
    return Recreate(slot=name, node=node(name, "PREEMPTED"), place=place(), **WHY)


def test_a_delete_that_takes_long_leaves_the_create_to_a_later_sweep() -> None:
    tpus = Tpus(DEAD)
    (outcome,) = actor(tpus).all([again()], lambda: "")
    assert came(outcome) == (Result.DEFERRED, "its delete takes long; it is made later")
    assert tpus.now == DELETE_SECONDS
    late = Tpus(DEAD)
    late.now = ACTING_SECONDS - 2.5
    assert [each.result for each in actor(late).all([again()], lambda: "")] == [Result.DEFERRED]
    assert late.slept == [1, 1.5]


@pytest.mark.parametrize(
    ("standing", "answers", "lost", "text"),
    [
        ((), {}, "the lease is lost", "the lease is lost"),
        ((), {"get": refusal(403)}, "", f"looking up {VM} in {HOME} failed: no (403)"),
        ((node(VM, zone=AWAY),), {}, "", f"it stands in {AWAY}"),
    ],
    ids=["lost", "refused", "elsewhere"],
)
def test_a_replacement_that_is_not_asked_for_is_left_to_a_later_sweep(
    standing: tuple[NodeSeen, ...], answers: Any, lost: str, text: str
) -> None:
    tpus = Tpus(*standing, **answers)
    with ThreadPoolExecutor(1) as pool:
        (outcome,) = actor(tpus)._made_again([again()], lambda: lost, pool)
    assert came(outcome) == (Result.DEFERRED, text)
    assert tpus.sent() == []


@pytest.mark.parametrize(
    ("there", "result", "removed"),
    [
        ((), Result.DONE, False),
        ((runner(VM, number=7, online=False),), Result.DONE, True),
        ((runner(VM, number=7),), Result.CHANGED, False),
    ],
    ids=["gone", "offline", "back"],
)
def test_a_runner_is_removed_only_while_it_is_offline(there: Any, result: Result, removed: bool) -> None:
    hub, gone = Hub(*there), runner(VM, number=7)
    outcome = actor(Tpus(), hub).do(RemoveRunner(scope=gone.scope, id=7, name=gone.name, **WHY))
    assert came(outcome) == (result, "it came online" if result is Result.CHANGED else "")
    assert hub.removed == ([(gone.scope, 7)] if removed else [])


@pytest.mark.parametrize(
    ("action", "written"),
    [
        (Drain(vm=VM, on=True, **WHY), {"drain": True}),
        (Drain(vm=VM, on=False, **WHY), {"drain": False}),
        (Restart(vm=VM, number=4, **WHY), {"restart": 4}),
        (Assign(vm=VM, region="r", image=None, bundle="b", **WHY), {"image": bucket_names.NO_IMAGE, "bundle": "b"}),
        (Assign(vm=VM, region="r", image="i@d", bundle=None, drained=True, **WHY), {"image": "i@d", "bundle": None}),
        (Assign(vm=VM, region="r", image="i@d", bundle="b", first=True, drained=True, **WHY),
         {"image": "i@d", "bundle": "b", "drain": True}),
        (Assign(vm=VM, region="r", image="i@d", bundle="b", first=True, **WHY),
         {"image": "i@d", "bundle": "b", "drain": False}),
    ],
)  # fmt: skip
def test_an_order_changes_what_it_says_and_nothing_else(action: Action, written: dict[str, Any]) -> None:
    before = {"version": 1, "image": "old", "bundle": "old", "restart": 3, "drain": "as it was"}
    records = Shelf({bucket_names.orders_object(VM): before})
    assert came(actor(Tpus(), records=records).do(action)) == (Result.DONE, "")
    assert records.bodies == {bucket_names.orders_object(VM): {**before, **written}}
    assert records.mends, "orders that cannot be read keep nobody from new ones"


@pytest.mark.parametrize(
    ("status", "result", "zone_in_trouble"),
    [(404, Result.DONE, False), (403, Result.FAILED, False), (499, Result.FAILED, False), (500, Result.FAILED, True)],
)
def test_a_refused_delete_is_told_and_only_a_zone_that_fails_is_left_alone(
    status: int, result: Result, zone_in_trouble: bool
) -> None:
    tpus = Tpus(DEAD, node(OTHER, "PREEMPTED"), delete=refusal(status))
    acting = actor(tpus)
    first = acting.do(Delete(node=DEAD, **WHY))
    said = f"deleting {VM} failed: no ({status})"
    assert came(first) == (result, "" if result is Result.DONE else said)
    for action in (Delete(node=node(OTHER, "PREEMPTED"), **WHY), create(OTHER)):
        left = acting.do(action)
        assert (came(left) == (Result.LEFT, f"{HOME} is in trouble: {said}")) is zone_in_trouble
    elsewhere = acting.do(Delete(node=node(OTHER, "PREEMPTED", zone=AWAY), **WHY))
    assert came(elsewhere) == (Result.DONE, "it was gone already"), "another zone is not concerned"
