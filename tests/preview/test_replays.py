"""Edits that people made to a public fleet, with the numbers that they worked out by hand.

The fleet is that of github.com/vllm-project/ci-infra: pull requests 470 (2026-08-13) and 474 (2026-08-14).
"""

from __future__ import annotations

import pytest

from infra.model.phases import Work
from infra.preview.meaning import Meaning, RiskKind
from tests.preview.two_versions import meaning, replayed, told

LEDGER = "us-central1-c tpu7x reservation tpu7x-ci"
PULL_470 = (replayed(v2=12, v8=16, v16=3), replayed(v2=4, v8=20, v16=2))
PULL_474 = (replayed(v2=8, v8=19, v16=2), replayed(v2=12, v8=18, v16=2))


def table(edit: Meaning) -> dict[str, tuple[int, int, int]]:
    """Pool to VMs before, VMs after and chips more, as the authors' tables have them."""
    return {pool.pool: (pool.slices.before, pool.slices.after, pool.chips.delta) for pool in edit.pools if pool.changed}


def ledger(edit: Meaning) -> list[str]:
    return [str(line) for line in edit.ledger if line.limited]


def test_pull_request_470_rebalances_toward_tpu7x_8() -> None:
    edit = meaning(*PULL_470)
    assert table(edit) == {"ci-v7x-2": (12, 4, -8), "ci-v7x-16": (3, 2, -8), "ci-v7x-8": (16, 20, 16)}
    assert ledger(edit) == [f"{LEDGER}: 128 -> 128 of 128 chips"]
    assert sum(pool.chips.delta for pool in edit.pools) == 0
    assert edit.order.needed, "a full reservation has no room to grow before it has shrunk"
    assert not edit.stops


def test_pull_request_474_gives_one_tpu7x_8_back_to_four_tpu7x_2() -> None:
    edit = meaning(*PULL_474)
    assert table(edit) == {"ci-v7x-8": (19, 18, -4), "ci-v7x-2": (8, 12, 4)}
    assert ledger(edit) == [f"{LEDGER}: 128 -> 128 of 128 chips"]
    assert [phase.work for phase in edit.order.order] == [Work.SHRINK, Work.GROW]
    assert edit.order.first == ("ci-v7x-8-us-central1-c-18",)
    assert not edit.stops


@pytest.mark.parametrize("edit", [PULL_470, PULL_474], ids=["470", "474"])
def test_the_printed_lines_carry_the_numbers_of_the_tables(edit: tuple[str, str]) -> None:
    found = meaning(*edit)
    printed = told(found, 200)
    for pool, (before, after, chips) in table(found).items():
        line = next(line for line in printed.splitlines() if line.startswith(f"{pool} in us-central1-c, "))
        assert f" {before} -> {after} VMs ({chips:+} chips). Reservation: 128 of 128 chips." in line
    assert f"{LEDGER}     128    128  128  28 held elsewhere, 0 remain" in printed


def test_names_that_mislead_are_spelled_out() -> None:
    spelled = {pool.pool: pool.spelled for pool in meaning(*PULL_470).pools}
    assert spelled == {
        "ci-v7x-2": "tpu7x-2 is 1 chip on 1 host",
        "ci-v7x-8": "tpu7x-8 is 4 chips on 1 host",
        "ci-v7x-16": "tpu7x-16 is 8 chips on 2 hosts",
    }


def test_a_reservation_is_sunk_and_moves_no_money() -> None:
    money = meaning(*PULL_470).money
    assert money.sunk == ("ci-v7x-16", "ci-v7x-2", "ci-v7x-8")
    assert (money.estimated, money.unpriced, money.total.after.hour.exact) == ((), (), 0)


def test_a_fleet_that_passes_its_reservation_is_stopped_with_the_sum() -> None:
    edit = meaning(replayed(v2=12, v8=16, v16=3), replayed(v2=12, v8=17, v16=3))
    assert ledger(edit) == [f"{LEDGER}: 128 -> 132 of 128 chips"]
    assert [line.remaining for line in edit.ledger if line.limited] == [-4]
    assert edit.stops
    never = next(risk for risk in edit.risks if risk.kind is RiskKind.UNAPPLIABLE)
    assert never.names == ("ci-v7x-8-us-central1-c-16",)


def test_chips_that_others_give_back_make_room_without_phases() -> None:
    edit = meaning(replayed(v2=12, v8=16, v16=3), replayed(held=24, v2=12, v8=17, v16=3))
    assert ledger(edit) == [f"{LEDGER}: 128 -> 128 of 128 chips"]
    line = next(line for line in edit.ledger if line.limited)
    assert (line.held_elsewhere.before, line.held_elsewhere.after) == (28, 24)
    assert not edit.order.needed
    assert not edit.stops


def test_a_reservation_that_grows_is_told_with_both_sizes() -> None:
    before = replayed(v2=12, v8=16, v16=3)
    after = replayed(v2=12, v8=48, v16=3).replace("chips: 128", "chips: 256")
    assert ledger(meaning(before, after)) == [f"{LEDGER}: 128 -> 256 of 128 -> 256 chips"]


def test_pools_that_are_merged_need_phases_under_a_full_reservation() -> None:
    """68 chips freed and 76 made under 128, as happened when a fleet of two modules became one."""
    before = replayed(held=52, v2=4, v8=16, v16=1)  # 52 + 4 + 64 + 8 = 128
    after = replayed(held=52, v8=17, v16=1)  # 52 + 68 + 8 = 128
    edit = meaning(before, after)
    assert table(edit) == {"ci-v7x-2": (4, 0, -4), "ci-v7x-8": (16, 17, 4)}
    assert edit.order.needed
    assert "label ci-v7x-2 loses its last pool" in " ".join(risk.says for risk in edit.risks)


def test_a_pool_renamed_is_deleted_and_made_anew_in_that_order() -> None:
    before = replayed(v2=12, v8=16, v16=3)
    edit = meaning(before, before.replace("name: ci-v7x-8", "name: ci-large"))
    assert table(edit) == {"ci-v7x-8": (16, 0, -64), "ci-large": (0, 16, 64)}
    assert edit.order.needed
    assert len(edit.order.first) == 16


def test_a_reservation_that_moves_to_another_project_takes_the_stack_with_it_or_is_refused() -> None:
    before = replayed(v2=12, v8=16, v16=3)
    alone = meaning(before, before.replace("      project: cloud-ullm-inference-ci-cd", "      project: other-project"))
    assert alone.stops
    together = meaning(before, before.replace("cloud-ullm-inference-ci-cd", "other-project"))
    assert {each.rule for each in together.findings if each.stops} == {"apply-refuses"}
    replaced = [risk for risk in together.risks if risk.kind is RiskKind.REPLACE]
    assert sum(len(risk.names) for risk in replaced) == 31
    assert all("project" in risk.forced_by for risk in replaced)
    assert any("moves from project" in risk.says for risk in together.risks)


def test_a_zone_left_for_two_others_is_told_zone_by_zone() -> None:
    here = "accelerator: v6e-8\n      zones:\n        us-central1-b: 6\n      capacity: spot"
    there = "accelerator: v6e-8\n      zones:\n        us-east5-a: 4\n        us-east5-b: 2\n      capacity: spot"
    text_of = replayed().replace("  tidepool:pools:\n", "  tidepool:pools:\n    - name: ci-v6e\n      HERE\n")
    text_of += "      trust: member\n"
    edit = meaning(text_of.replace("HERE", here), text_of.replace("HERE", there))
    assert {pool.zone: (pool.slices.before, pool.slices.after, pool.chips.delta) for pool in edit.pools} == {
        "us-central1-b": (6, 0, -48),
        "us-east5-a": (0, 4, 32),
        "us-east5-b": (0, 2, 16),
    }
    assert not [risk for risk in edit.risks if risk.kind is RiskKind.LABELS], "the label moves with the pool"
