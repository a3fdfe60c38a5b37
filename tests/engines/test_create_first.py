"""What is new is made, and serves, before what goes is drained; whatever ends an apply, the next one goes on."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from bench.cloud.testing import TestCloud
from tests.engines.phase_world import Pool, Stack, declared, nothing_runs, stack_at

pytestmark = pytest.mark.usefixtures("cheap_keys")

SPOT = "spot"
OLD = {"a": Pool(size=2, kind=SPOT)}
MOVED = {"a-moved": Pool(size=2, kind=SPOT, pool="a")}


@pytest.fixture
def stack(ticking_cloud: TestCloud) -> Iterator[Stack]:
    with stack_at(ticking_cloud) as stack:
        assert not stack.up(OLD).failed
        yield stack


@pytest.mark.parametrize("after", [False, True], ids=["before anything is made", "before anything goes"])
def test_an_apply_that_ends_between_its_phases_is_gone_on_with(stack: Stack, after: bool) -> None:
    @contextmanager
    def dies(*, begun: bool, **_: object) -> Generator[None]:
        if begun is after:
            raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        stack.up(MOVED, hold=dies)
    both = declared(OLD) | (declared(MOVED) if after else {})
    assert stack.standing() == both, "nothing that serves is lost, and what is new is made first"
    assert not stack.up(MOVED, hold=nothing_runs).failed
    assert stack.standing() == declared(MOVED)
