"""In which order `up` declares, waits, drains and holds the lease around its phases."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from infra.fleet.controller.observed import DrainWish
from infra.operations.fleet import drained
from infra.operations.stacks import holding
from infra.operations.stacks.declared import Declared
from infra.operations.stacks.holding import NOTHING_TAKEN, Holding
from tests.fleet.controller.given_fleet import AWAY, START, fleet, node, place, seen
from tests.model.given import parse, stack_text

WANTED = Declared(config=parse(stack_text()), registry=None, bounds=())
LEAVING, STAYING = ["old-0"], ["old-1"]


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a hold does, in order: it waits, drains, declares, and takes and gives the lease."""
    found: list[Any] = []

    def block(name: str) -> Any:
        @contextmanager
        def entered(*_: object, state: str, returning: Sequence[str] = (), **__: object) -> Generator[None]:
            assert state == NOTHING_TAKEN, "what is said where it fails"
            found.append(" ".join((name, *returning)))
            yield
            found.append(f"no {name}")

        return entered

    monkeypatch.setattr(holding, "leased", block("lease"))
    monkeypatch.setattr(holding, "drained_before", block("drain"))
    monkeypatch.setattr(holding, "declared_place", lambda *_: None)
    monkeypatch.setattr(holding, "declared", lambda _: WANTED)
    monkeypatch.setattr(holding, "_wait_for_new", lambda *_: found.append("wait"))
    monkeypatch.setattr(holding, "declare_both", lambda _, __, kept, **___: found.append(sorted(kept)))
    return found


def hold() -> Holding:
    return Holding(wanted=WANTED, session=cast(Any, SimpleNamespace(endpoint=None)), drains=True)


def test_what_was_just_made_is_declared_with_its_bundle_before_it_is_waited_for(done: list[Any]) -> None:
    with hold()(leaving=LEAVING, staying=STAYING, begun=True):
        done.append("work")
    first = ["lease", [*LEAVING, *STAYING], "no lease", "wait", "drain", "lease"]
    assert done == [*first, STAYING, "work", "no lease", "no drain"]


def test_what_stays_alone_is_declared_once(done: list[Any]) -> None:
    with hold()(leaving=[], staying=STAYING, begun=True):
        done.append("work")
    assert done == ["lease", STAYING, "work", "no lease"]


def test_which_vms_go_at_a_fallback_alone_is_handed_on_to_the_drain(done: list[Any]) -> None:
    with hold()(leaving=LEAVING, staying=[], begun=True, returning=LEAVING):
        done.append("work")
    assert "drain old-0" in done


def test_a_vm_that_goes_at_a_fallback_alone_is_drained_and_waited_for_there(monkeypatch: pytest.MonkeyPatch) -> None:
    desired = fleet(2, fallbacks=(place(AWAY),))
    goes, other = (slot.name for slot in desired.slots)
    observed = seen(desired, nodes=(node(goes), node(goes, zone=AWAY), node(other)))
    scene = SimpleNamespace(desired=desired, observed=observed, manifest={}, problems=())
    wished: list[DrainWish] = []
    waited: list[dict[str, str]] = []
    monkeypatch.setattr(drained, "begin", lambda _, own, *__, **___: wished.extend(own))
    monkeypatch.setattr(drained, "wait_for_jobs", lambda _, __, ___, zones: waited.append(zones) or ())
    for name in ("_ended_meanwhile", "_end"):
        monkeypatch.setattr(drained, name, lambda *_: ())
    session, at = SimpleNamespace(say=lambda _: None), SimpleNamespace(clock=lambda: START)
    lab = cast(Any, SimpleNamespace(look=lambda: scene, session=session, place=at))
    with drained.drained_before(lab, {goes, other}, "up", returning={goes}):
        pass
    assert {wish.subject: wish.zone for wish in wished} == waited[0] == {goes: AWAY, other: ""}
