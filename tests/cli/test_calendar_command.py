"""`./tidepool calendar`: lines, JSON and a picture of the days ahead, of stack files alone."""

from __future__ import annotations

from tests.cli.conftest import Checkout

WINDOW = """\
      windows:
        - {name: night, start: 0 2 * * *, duration: 1h, time_zone: UTC, adds: {us-central1-b: 1}}
"""


def windowed(checkout: Checkout) -> Checkout:
    if "windows:" not in checkout.text("nightly"):
        checkout.edit("nightly", "      trust: fork\n", f"      trust: fork\n{WINDOW}")
    return checkout


def test_the_days_ahead_of_a_stack_are_told_to_people_and_to_programs(checkout: Checkout) -> None:
    asked = ("calendar", "nightly", "--from", "2026-11-24")
    shown = windowed(checkout).ok(*asked).stdout
    assert shown.startswith("Tue 24 Nov 2026 00:00 to Mon 30 Nov 23:59, UTC: nightly, $3.81\n")
    assert "night: 1 VM more, 7 times, first Tue 02:00, 7 h together, $3.81" in shown
    told = checkout.json(*asked)
    assert (told["stacks"], round(told["usd"], 2), len(told["standing"]), told["exit"]) == (["nightly"], 3.81, 7, 0)
    assert len(told["chipHours"]) == 7 * 24
