"""One pool's failure never keeps the others from being applied, and the next run does just what is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.cloud.testing import TestCloud
from bench.engine.run import DEFAULT_PARALLEL
from tests.engines.phase_world import Pool, Stack, declared, nothing_runs, stack_at

pytestmark = pytest.mark.usefixtures("cheap_keys")

SPOT = "spot"


@pytest.fixture(params=[DEFAULT_PARALLEL, 1], ids=["many at a time", "one by one"])
def stack(ticking_cloud: TestCloud, request: pytest.FixtureRequest) -> Iterator[Stack]:
    """What has begun when something fails is another each time: all but one, or nothing else."""
    with stack_at(ticking_cloud) as stack:
        stack.parallel = request.param
        yield stack


def pools(**sizes: int) -> dict[str, Pool]:
    return {name: Pool(size=size, kind=SPOT) for name, size in sizes.items()}


def larger(**sizes: int) -> dict[str, Pool]:
    return {name: Pool(size=size, kind=SPOT, accelerator="v5litepod-8") for name, size in sizes.items()}


POOL = st.builds(
    Pool, size=st.integers(0, 3), accelerator=st.sampled_from(["v5litepod-4", "v5litepod-8"]), kind=st.just(SPOT)
)
FLEET = st.fixed_dictionaries({"a": POOL, "b": POOL, "c": POOL})


def of_pool(standing: dict[str, str], pool: str) -> dict[str, str]:
    return {name: each for name, each in standing.items() if name.startswith(f"{pool}-")}


@settings(max_examples=4)
@example(before=pools(a=0, b=0, c=2), after=pools(a=1, b=1, c=1), parallel=1, waits=False)
@example(before=pools(a=0, b=0, c=1), after=pools(a=1, b=1) | larger(c=1), parallel=1, waits=False)
@example(before=pools(a=1, b=1, c=2), after=pools(a=2, b=2, c=1), parallel=1, waits=True)
@given(before=FLEET, after=FLEET, parallel=st.sampled_from([1, 2, DEFAULT_PARALLEL]), waits=st.booleans())
def test_one_pools_stockout_keeps_no_other_pool_from_what_is_declared(
    quick_cloud: TestCloud, before: dict[str, Pool], after: dict[str, Pool], parallel: int, waits: bool
) -> None:
    with stack_at(quick_cloud) as stack:
        stack.parallel = parallel
        stack.up(before)
        quick_cloud.control.fail("stockout", name="a-*")
        run = stack.up(after, hold=nothing_runs if waits else None)
        standing = stack.standing()
        for pool in ("b", "c"):
            assert of_pool(standing, pool) == of_pool(declared(after), pool)
        kept = of_pool(declared(before), "a").keys() & of_pool(declared(after), "a").keys()
        assert len(kept - standing.keys()) <= parallel, "of those to be replaced, the ones under way"
        assert run.failed == (of_pool(standing, "a") != of_pool(declared(after), "a"))
        quick_cloud.control.mend()
        assert not stack.up(after).failed
        assert stack.standing() == declared(after)
