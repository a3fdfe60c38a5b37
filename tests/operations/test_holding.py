"""In which order `up` declares, waits, drains and holds the lease around its phases."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from infra.fleet.arriving import Leaving
from infra.operations.declared.stack_file import Declared
from infra.operations.stacks import holding
from infra.operations.stacks.holding import NOTHING_TAKEN, Holding
from tests.fleet.test_arriving import NOW, fleet, seen, slot
from tests.model.given import parse, stack_text

WANTED = Declared(config=parse(stack_text()), registry=None, bounds=())
LEAVING, STAYING = ["old-0"], ["old-1"]


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a hold does, in order: it waits, drains, declares, and takes and gives the lease."""
    found: list[Any] = []

    def block(name: str) -> Any:
        @contextmanager
        def entered(*_: object, state: str, **__: object) -> Generator[None]:
            assert state == NOTHING_TAKEN, "what is said where it fails"
            found.append(name)
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


@dataclass
class Fleet:
    """One pool in which `new` was just made; `sick` too, and neither ever serves. A pause moves its clock."""

    now: datetime = NOW
    said: list[str] = field(default_factory=list)

    @property
    def place(self) -> Any:
        return SimpleNamespace(clock=lambda: self.now)

    @property
    def session(self) -> Any:
        return SimpleNamespace(say=lambda text, *_: self.said.append(text))

    def look(self) -> Any:
        desired = fleet(*map(slot, ("old-0", "old-1", "sick", "new")))
        observed = seen("old-0", "old-1", "sick", "new", online=("old-0", "old-1"), new=("sick", "new"))
        return SimpleNamespace(desired=desired, observed=observed)

    def pause(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("brings", "minutes", "first"),
    [
        ((), 0, None),
        (("new",), 20, "waiting until 1 VM (new) serves: 0 of 20 minutes at most; --no-drain skips this"),
        (("sick", "new"), 20, "waiting until 2 VMs (new, sick) serve: 0 of 20 minutes at most; --no-drain skips this"),
    ],
    ids=["a scale-down", "a VM more", "both of them"],
)
def test_only_what_the_edit_brings_is_waited_for(brings: tuple[str, ...], minutes: int, first: str | None) -> None:
    world = Fleet()
    holding._wait_for_new(cast(Any, world), Leaving(frozenset({"old-0"})), frozenset(brings), NOTHING_TAKEN)
    assert world.now - NOW == timedelta(minutes=minutes)
    waits = [each for each in world.said if each.startswith("waiting")]
    assert len(waits) == minutes, "progress once a minute"
    assert waits[:1] == ([first] if first else [])
