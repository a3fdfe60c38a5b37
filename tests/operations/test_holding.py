"""In which order `up` declares, waits, drains and holds the lease around its phases."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from infra.operations.declared.stack_file import Declared
from infra.operations.stacks import holding
from infra.operations.stacks.holding import NOTHING_TAKEN, Holding
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
