"""Freeze windows, budgets and exceptions: what a stack file may say, and which instants lie in a window."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from infra.model.calendar import expired
from infra.model.freezes import standing
from infra.model.schema import Freeze
from tests.model.given import parse, refusals, stack_text, the_refusal


def freeze(**fields: object) -> Freeze:
    usual = {"name": "break", "time_zone": "Europe/Berlin", "from": "2026-12-19", "to": "2027-01-03"}
    return Freeze.model_validate(usual | fields)


@pytest.mark.parametrize(
    ("instant", "frozen"),
    [
        (datetime(2026, 12, 18, 22, 59, tzinfo=UTC), False),
        (datetime(2026, 12, 18, 23, 0, tzinfo=UTC), True),
        (datetime(2027, 1, 3, 22, 59, tzinfo=UTC), True),
        (datetime(2027, 1, 3, 23, 0, tzinfo=UTC), False),
    ],
)
def test_a_window_of_days_holds_all_of_both_days_in_its_own_time_zone(instant: datetime, frozen: bool) -> None:
    assert bool(standing([freeze()], instant)) is frozen


def test_a_window_may_begin_and_end_at_a_moment() -> None:
    window = freeze(**{"from": "2026-12-19T18:00", "to": "2026-12-19T20:00", "time_zone": "UTC"})
    assert not standing([window], datetime(2026, 12, 19, 17, 59, tzinfo=UTC))
    assert standing([window], datetime(2026, 12, 19, 18, tzinfo=UTC))
    assert not standing([window], datetime(2026, 12, 19, 20, tzinfo=UTC))


def test_a_window_over_the_change_of_clocks_keeps_to_the_wall_clock() -> None:
    window = freeze(**{"from": "2026-10-24", "to": "2026-10-25"})
    assert standing([window], datetime(2026, 10, 25, 22, 59, tzinfo=UTC))
    assert not standing([window], datetime(2026, 10, 25, 23, tzinfo=UTC))


def test_an_override_is_good_through_its_last_day_and_no_longer() -> None:
    window = freeze(override={"until": "2026-12-22", "reason": "a deadline"})
    assert [each.overridden for each in standing([window], datetime(2026, 12, 22, 22, 59, tzinfo=UTC))] == [True]
    assert [each.overridden for each in standing([window], datetime(2026, 12, 22, 23, tzinfo=UTC))] == [False]


def test_what_expires_on_a_day_is_good_through_it() -> None:
    assert not expired(date(2026, 12, 1), datetime(2026, 12, 1, 23, 59, tzinfo=UTC))
    assert expired(date(2026, 12, 1), datetime(2026, 12, 2, tzinfo=UTC))


def test_a_bare_day_means_the_same_as_one_in_quotes() -> None:
    sections = {"exceptions": "- {rule: external-ip, subject: tpu-ci, reason: why, expires: DAY}"}
    bare, quoted = (
        parse(stack_text(exceptions=sections["exceptions"].replace("DAY", day))).exceptions[0].expires
        for day in ("2027-02-01", '"2027-02-01"')
    )
    assert bare == quoted == date(2027, 2, 1)


def test_an_override_without_a_reason_is_refused() -> None:
    window = '- {name: a, time_zone: UTC, from: "2026-12-19", to: "2026-12-20", override: {until: "2026-12-19"}}\n'
    assert the_refusal(stack_text(freezes=window)).rule == "reason is required"


def test_a_freeze_that_ends_before_it_begins_is_refused() -> None:
    window = '- {name: a, time_zone: UTC, from: "2026-12-19", to: "2026-12-18"}'
    assert "ends after it begins" in the_refusal(stack_text(freezes=window)).rule


def test_every_wrong_value_is_told_at_once() -> None:
    text = stack_text(
        freezes='- {name: a, time_zone: Berlin, from: soon, to: "2026-13-01"}\n',
        budget="usd_per_month: -1\n",
        exceptions="- {rule: External IP, subject: '', reason: ' ', expires: never}",
    )
    assert [(problem.subject.partition(":")[2].split(" ")[1], problem.value) for problem in refusals(text)] == [
        ("tidepool:freezes[0].from", '"soon"'),
        ("tidepool:freezes[0].time_zone", '"Berlin"'),
        ("tidepool:freezes[0].to", '"2026-13-01"'),
        ("tidepool:budget.usd_per_month", "-1"),
        ("tidepool:exceptions[0].expires", '"never"'),
        ("tidepool:exceptions[0].reason", '" "'),
        ("tidepool:exceptions[0].rule", '"External IP"'),
        ("tidepool:exceptions[0].subject", '""'),
    ]
