"""Edits that people made to a public fleet, with the numbers that they worked out by hand.

The fleet is that of github.com/vllm-project/ci-infra: pull requests 470 (2026-08-13) and 474 (2026-08-14).
"""

from __future__ import annotations

from infra.preview.meaning import Meaning, RiskKind
from tests.preview.two_versions import meaning, replayed

LEDGER = "us-central1-c tpu7x reservation tpu7x-ci"
PULL_470 = (replayed(v2=12, v8=16, v16=3), replayed(v2=4, v8=20, v16=2))


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
