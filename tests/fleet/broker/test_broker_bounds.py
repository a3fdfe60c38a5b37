"""Each limit of the broker on both of its sides, and what it remembers, without a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from infra.fleet.broker import fleet as fleets
from infra.fleet.broker.bindings import REMOVALS, Bindings
from infra.fleet.broker.decide import (
    A_TURN,
    AN_HOUR,
    APART,
    Binding,
    Claims,
    DeclaredFleet,
    Instance,
    NodeLife,
    ObservedNode,
    RegistrationRequest,
    Slot,
    admitted,
    entitled,
    named,
    standing,
)
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.broker.registration import PATIENCE
from infra.fleet.google import HURRIED_RETRIES, HURRIED_SECONDS
from infra.model import bucket_names
from tests.fleet.controller.given_fleet import Shelf

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def refusal(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


# Who may speak for a slot


def slot(vm: str = "a-z-0", **fields: Any) -> Slot:
    usual: dict[str, Any] = {"pool": "a", "account": "a@x", "zones": ("z", "y"), "labels": (), "scope": "orgs/o"}
    return Slot(vm=vm, group=None, **usual | fields)


def claims(token: str = "t", instance: Instance | None = None, *, email: str = "a@x", at: datetime = NOW) -> Claims:
    return Claims(email=email, fingerprint=token, issued=at, expires=at + HOUR, instance=instance)


def fleet(*slots: Slot, drained: frozenset[str] = frozenset()) -> DeclaredFleet:
    return DeclaredFleet(stack="ci", slots={each.vm: each for each in slots}, drained=drained)


def test_a_fleet_names_where_its_runners_are_and_whose_jobs_they_take() -> None:
    found = fleet(
        slot("a-z-0", scope="orgs/b", serves=("b/one", "a/two")),
        slot("a-z-1", scope="orgs/a", serves=("a/two",)),
        slot("a-z-2", scope=None, serves=("c/none",)),
    )
    assert found.scopes == ("orgs/a", "orgs/b")
    assert found.repositories == ("a/two", "b/one")


@pytest.mark.parametrize(
    ("vm", "could"),
    [
        ("a-z-0", True),
        ("a-z-7", True),
        ("a-y-7", True),
        ("a-x-7", False),
        ("b-z-7", False),
        ("a-z-x", False),
        ("a-z", False),
    ],
)
def test_a_vm_could_have_been_declared_where_its_pool_has_a_zone(vm: str, could: bool) -> None:
    assert fleet(slot("a-z-0"), slot("c-z-0", pool="c")).could_have(vm) is could


REQUEST = RegistrationRequest(stack="ci", vm="a-z-0", pool="a")


@pytest.mark.parametrize(
    ("request_", "token", "of", "reason"),
    [
        (replace(REQUEST, stack="x", vm="?"), claims(email="?"), fleet(), Reason.FOREIGN_STACK),
        (replace(REQUEST, vm="?"), claims(email="?"), fleet(slot()), Reason.UNKNOWN_ACCOUNT),
        (replace(REQUEST, vm="?"), claims(), fleet(slot()), Reason.UNKNOWN_VM),
        (replace(REQUEST, pool="?"), claims(), fleet(slot()), Reason.WRONG_POOL),
        (REQUEST, claims(email="b@x"), fleet(slot(), slot("b", account="b@x")), Reason.WRONG_ACCOUNT),
        (REQUEST, claims(instance=Instance(id="1", zone="x")), fleet(slot()), Reason.WRONG_ZONE),
        (REQUEST, claims(), fleet(slot(scope=None), drained=frozenset({"a-z-0"})), Reason.DRAINING),
        (REQUEST, claims(), fleet(slot(scope=None), drained=frozenset({"a"})), Reason.DRAINING),
        (REQUEST, claims(), fleet(slot(scope=None)), Reason.NO_HOME),
    ],
)
def test_each_question_is_asked_in_its_turn(
    request_: RegistrationRequest, token: Claims, of: DeclaredFleet, reason: Reason
) -> None:
    assert refusal(lambda: entitled(request_, token, of)).reason is reason


@pytest.mark.parametrize(("letters", "fits"), [(57, True), (58, False)])
def test_a_vms_name_leaves_room_for_the_number_of_its_runner(letters: int, fits: bool) -> None:
    vm = "a" * letters
    request = RegistrationRequest(stack="ci", vm=vm, pool="a")
    if fits:
        assert entitled(request, claims(), fleet(slot(vm))).vm == vm
    else:
        assert refusal(lambda: entitled(request, claims(), fleet(slot(vm)))).reason is Reason.UNNAMEABLE


FIRST, SECOND_LIFE = NodeLife("1", "2026-11-21T07:00:00Z"), NodeLife("2", "2026-11-21T07:30:00Z")
OURS = {"tidepool-stack": "ci", "tidepool-pool": "a"}


NODE = ObservedNode(zone="z", state="READY", life=FIRST, labels=OURS)


@pytest.mark.parametrize(
    ("node", "reason", "detail"),
    [
        (None, Reason.ABSENT, ""),
        (replace(NODE, state="CREATING"), Reason.NOT_READY, "it is CREATING"),
        (replace(NODE, labels={}), Reason.UNMANAGED, ""),
        (replace(NODE, labels={**OURS, "tidepool-pool": "b"}), Reason.UNMANAGED, ""),
        (replace(NODE, labels={**OURS, "tidepool-stack": "x"}), Reason.UNMANAGED, ""),
        (replace(NODE, zone="y"), Reason.WRONG_ZONE, "z, and the VM is in y"),
    ],
)
def test_what_is_not_the_declared_vm_is_refused(node: ObservedNode | None, reason: Reason, detail: str) -> None:
    token = claims(instance=Instance(id="1", zone="z"))
    found = refusal(lambda: standing(REQUEST, token, node))
    assert (found.reason, found.detail) == (reason, detail)


# How often, and which machine


def binding(*asked: datetime, **fields: Any) -> Binding:
    usual: dict[str, Any] = {"life": FIRST, "instance": None, "since": NOW, "asked": asked}
    return Binding(**usual | fields)


def test_a_request_too_soon_is_told_the_second_after_it_may_come() -> None:
    for since, again in ((timedelta(0), 41), (SECOND * 39, 2), (APART - timedelta(milliseconds=400), 1)):
        found = refusal(lambda since=since: admitted(claims(), NODE, binding(NOW - since), now=NOW))
        assert (found.reason, found.again) == (Reason.TOO_OFTEN, again)
    assert admitted(claims(), NODE, binding(NOW - APART), now=NOW).asked == (NOW - APART, NOW)


def test_the_hours_last_request_is_told_when_the_first_is_an_hour_ago() -> None:
    asked = tuple(NOW - HOUR + SECOND * (10 + 50 * number) for number in range(AN_HOUR))
    found = refusal(lambda: admitted(claims(), NODE, binding(*asked), now=NOW))
    assert (found.reason, found.again) == (Reason.TOO_OFTEN, 11)
    assert len(admitted(claims(), NODE, binding(*asked[1:]), now=NOW).asked) == AN_HOUR
    later = NOW + SECOND * 10
    assert admitted(claims(), NODE, binding(*asked), now=later).asked == (*asked[1:], later)


def test_a_used_token_is_forgotten_an_hour_after_it_ends() -> None:
    used = {"old": NOW - HOUR, "kept": NOW - HOUR + SECOND}
    found = admitted(claims("new"), NODE, binding(used=used), now=NOW)
    assert found.used == {"kept": NOW - HOUR + SECOND, "new": NOW + HOUR}
    assert refusal(lambda: admitted(claims("kept"), NODE, found, now=NOW + APART)).reason is Reason.REPLAYED


def test_a_machine_is_bound_to_a_life_of_its_vm_and_what_was_known_stays_known() -> None:
    first = admitted(claims("a", Instance(id="1", zone="z")), NODE, None, now=NOW)
    assert (first.life, first.instance, first.since, first.runner) == (FIRST, "1", NOW, None)
    later = NOW + APART
    other = claims("b", Instance(id="2", zone="z"))
    found = refusal(lambda: admitted(other, NODE, first, now=later))
    assert (found.reason, found.detail) == (Reason.OTHER_INSTANCE, f"bound to 1 since {NOW.isoformat()}")
    assert refusal(lambda: admitted(claims("b"), NODE, first, now=later)).reason is Reason.OTHER_INSTANCE
    again = replace(NODE, life=SECOND_LIFE)
    held = named(first, first, runner="a-z-0-000001", scope="orgs/o")
    anew = admitted(other, again, held, now=NOW + SECOND)
    assert (anew.life, anew.instance, anew.since, anew.asked) == (SECOND_LIFE, "2", NOW + SECOND, (NOW + SECOND,))
    assert (anew.runner, anew.scope, set(anew.used)) == ("a-z-0-000001", "orgs/o", {"a", "b"})


def test_a_binding_without_a_machine_takes_the_first_that_a_token_names() -> None:
    first = admitted(claims("a"), NODE, None, now=NOW)
    found = admitted(claims("b", Instance(id="2", zone="z")), NODE, first, now=NOW + APART)
    assert (first.instance, found.instance, found.since) == (None, "2", NOW)


def test_a_runner_is_named_in_the_record_as_it_is_now() -> None:
    asked = (NOW - HOUR, NOW)
    admission = binding(*asked)
    now = binding(*asked, instance="7")
    assert named(now, admission, runner="r", scope=None) == binding(*asked, instance="7", runner="r")
    assert named(binding(NOW), admission, runner="r", scope=None) == binding(NOW, runner="r")
    for other in (None, binding(), binding(*asked, NOW + SECOND)):
        found = refusal(lambda other=other: named(other, admission, runner="r", scope=None))
        assert (found.reason, found.detail) == (Reason.TOO_OFTEN, "another request of this VM came in between")


def test_a_registration_is_over_before_the_next_may_begin() -> None:
    """Two at once for one VM would take back one another's runners. A record takes three calls to write."""
    writing, clocks_differ = HURRIED_SECONDS * (1 + HURRIED_RETRIES), 5
    assert timedelta(seconds=PATIENCE + writing + clocks_differ) <= APART


def test_nobody_who_was_counted_is_told_to_come_before_his_turn() -> None:
    sooner = {reason for reason in Reason if reason.again and timedelta(seconds=reason.again) < A_TURN}
    assert sooner == {Reason.CROWDED, Reason.ABSENT, Reason.NOT_READY}, "refused before anything is counted"


# What is remembered


@pytest.fixture
def kept() -> Shelf:
    return Shelf()


@pytest.fixture
def bindings(kept: Shelf) -> Bindings:
    records: Any = kept
    return Bindings(records=records, stack="ci")


def test_a_binding_is_read_as_it_was_written(bindings: Bindings, kept: Shelf) -> None:
    first = binding(NOW, instance="7", runner="r", scope="orgs/o", used={"t": NOW + HOUR})
    seen: list[Binding | None] = []
    assert bindings.update("a-z-0", lambda held: seen.append(held) or first) == first
    assert bindings.update("a-z-0", lambda held: seen.append(held) or binding()) == binding()
    assert seen == [None, first]
    assert kept.bodies == {
        "broker/ci/a-z-0.json": {
            "version": 1,
            "stack": "ci",
            "vm": "a-z-0",
            "life": "1 2026-11-21T07:00:00Z",
            "instance": None,
            "since": "2026-11-21T08:00:00+00:00",
            "runner": None,
            "scope": None,
            "asked": [],
            "used": {},
        }
    }


def test_a_vm_is_known_by_a_record_of_its_own(bindings: Bindings, kept: Shelf) -> None:
    bindings.update("a-z-0", lambda _: binding())
    kept.bodies["broker/ci/b-z-0.json"] = {"vm": "a-z-0"}
    assert [bindings.knows(vm) for vm in ("a-z-0", "b-z-0", "c-z-0")] == [True, False, False]


def test_a_machine_is_one_vms_for_ever(bindings: Bindings, kept: Shelf) -> None:
    bindings.claim("7", "a-z-0")
    bindings.claim("7", "a-z-0")
    found = refusal(lambda: bindings.claim("7", "a-z-1"))
    assert (found.reason, found.detail) == (Reason.OTHER_SLOT, "instance 7 is a-z-0")
    assert kept.bodies == {"broker/ci/instances/7.json": {"version": 1, "stack": "ci", "vm": "a-z-0"}}


def test_a_token_without_a_machine_serves_one_vm_and_is_forgotten_an_hour_after_it_ends(
    bindings: Bindings, kept: Shelf
) -> None:
    bindings.spend(claims("ab1"), "a-z-0", NOW)
    bindings.spend(claims("ab1"), "a-z-0", NOW)
    found = refusal(lambda: bindings.spend(claims("ab1"), "a-z-1", NOW))
    assert (found.reason, found.detail) == (Reason.REPLAYED, "a-z-0 used it")
    end = NOW + 2 * HOUR
    bindings.spend(claims("ab2", at=end), "a-z-1", end - SECOND)
    assert set(kept.bodies["broker/ci/used/ab.json"]["tokens"]) == {"ab1", "ab2"}
    bindings.spend(claims("ab3", at=end), "a-z-1", end)
    assert kept.bodies["broker/ci/used/ab.json"]["tokens"] == {
        token: {"vm": "a-z-1", "ends": (end + HOUR).isoformat()} for token in ("ab2", "ab3")
    }


def test_places_of_runners_are_remembered_sorted_and_once(bindings: Bindings, kept: Shelf) -> None:
    assert bindings.scopes() is None
    for scope in ("orgs/b", "orgs/a", "orgs/b"):
        bindings.note_scope(scope)
    assert bindings.scopes() == {"orgs/a", "orgs/b"}
    assert kept.bodies[bucket_names.scopes_object("ci")] == {
        "version": 1,
        "stack": "ci",
        "scopes": ["orgs/a", "orgs/b"],
    }


def test_so_many_removals_a_minute_are_done_and_the_next_is_told_when(bindings: Bindings, kept: Shelf) -> None:
    for number in range(REMOVALS):
        bindings.count_removal(NOW + SECOND * number)
    found = refusal(lambda: bindings.count_removal(NOW + SECOND * 50))
    assert (found.reason, found.again) == (Reason.TOO_OFTEN, 11)
    bindings.count_removal(NOW + SECOND * 60)
    found = refusal(lambda: bindings.count_removal(NOW + SECOND * 60))
    assert found.again == 2
    bindings.count_removal(NOW - SECOND)
    assert set(kept.bodies) == {bucket_names.removals_object("ci")}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"version": 2, "stack": "ci", "vm": "a"}, "version: Input should be 1"),
        ({"version": 1, "stack": "ci"}, "vm: Field required"),
    ],
)
def test_a_record_that_cannot_be_read_is_named_with_what_is_wrong(
    bindings: Bindings, kept: Shelf, body: dict[str, Any], said: str
) -> None:
    kept.bodies["broker/ci/instances/7.json"] = body
    found = refusal(lambda: bindings.claim("7", "a-z-0"))
    assert (found.reason, found.detail) == (Reason.BAD_RECORD, f"broker/ci/instances/7.json: {said}")


def test_an_unreadable_list_of_places_is_named(bindings: Bindings, kept: Shelf) -> None:
    kept.bodies[bucket_names.scopes_object("ci")] = {"version": 1, "stack": "ci"}
    assert refusal(bindings.scopes).detail == f"{bucket_names.scopes_object('ci')}: scopes: Field required"


# Where a runner registers


@pytest.mark.parametrize(
    ("serves", "groups", "home"),
    [
        ([], {}, (None, None)),
        (["lab/a", "lab/b"], {}, ("repos/lab/b", None)),
        (["Lab/a", "lab/b"], {"member": "g"}, ("orgs/Lab", "g")),
        (["lab/a", "other/a"], {"member": "g"}, (None, None)),
        (["lab/a"], {"fork": "g"}, (None, None)),
    ],
)
def test_a_runner_registers_in_its_repository_or_in_the_group_of_its_trust(
    serves: list[str], groups: dict[str, str], home: tuple[str | None, str | None]
) -> None:
    assert fleets._home({"serves": serves, "index": 1, "trust": "member"}, groups) == home
