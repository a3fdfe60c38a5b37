"""One pool's failure never keeps the others from being applied, and the next run does just what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.cloud.testing import TestCloud
from bench.engine.run import DEFAULT_PARALLEL
from infra.engines.phased import apply
from infra.engines.protocol import Engine
from infra.model.plan import Op, Plan, Status, Step
from infra.model.planned_capacity import outcomes
from tests.engines.phase_world import Pool, Stack, declared, nothing_runs, stack_at, vms

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


def test_a_stockout_leaves_every_other_pool_as_declared(stack: Stack) -> None:
    stack.up(pools(a=1, b=2, gone=2))
    wanted = pools(a=3, new=2) | larger(b=2)
    stack.cloud.control.fail("stockout", name="a-*")
    run = stack.up(wanted)
    assert run.failed
    assert vms(run, Status.FAILED) == {"a-us-west4-a-1": Op.CREATE, "a-us-west4-a-2": Op.CREATE}
    assert vms(run, Status.SKIPPED) == {}
    assert [(each.pool, each.planned, each.missing) for each in outcomes(run)] == [
        ("a", 2, 2),
        ("b", 2, 0),
        ("gone", 2, 0),
        ("new", 2, 0),
    ]
    missing = {"a-us-west4-a-1", "a-us-west4-a-2"}
    assert stack.standing() == {name: each for name, each in declared(wanted).items() if name not in missing}

    stack.cloud.control.mend()
    assert vms(stack.up(wanted)) == dict.fromkeys(missing, Op.CREATE)
    assert stack.standing() == declared(wanted)


def test_replacements_stop_in_the_pool_that_fails_and_go_on_in_others(stack: Stack) -> None:
    stack.up(pools(a=24, b=3))
    wanted = larger(a=24, b=3)
    stack.cloud.control.fail("stockout", name="a-*")
    run = stack.up(wanted)
    ended = {status: [name for name in vms(run, status) if name.startswith("a-")] for status in Status}
    assert ended[Status.FAILED], "the first ones were under way"
    assert ended[Status.SKIPPED], "the others were left running"
    assert set(vms(run, Status.DONE)) == {f"b-us-west4-a-{index}" for index in range(3)}
    standing = stack.standing()
    assert all(standing[name] == "v5litepod-4" for name in ended[Status.SKIPPED])
    skipped = [step.error for step in run.steps if step.status is Status.SKIPPED]
    assert set(skipped) == {"not changed, because of another failure"}

    stack.cloud.control.mend()
    assert not stack.up(wanted).failed
    assert stack.standing() == declared(wanted)


def test_a_pool_that_cannot_be_made_elsewhere_keeps_what_it_has_and_others_shrink(stack: Stack) -> None:
    stack.up(pools(a=2, b=2))
    wanted = pools(b=1) | {"a-moved": Pool(size=2, kind=SPOT, pool="a")}
    stack.cloud.control.fail("stockout", name="a-moved-*")
    run = stack.up(wanted)
    assert set(vms(run, Status.FAILED).values()) == {Op.CREATE}
    assert set(vms(run, Status.SKIPPED)) == set(declared(pools(a=2)))
    assert stack.standing() == declared(pools(a=2, b=1))

    stack.cloud.control.mend()
    assert not stack.up(wanted).failed
    assert stack.standing() == declared(wanted)


def test_a_vm_that_cannot_be_deleted_for_its_replacement_stands_and_others_are_made(stack: Stack) -> None:
    stack.up(pools(a=1))
    stack.cloud.control.fail("error", code=403, message="not yours", name="a-*", method="*.delete")
    run = stack.up(larger(a=1) | pools(b=1))
    assert vms(run, Status.FAILED) == {"a-us-west4-a-0": Op.REPLACE}
    assert vms(run, Status.DONE) == {"b-us-west4-a-0": Op.CREATE}
    assert stack.standing() == declared(pools(a=1, b=1))


class Extra:
    """An engine that does all it is asked for, and something else, which fails."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def up(self, *_: object, **__: object) -> Plan:
        done = (replace(step, status=Status.DONE, seconds=1.0) for step in self.plan.steps)
        extra = Step(op=Op.CREATE, urn="urn::extra", type="gcp:x:Y", name="extra", status=Status.FAILED, error="no")
        return replace(self.plan, steps=(*done, extra))


def test_what_an_engine_did_besides_and_failed_is_told_with_the_rest(stack: Stack) -> None:
    plan = stack.preview(pools(a=2))
    run = apply(plan, (), lambda **_: cast(Engine, Extra(plan)), lambda _: None)
    assert vms(run, Status.DONE) == {"a-us-west4-a-0": Op.CREATE, "a-us-west4-a-1": Op.CREATE}
    assert [step.name for step in run.steps if step.status is Status.FAILED] == ["extra"]


POOL = st.builds(
    Pool, size=st.integers(0, 3), accelerator=st.sampled_from(["v5litepod-4", "v5litepod-8"]), kind=st.just(SPOT)
)
FLEET = st.fixed_dictionaries({"a": POOL, "b": POOL, "c": POOL})


def of_pool(standing: dict[str, str], pool: str) -> dict[str, str]:
    return {name: each for name, each in standing.items() if name.startswith(f"{pool}-")}


@settings(max_examples=10)
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
