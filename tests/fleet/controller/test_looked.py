"""What a sweep makes of the answers of its sources: each where it belongs, and a failure where it came from."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from infra.fleet.controller import observe
from infra.fleet.controller.github import GitHubError
from infra.fleet.controller.memory import EMPTY, Creating, ScopeMemory
from infra.fleet.controller.observe import Observer, pointed
from infra.fleet.controller.observed import KNOWN, CreateEnded, Observed, unknown
from infra.fleet.google import GoogleError
from infra.fleet.operator_requests import OperatorRequests
from infra.fleet.records import Newest
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.versions import AssignedVersion, PoolVersion
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import AWAY, HOME, START, fleet, node, nodes, place, runner, served

FLEET = fleet(2, fallbacks=(place(AWAY, CapacityKind.SPOT),), bundle="ab")
VM, OTHER = (each.name for each in FLEET.slots)
(SCOPE,) = FLEET.scopes
REQUESTS = OperatorRequests(lost={"us-east1-c": "ada"})
TARGETS = {"tpu-ci": PoolVersion(bundle="ab")}
TOLD = {VM: AssignedVersion("i", "b")}
REPORT = ReportSeen(vm=VM, pool="tpu-ci", phase=Phase.IDLE, at=START)
ENDED = CreateEnded(slot=VM, zone=HOME, trouble=None, text="")
ASKED = Creating(zone=HOME, capacity=CapacityKind.PREEMPTIBLE, at=START, operation="op")
MEMORY = replace(
    EMPTY,
    zones={"us-east1-c": START},
    creating={VM: ASKED, OTHER: replace(ASKED, zone=AWAY, operation="")},
    scopes={"tpu-ci": {SCOPE: ScopeMemory(until=START, declared=True), "orgs/old": ScopeMemory(until=START)}},
)
LEFT = replace(runner(VM, number=7), scope="orgs/old")
RUNNERS = tuple(replace(each, scope=SCOPE) for each in served(FLEET))


class Looking(Observer):
    """Sources that answer what a test says; one that fails raises it."""

    given: Any = None

    def _say(self, what: str, usual: Any) -> Any:
        said = type(self).given.get(what, usual)
        if isinstance(said, Exception):
            raise said
        return said

    def _zone(self, zone: str) -> Any:
        return self._say(f"zone {zone}", [each for each in nodes(FLEET) if each.zone == zone])

    def _ended(self, zone: str, creating: Any) -> Any:
        assert (zone, creating) == (HOME, {VM: ASKED}), "a create without operation has nothing to be asked for"
        return self._say("ended", [ENDED])

    def _runners(self, source: str) -> Any:
        return self._say(source, {SCOPE: RUNNERS, "orgs/old": (LEFT,)}.get(source, ()))

    def _requests(self, stack: str) -> Any:
        assert stack == "ci"
        return self._say("requests", Newest(value=REQUESTS))

    def _set_aside(self) -> Any:
        return self._say("copies", {})

    def _registered(self, stack: str) -> Any:
        assert stack == "ci"
        return self._say("registered", None)

    def _targets(self, desired: Any) -> Any:
        assert desired is FLEET
        return self._say("targets", TARGETS)

    def _told(self, desired: Any, memory: Any) -> Any:
        assert (desired, memory) == (FLEET, MEMORY)
        return self._say("told", TOLD)

    def _reports(self, asked: Any, proofs: Any) -> Any:
        assert proofs.stack == "ci"
        found = {each.name: REPORT for each in asked if each.name == VM}
        return self._say("reports", (found, ""))


HUB: Any = SimpleNamespace(sources=lambda scopes: {each: (each,) for each in scopes})


def look(github: Any = None, **given: Any) -> Observed:
    kind = type("Looks", (Looking,), {"given": {key.replace("_", " "): each for key, each in given.items()} | given})
    observer = kind(project="a-lab", bucket="b", endpoint=None, github=github or HUB)
    return observer.observe(FLEET, MEMORY)


WHOLE = Observed(
    zones=dict.fromkeys((AWAY, "us-east1-c", HOME), KNOWN),
    nodes=nodes(FLEET),
    ended=(ENDED,),
    operations={HOME: KNOWN},
    scopes={SCOPE: KNOWN},
    left={"orgs/old": KNOWN},
    runners=(*RUNNERS, replace(LEFT, left=True)),
    requests=REQUESTS,
    targets=TARGETS,
    told=TOLD,
)


def test_every_answer_has_its_place() -> None:
    assert replace(look(), reports={}) == WHOLE


NO = GoogleError("asking", "no")
DARK = unknown("asking failed: no")


@pytest.mark.parametrize(
    ("what", "changed"),
    [
        (f"zone {AWAY}", {"zones": {**WHOLE.zones, AWAY: DARK}}),
        (f"zone {HOME}", {"zones": {**WHOLE.zones, HOME: DARK}, "nodes": ()}),
        ("ended", {"operations": {HOME: DARK}, "ended": ()}),
        ("requests", {"requests": OperatorRequests(), "requests_source": DARK}),
        ("targets", {"targets": None, "targets_source": DARK}),
        ("told", {"told": {}, "told_source": DARK}),
        ("orgs/old", {"left": {"orgs/old": DARK}, "runners": RUNNERS}),
        ("reports", {"reports_source": DARK}),
    ],
)
def test_a_source_that_fails_is_unknown_and_changes_nothing_else(what: str, changed: dict[str, Any]) -> None:
    assert replace(look(**{what: NO}), reports={}) == replace(WHOLE, **changed)


def test_the_last_requests_that_can_be_read_hold_and_what_cannot_be_is_told() -> None:
    damaged = Newest(value=REQUESTS, generation=2, unreadable="it is not JSON", fix="cp it")
    found = look(requests=damaged, copies={"control/ci/memory.json": "look at them"})
    assert (found.requests, found.requests_source) == (REQUESTS, KNOWN)
    assert found.unreadable == {
        "control/ci/memory.json": "look at them",
        "control/ci/wishes.json": "the last requests that can be read hold: it is not JSON. Fix: cp it",
    }
    none = look(requests=replace(damaged, value=None))
    assert (none.requests, none.requests_source) == (OperatorRequests(), unknown("it is not JSON. Fix: cp it"))


def test_a_scope_that_fails_is_unknown_and_github_where_no_other_answers() -> None:
    found = look(**{SCOPE: GitHubError("503")})
    assert (found.scopes, found.runners) == ({SCOPE: unknown("503")}, (replace(LEFT, left=True),))
    assert found.github == unknown(f"{SCOPE}: 503")


def test_a_report_is_asked_of_whoever_has_no_runner_online() -> None:
    assert look(**{SCOPE: RUNNERS[1:], "orgs/old": ()}).reports == {VM: REPORT}
    failing = look(**{SCOPE: RUNNERS[1:], "reports": ({VM: REPORT}, "one cannot be read")})
    assert failing.reports == {VM: REPORT}
    assert failing.reports_source == unknown("one cannot be read")


def test_a_report_is_asked_of_a_vm_that_may_stand_in_a_silent_zone() -> None:
    for listed, reports in ((NO, {VM: REPORT}), ([], {})):
        assert look(**{f"zone {HOME}": listed, SCOPE: (), "orgs/old": ()}).reports == reports


@pytest.mark.parametrize("hanging", [f"zone {HOME}", "orgs/new"])
def test_a_source_that_hangs_holds_nothing_up_and_what_waits_behind_it_is_never_asked(hanging: str) -> None:
    let_go, over, asked = threading.Event(), [], []

    class Hanging(Looking):
        given = {}  # noqa: RUF012

        def _say(self, what: str, usual: Any) -> Any:
            asked.append(what)
            if what == hanging:
                over.append(let_go.wait(10))
            return usual

    two = {"tpu-ci": {each: ScopeMemory(until=START) for each in (SCOPE, "orgs/new", "orgs/old")}}
    memory = replace(MEMORY, scopes=two)
    Hanging._told = lambda self, desired, memory: TOLD
    sweep = Hanging(project="a-lab", bucket="b", endpoint=None, github=HUB, deadline=0.2)
    sweep.observe(FLEET, memory)
    assert over == [], "the sweep has waited for it"
    let_go.set()
    for each in threading.enumerate():
        if each.name.startswith("observe"):
            each.join()
    assert ("orgs/old" in asked) == (hanging != "orgs/new")


def test_each_call_of_a_sweep_is_about_its_project_and_has_a_sweeps_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(observe, "clients", lambda *given, **more: calls.append((given, more)))
    Observer(project="a-lab", bucket="b", endpoint="http://there", github=None)._google()
    assert calls == [(("a-lab", "http://there"), {"hurried": True, "seconds": observe.CALL_SECONDS})]


def test_an_answer_of_another_shape_is_unknown_by_its_mistake() -> None:
    found = look(requests=KeyError("drains"))
    assert found.requests_source == unknown("its answer has another shape: KeyError 'drains'")


def test_what_a_pool_shall_run_is_the_pointers_images_with_the_manifests_bundle() -> None:
    for pointer, images in (
        (None, {}),
        ({"images": None}, {}),
        ({"images": {"other": {"r": "i"}}}, {}),
        ({"images": {"tpu-ci": {"us-west4": "i@d"}}}, {"us-west4": "i@d"}),
    ):
        assert pointed(pointer, FLEET) == {"tpu-ci": PoolVersion(images=images, bundle="ab")}


def test_where_no_runner_is_looked_for_a_vm_of_a_strange_pool_may_have_one() -> None:
    strange = node("old-us-west4-a-0", labels={**nodes(FLEET)[0].labels, "tidepool-pool": "old"})
    silent = replace(FLEET, slots=tuple(replace(each, serves=()) for each in FLEET.slots))

    def github(*standing: Any, memory: Any = EMPTY) -> Any:
        class Silent(Looking):
            given = {f"zone {HOME}": list(standing), "ended": []}  # noqa: RUF012

            def _told(self, desired: Any, memory: Any) -> Any:
                return {}

            def _targets(self, desired: Any) -> Any:
                return {}

        return Silent(project="a-lab", bucket="b", endpoint=None, github=HUB).observe(silent, memory).github

    assert github() == KNOWN
    assert github(replace(strange, state="PREEMPTED")) == KNOWN
    assert github(replace(strange, labels={})) == KNOWN
    assert github(nodes(FLEET)[0]) == KNOWN
    ended = replace(MEMORY, scopes={"old": {}}, creating={}, zones={})
    assert github(strange, memory=ended) == KNOWN, "no repository of it is watched any more"
    assert github(strange) == unknown(
        "nobody knows with which repository runners of pool old are registered; "
        "declare the pool, or delete its VMs by hand once they have no job"
    )


def test_where_memory_forgot_it_runners_are_looked_for_wherever_the_broker_registered_them() -> None:
    found = look(registered=frozenset({SCOPE, "orgs/before"}))
    assert found.left == {"orgs/old": KNOWN, "orgs/before": KNOWN}


def test_a_source_of_several_scopes_that_fails_is_asked_for_each() -> None:
    both = SimpleNamespace(sources=lambda scopes: {"all": (*scopes, "orgs/more")})
    found = look(both, **{"all": GitHubError("too many"), "orgs/more": GitHubError("404")})
    assert (found.scopes, found.github) == ({SCOPE: KNOWN, "orgs/more": unknown("404")}, KNOWN)
    assert found.runners == WHOLE.runners
