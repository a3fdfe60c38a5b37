"""Which of what is left ends by itself soon, and which stands until a person, or a day that is far, ends it."""

from __future__ import annotations

from datetime import UTC, datetime

from infra.fleet.controller.actions import Drain, RemoveRunner, verb
from infra.fleet.controller.desired import ControllerSettings
from infra.model.schema import Freeze
from tests.fleet.controller.given_fleet import (
    START,
    fleet,
    minutes,
    node,
    nodes,
    seen,
    sweeps,
)


def window(to: str) -> Freeze:
    return Freeze.model_validate({"name": "deadline", "from": "2026-11-20", "to": to, "time_zone": "UTC"})


def test_what_a_freeze_window_holds_says_until_when_and_stands_where_that_is_far() -> None:
    desired = fleet(3, freezes=(window("2027-01-03"),))
    orphan = node("tpu-ci-us-west4-a-9")
    decisions = sweeps(desired, seen(desired, nodes=(*nodes(desired), orphan)), 8)
    assert not any(decision.at_rest for decision in decisions[:5]), "the grace time is waited for first"
    (held,) = decisions[-1].held
    assert (verb(held.action), held.why) == ("delete", "freeze window deadline")
    assert held.until == datetime(2027, 1, 4, tzinfo=UTC)
    assert decisions[-1].at_rest


def test_a_cap_of_replacements_says_when_the_next_may_be() -> None:
    desired = fleet(4, settings=ControllerSettings(replacements=1))
    memory = sweeps(desired, seen(desired, nodes=nodes(desired, s0="FAILED")), 1)[-1].memory
    lost = seen(desired, nodes=nodes(desired, s1="FAILED"))
    decisions = sweeps(desired, lost, 8, memory=memory, start=START + minutes(2))
    (held,) = decisions[-1].held
    assert held.until == START + minutes(60)
    assert not decisions[-1].at_rest


def test_people_read_what_the_table_says() -> None:
    ghost = RemoveRunner(scope="repos/a/b", id=1, name="x", rule="runner-ghost", reason="")
    assert verb(ghost) == "remove"
    assert [verb(Drain(vm="x", on=on, rule="", reason="")) for on in (True, False)] == ["drain", "end drain"]
