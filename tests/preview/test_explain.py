"""What an edit means beyond its numbers: money, risks, findings, and files with mistakes."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given as given_that
from hypothesis import settings
from hypothesis import strategies as st

from infra.preview.explain import explain
from infra.preview.meaning import Facts, Meaning, Risk, RiskKind
from tests.model.given import parse, pool, sibling, stack_text
from tests.preview.two_versions import marked, meaning, reading, told
from tests.synthetic_lab import steady

CI = steady("ci")
FREEZE = '- {name: winter, time_zone: Europe/Berlin, from: "2026-11-20", to: "2026-11-30"}\n'


def edited(before: str, after: str, text_of: str = CI) -> str:
    assert before in text_of, f"{before!r} is not in the stack file"
    return text_of.replace(before, after)


def of_kind(edit: Meaning, kind: RiskKind) -> list[Risk]:
    return [risk for risk in edit.risks if risk.kind is kind]


def said(edit: Meaning) -> str:
    return "\n".join(risk.says for risk in edit.risks)


# What differs


def test_a_comment_and_another_order_of_zones_change_nothing() -> None:
    zones = "us-west4-a: 2\n        us-east1-c: 2"
    assert not meaning(CI, edited(zones, "us-east1-c: 2\n        us-west4-a: 2 # two")).changed


def test_a_new_stack_and_a_removed_one_are_told_whole() -> None:
    made, gone = meaning(None, CI), meaning(CI, None)
    assert told(made).startswith("ci: new stack, +9 VMs, +40 chips, ")
    assert told(gone).startswith("ci: stack removed, -9 VMs, -40 chips, ")
    assert len([name for risk in of_kind(gone, RiskKind.DELETE) for name in risk.names]) == 9
    assert "`./tidepool destroy ci` comes first" in said(gone)


# VMs


@pytest.mark.parametrize(
    ("before", "after", "forced"),
    [
        ("capacity: preemptible\n      trust: member\n      labels: [tpu, self-hosted]\n      serves", "", "capacity"),
        ("version: tpu-ubuntu2204-base", "version: another-runtime", "runtime"),
        ("trust: member", "trust: fork", "network (external IP)"),
        ("name: hai-gcp-models-tidepool-ci", "name: another-tidepool-ci", ""),
        ("tpu-ci-component: runner", "tpu-ci-component: other", ""),
    ],
)
def test_what_forces_a_replacement_is_named_and_the_rest_is_changed_in_place(
    before: str, after: str, forced: str
) -> None:
    edit = meaning(CI, edited(before, after or before.replace("preemptible", "spot")))
    assert {each for risk in of_kind(edit, RiskKind.REPLACE) for each in risk.forced_by} == (
        {forced} if forced else set()
    )


# Labels


def test_a_label_that_another_stack_serves_is_not_lost() -> None:
    given = pool(labels="[shared]")
    other = sibling(pools=pool(name="theirs", labels="[shared]"))
    facts = Facts(today=datetime(2026, 11, 21, tzinfo=UTC))
    before, after = stack_text(pools=given), stack_text(pools=given.replace("[shared]", "[]"))
    alone = explain(reading(before), reading(after), facts)
    beside = explain(reading(before, siblings=(other,)), reading(after, siblings=(other,)), facts)
    assert "label shared loses its last pool" in said(alone)
    assert "label shared" not in said(beside)


# Calendar, trust, protection


def test_a_change_inside_a_freeze_stops_and_an_override_lets_it_pass() -> None:
    before, after = stack_text(freezes=FREEZE), stack_text(pools=pool(), freezes=FREEZE)
    edit = meaning(before, after)
    assert "freeze winter stands until 2026-12-01 00:00 Europe/Berlin" in said(edit)
    assert edit.stops
    override = FREEZE.replace("}", ', override: {until: "2026-11-22", reason: a deadline}}')
    passing = meaning(before, stack_text(pools=pool(), freezes=override))
    assert "overridden until 2026-11-22: a deadline" in said(passing)
    assert not passing.stops


def test_a_freeze_that_is_over_says_nothing() -> None:
    before, after = stack_text(freezes=FREEZE), stack_text(pools=pool(), freezes=FREEZE)
    later = meaning(before, after, today=datetime(2026, 11, 30, 23, tzinfo=UTC))
    assert not of_kind(later, RiskKind.FREEZE)
    assert not later.stops


def test_declaring_a_freeze_is_no_change_of_the_fleet() -> None:
    assert not meaning(stack_text(), stack_text(freezes=FREEZE)).stops


# Money


def test_a_window_counts_its_hours_and_not_the_whole_month() -> None:
    before, after = stack_text(pools=pool(zones="{us-west4-a: 0}")), stack_text(pools=pool())
    money = meaning(before, after, window_hours={"other": 60}).money
    assert (float(money.total.after.hour.known), float(money.total.after.month.known)) == (1.92, 115.2)
    assert "(60 hours a month)" in told(meaning(before, after, window_hours={"other": 60.0}))
    assert "(30.4 hours a month)" in told(meaning(before, after, window_hours={"other": 30.416666667}))


def test_what_has_no_price_is_listed_and_never_counted_as_nothing() -> None:
    unpriced = pool(name="new", accelerator="tpu7x-8", zones="{us-central1-c: 1}", capacity="on-demand")
    edit = meaning(stack_text(pools=pool()), stack_text(pools=pool() + unpriced))
    assert edit.money.unpriced == ("new",)
    assert edit.money.total.after.month.exact is None
    assert edit.money.total.after.month.known == edit.money.total.before.month.exact
    printed = told(edit)
    assert "prices known for 1 of 2 pools; no published price: new" in printed
    assert "Cost a month  $1,402  $1,402 + ?  ?\n" in printed
    assert re.search(r"new us-central1-c +\$0\.00 +\?", printed)


# Findings and files with mistakes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("us-west4-a: 2", "us-west4-a: two"),
        ("accelerator: v6e-8", "accelerator: v6e-9"),
        ("- name: tpu-v4\n", "- name: TPU_v4\n"),
        ("capacity: preemptible", "capacity: cheap"),
        ("  tidepool:pools:\n", "  tidepool:pools: 3\n  tidepool:pool:\n"),
        ("gcp:project: hai-gcp-models", "gcp:project: X"),
        ("- europe-west4\n", "- europe-west9\n"),
        ("name: tidepool-github-app-key", "name: tidepool github app key"),
    ],
)
def test_a_mistake_is_a_finding_and_does_not_look_like_the_loss_of_anything(before: str, after: str) -> None:
    edit = meaning(CI, edited(before, after))
    assert edit.stops
    assert all(finding.rule == "stack-file" and finding.fix for finding in edit.findings if finding.stops)
    assert not [risk for risk in edit.risks if risk.kind in (RiskKind.DELETE, RiskKind.REPLACE, RiskKind.PROTECTION)]


def test_the_right_edit_beside_a_mistake_is_still_told() -> None:
    both = edited("us-west4-a: 2", "us-west4-a: 3", edited("accelerator: v6e-8", "accelerator: v6e-9"))
    assert "tpu-ci in us-west4-a, v5litepod-4, preemptible: 2 -> 3 VMs" in told(meaning(CI, both))


# Forms


def test_what_a_stack_file_says_does_nothing_marked() -> None:
    hostile = '- {name: winter, time_zone: UTC, from: "2026-11-20", to: "2026-11-30", override: {until: "2026-11-29", '
    hostile += 'reason: "@everyone <img src=x> [a](https://evil.example) | #1\\n# big"}}\n'
    made = marked(meaning(stack_text(), stack_text(pools=pool(), freezes=hostile)))
    assert "@everyone" not in made
    assert "<img" not in made
    assert "[a](" not in made
    assert "https://evil.example" not in made
    assert "\n# big" not in made


def test_stale_files_are_listed_where_they_are_known() -> None:
    after = edited("us-west4-a: 2", "us-west4-a: 3")
    assert "generated files: not known" in told(meaning(CI, after))
    said = told(meaning(CI, after, stale=(".github/workflows/tests.yaml",)))
    assert "Generated files: run `./tidepool workflows --write` and commit; 1 file out of" in said
    assert said.endswith(".github/workflows/tests.yaml")


ZONES = st.dictionaries(st.sampled_from(["us-west4-a", "us-central1-a", "us-south1-a"]), st.integers(0, 4), min_size=1)
POOLS = st.dictionaries(st.sampled_from(["one", "two", "three"]), ZONES)


def _of(pools: dict[str, dict[str, int]]) -> str:
    items = (
        pool(name=name, zones="{" + ", ".join(f"{zone}: {count}" for zone, count in zones.items()) + "}")
        for name, zones in pools.items()
    )
    return stack_text(pools="".join(items) or "[]\n")


@settings(max_examples=40, deadline=None)
@given_that(POOLS, POOLS)
def test_the_numbers_of_an_edit_add_up_and_reverse(
    one: dict[str, dict[str, int]], other: dict[str, dict[str, int]]
) -> None:
    there, back = meaning(_of(one), _of(other)), meaning(_of(other), _of(one))
    for edit, config in ((there, parse(_of(other))), (back, parse(_of(one)))):
        assert sum(pool.slices.after for pool in edit.pools) == sum(pool.slices for pool in config.pools)
        assert sum(line.chips.after for line in edit.ledger) == sum(pool.chips.after for pool in edit.pools)
        goes = sum(len(risk.names) for risk in edit.risks if risk.kind is RiskKind.DELETE)
        assert goes == sum(max(-pool.slices.delta, 0) for pool in edit.pools)
    assert sum(pool.chips.delta for pool in there.pools) == -sum(pool.chips.delta for pool in back.pools)
    assert there.money.total.before == back.money.total.after
    assert told(there) == told(meaning(_of(one), _of(other)))
