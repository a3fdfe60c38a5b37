"""Freeze windows, budgets and exceptions: what a stack file may say, and which instants lie in a window."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from infra.model.calendar import expired
from infra.model.freezes import standing
from infra.model.schema import Freeze
from tests.model.given import parse, stack_text


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
