"""The ledger: who draws how many chips on which limit."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model.ledger import accounts
from tests.model.given import parse, pool, stack_text

RESERVATION = "- {name: r, project: my-lab, zone: us-central2-b, generation: v4, chips: 64, held_elsewhere: 8}\n"
QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 100}\n"


def test_each_limit_has_an_account_with_who_draws_and_what_remains() -> None:
    pools = pool(name="big", accelerator="v4-32", zones="{us-central2-b: 2}", capacity="{reserved: r}") + pool(
        name="small", zones="{us-west4-a: 3}"
    )
    reserved, quota = accounts(parse(stack_text(pools=pools, reservations=RESERVATION, quotas=QUOTA)))
    assert (reserved.used, reserved.remaining, reserved.held_elsewhere) == (40, 24, 8)
    assert [(draw.stack, draw.pool, draw.chips) for draw in reserved.draws] == [("ci", "big", 32)]
    assert (quota.used, quota.remaining) == (12, 88)


def test_a_pool_of_size_zero_draws_nothing() -> None:
    pools = pool(accelerator="v4-32", zones="{us-central2-b: 0}", capacity="{reserved: r}")
    (reserved,) = accounts(parse(stack_text(pools=pools, reservations=RESERVATION)))
    assert reserved.draws == ()
    assert reserved.remaining == 56


def test_pools_of_sibling_stacks_draw_on_the_same_limit() -> None:
    sibling = parse(stack_text(pools=pool(name="night", zones="{us-west4-a: 5}")), stack="nightly")
    (quota,) = accounts(parse(stack_text(pools=pool(), quotas=QUOTA)), (sibling,))
    assert [(draw.stack, draw.pool, draw.chips) for draw in quota.draws] == [
        ("ci", "other", 4),
        ("nightly", "night", 20),
    ]


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["spot", "preemptible", "on-demand"])), max_size=6))
@settings(deadline=None)
def test_what_is_used_and_what_remains_make_the_limit(given_pools: list[tuple[int, str]]) -> None:
    pools = "".join(
        pool(name=f"p{number}", zones=f"{{us-west4-a: {count}}}", capacity=kind)
        for number, (count, kind) in enumerate(given_pools)
    )
    (quota,) = accounts(parse(stack_text(pools=pools or "[]\n", quotas=QUOTA.replace("100", "200"))))
    assert quota.used == 4 * sum(count for count, kind in given_pools if kind != "on-demand")
    assert quota.used + quota.remaining == 200
