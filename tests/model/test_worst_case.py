"""The worst case of a stack: what limits, budget and growth count."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.model.bounds import limits
from infra.model.ledger import account
from infra.model.manifest import manifest
from infra.model.schema import StackConfig
from infra.model.stack import read_sibling
from tests.model.given import cost_of, parse, pool, stack_text, the_refusal

HOURS = Decimal(730)
HOME, AWAY = "us-west4-a", "us-south1-a"
NONE = pool(zones=f"{{{HOME}: 0}}", accelerator="v5litepod-8")
QUOTA = f"- {{project: my-lab, zone: {HOME}, generation: v5e, chips: 16, kind: %s}}\n"


def runs(**fields: object) -> str:
    usual: dict[str, object] = {
        "pool": "other", "accelerators": "[v5litepod-8]", "zones": f"[{HOME}]", "per_day": 1000, "at_once": 2,
        "time_to_live_minutes": 60,
    }  # fmt: skip
    return "".join(f"{key}: {value}\n" for key, value in (usual | fields).items())


def window(adds: int = 2, until: str = "", zone: str = HOME) -> str:
    last = f", until: {until}" if until else ""
    return f"[{{name: w, start: 0 22 * * *, duration: 6h, time_zone: UTC, adds: {{{zone}: {adds}}}{last}}}]"


FALLBACK = f"[{{zone: {HOME}, capacity: on-demand}}]"
DEAR = f"[{{zone: {HOME}, capacity: on-demand}}, {{zone: {AWAY}, capacity: spot}}]"
CHEAP = "[{zone: us-central1-a, capacity: spot}]"


@pytest.mark.parametrize(
    ("pools", "declared", "worst"),
    [
        (pool(zones=f"{{{HOME}: 10}}", fallback=FALLBACK), "14016.00", "35040.00"),
        (pool(zones=f"{{{HOME}: 10}}", fallback=DEAR), "14016.00", "35040.00"),
        (pool(zones=f"{{{HOME}: 10}}", fallback=CHEAP), "14016.00", "14016.00"),
        (pool(zones=f"{{{HOME}: 10}}"), "14016.00", "14016.00"),
        (pool(zones=f"{{{HOME}: 0}}", fallback=FALLBACK, windows=window()), "700.80", "1752.00"),
    ],
    ids=["on demand", "the dearest", "cheaper", "none", "a window"],
)
def test_the_worst_case_has_every_vm_at_the_dearest_of_its_places(pools: str, declared: str, worst: str) -> None:
    found = cost_of(parse(stack_text(pools=pools)))
    assert (found.declared.month.exact, found.worst.month.exact) == (Decimal(declared), Decimal(worst))


def test_a_fallback_without_a_price_makes_the_worst_case_unknown_and_not_what_is_declared() -> None:
    pools = pool(
        accelerator="v6e-1", zones="{us-central1-b: 1}", fallback="[{zone: southamerica-west1-a, capacity: spot}]"
    )
    found = cost_of(parse(stack_text(pools=pools)))
    assert (str(found.declared.month), str(found.worst.month)) == ("$397.12", "$397.12 + ?")
    assert found.worst.month.reasons == ("v6e spot in southamerica-west1-a has no list price",)


@pytest.mark.parametrize(
    ("fields", "chips", "month"),
    [
        ({}, 16, 16 * HOURS * Decimal("0.48")),
        ({"per_day": 12, "time_to_live_minutes": 60}, 16, Decimal(12) / 24 * 8 * HOURS * Decimal("0.48")),
        ({"accelerators": "[v5litepod-4, v5litepod-8]"}, 16, 16 * HOURS * Decimal("0.48")),
        ({"zones": f"[{HOME}, {AWAY}]"}, 16, 16 * HOURS * Decimal("0.566")),
        ({"at_once": 0}, 0, 0),
    ],
    ids=["at once", "by the day", "types", "zones", "none"],
)
def test_runs_count_at_their_most_in_the_worst_case_and_not_in_what_is_declared(
    fields: dict[str, object], chips: int, month: Decimal
) -> None:
    found = cost_of(parse(stack_text(pools=NONE, runs=runs(**fields))))
    assert (found.chips, found.declared.month.exact, found.worst.month.exact) == (chips, 0, month)


@pytest.mark.parametrize(
    ("fields", "pools", "kind", "drawn"),
    [
        ({}, NONE, "preemptible", 16),
        ({"zones": f"[{AWAY}, {HOME}]", "accelerators": "[v5litepod-1, v5litepod-8]"}, NONE, "preemptible", 16),
        ({"zones": f"[{AWAY}]"}, NONE, "preemptible", 0),
        ({}, NONE, "on-demand", 0),
        ({}, NONE.replace("trust", f"fallback: {FALLBACK}\n  trust"), "on-demand", 16),
    ],
    ids=["its zone", "the largest type", "another zone", "another quota", "a fallback's quota"],
)
def test_runs_hold_their_chips_of_each_limit_that_they_may_draw_on(
    fields: dict[str, object], pools: str, kind: str, drawn: int
) -> None:
    config = parse(stack_text(pools=pools, runs=runs(**fields), quotas=QUOTA % kind))
    found = account(config.quotas[0], [config])
    assert (found.used, found.runs) == (drawn, drawn)
    assert [(each.stack, each.pool) for each in found.draws] == ([("ci", "other runs")] if drawn else [])


def test_phases_and_the_controller_leave_the_chips_of_runs_to_them() -> None:
    config = parse(stack_text(pools=NONE, runs=runs(), quotas=QUOTA % "preemptible"))
    assert [each.others for each in limits(config)] == [16]
    (limit,) = manifest(config, bundle="0" * 64, startup_script="")["limits"]
    assert limit["siblings"] == 16


@pytest.mark.parametrize(
    "wrong", [{"accelerators": "[v5litepod-3]"}, {"at_once": "many"}, {"pool": "nowhere"}], ids=str
)
def test_a_mistake_in_the_runs_of_another_stack_may_hide_chips(wrong: dict[str, object]) -> None:
    theirs = stack_text(pools=NONE, runs=runs(**wrong)).replace("my-lab-ci", "my-lab-nightly")
    other = read_sibling(theirs.encode(), stack="nightly")
    assert other is not None
    (key,) = wrong
    limited = the_refusal(stack_text(quotas=QUOTA % "preemptible"), siblings=(other,))
    assert limited.subject.startswith("stacks/Pulumi.nightly.yaml")
    assert f"tidepool:runs.{key}" in limited.subject


@pytest.mark.parametrize(
    ("until", "month"), [("", "700.80"), ("2026-11-21", "700.80"), ("2026-11-20", "0"), ("2020-01-01", "0")]
)
def test_a_window_that_is_over_costs_nothing_and_draws_nothing(until: str, month: str) -> None:
    """It is 12:00 of the 21st, and an opening of the 20th ended at 04:00."""
    config = parse(stack_text(pools=pool(zones=f"{{{HOME}: 0}}", windows=window(until=until))))
    assert cost_of(config).declared.month.exact == Decimal(month)
    assert cost_of(config).chips == (8 if Decimal(month) else 0)


def test_chips_of_the_worst_case_are_those_of_pools_windows_slices_and_runs() -> None:
    config: StackConfig = parse(
        stack_text(pools=pool(zones=f"{{{HOME}: 3}}", accelerator="v5litepod-8", windows=window(9000)), runs=runs())
    )
    assert cost_of(config).chips == 3 * 8 + 9000 * 8 + 16
