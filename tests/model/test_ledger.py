"""The ledger: who draws how many chips on which limit."""

from __future__ import annotations

import pytest

from infra.model.ledger import accounts
from infra.model.stack import read_stack
from tests.model.given import parse, pool, sibling, stack_text

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


def test_a_sum_names_every_pool_and_what_nobody_here_declares() -> None:
    pools = pool(name="big", accelerator="v4-32", zones="{us-central2-b: 2}", capacity="{reserved: r}") + pool(
        name="small", accelerator="v4-8", zones="{us-central2-b: 3}", capacity="{reserved: r}"
    )
    (full,) = accounts(parse(stack_text(pools=pools, reservations=RESERVATION)))
    assert full.sum_shown() == "ci/big 2 x 16 = 32, ci/small 3 x 4 = 12, held elsewhere 8, together 52 of 64 chips"
    (alone,) = accounts(parse(stack_text(pools=pool(), quotas=QUOTA)))
    assert alone.sum_shown() == "ci/other 1 x 4 = 4, together 4 of 100 chips"


def test_slices_that_may_come_by_fallback_draw_on_the_limit_there_too() -> None:
    away = pool(
        zones="{us-central1-b: 1, us-east5-a: 2}", accelerator="v6e-8", fallback="[{zone: us-east1-d, capacity: spot}]"
    )
    quotas = "".join(
        f"- {{project: my-lab, zone: {zone}, generation: v6e, kind: {kind}, chips: 100}}\n"
        for zone, kind in (("us-east5-a", "preemptible"), ("us-east1-d", "preemptible"), ("us-east1-d", "on-demand"))
    )
    home, there, other_kind = accounts(parse(stack_text(pools=away, quotas=quotas)))
    assert home.sum_shown() == "ci/other 2 x 8 = 16, together 16 of 100 chips"
    assert there.sum_shown() == "ci/other (0 + 3 by fallback) x 8 = 24, together 24 of 100 chips"
    assert other_kind.draws == ()


def test_a_pool_draws_its_own_slices_and_those_that_may_come_from_its_other_zones() -> None:
    both = pool(zones="{us-west4-a: 2, us-west1-c: 2}", fallback="[{zone: us-west4-a, capacity: preemptible}]")
    (there,) = accounts(read_stack(stack_text(pools=both, quotas=QUOTA).encode(), stack="ci", source="ci").parts.config)
    assert there.sum_shown() == "ci/other (2 + 2 by fallback) x 4 = 16, together 16 of 100 chips"


@pytest.mark.parametrize(
    "other",
    [
        {"zones": "{us-west4-a: 2}", "accelerator": "v4-8"},
        {"zones": "{us-west1-c: 2}"},
        {"capacity": "on-demand"},
    ],
    ids=["generation", "zone", "kind"],
)
def test_what_another_limit_covers_draws_nothing_here(other: dict[str, str]) -> None:
    pools = pool(name="here") + pool(name="elsewhere", **other)
    text = stack_text(pools=pools, quotas=QUOTA)
    (quota,) = accounts(read_stack(text.encode(), stack="ci", source="ci").parts.config)
    assert [draw.pool for draw in quota.draws] == ["here"]


def test_a_sibling_in_another_project_draws_nothing_and_hides_none_after_it() -> None:
    theirs, ours = (sibling(stack=name, project=of) for name, of in (("theirs", "their-lab"), ("ours", "my-lab")))
    (quota,) = accounts(parse(stack_text(pools=pool(), quotas=QUOTA)), (theirs, ours))
    assert [draw.stack for draw in quota.draws] == ["ci", "ours"]


@pytest.mark.parametrize(
    "mistake", [{"name": "A Pool"}, {"zones": "many"}, {"accelerator": "v5litepod-5"}, {"capacity": "spotty"}], ids=str
)
def test_a_pool_with_a_mistake_in_what_it_draws_is_not_counted(mistake: dict[str, str]) -> None:
    text = stack_text(pools=pool(name="wrong", capacity="spot") + pool(name="right"), quotas=QUOTA)
    written = stack_text(pools=pool(**{"name": "wrong"} | mistake) + pool(name="right"), quotas=QUOTA)
    assert written != text
    (quota,) = accounts(read_stack(written.encode(), stack="ci", source="ci").parts.config)
    assert [draw.pool for draw in quota.draws] == ["right"]
