"""A local cloud whose clock was moved has one time: every command decides by it, and every record carries it."""

from __future__ import annotations

from datetime import datetime, timedelta

from infra.fleet.google import clients
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.calendar import begin_of_day
from infra.model.clock import machine_clock
from tests.cli.conftest import Checkout
from tests.pages.html_seen import Seen

SLACK = timedelta(minutes=15)
"""How long these commands may take together, far less than what the clock is moved by; and how long ago a lease that is
given back ended."""


def test_after_the_clock_was_moved_commands_pages_and_records_have_the_clouds_time(upped: Checkout) -> None:
    upped.ok("reconcile", "ci")
    upped.ok("cloud", "clock", "--advance", "24h")
    moved = datetime.fromisoformat(upped.json("cloud", "clock")["time"])
    assert moved - machine_clock() > timedelta(hours=23)
    upped.ok("reconcile", "ci")
    upped.edit("ci", "us-west4-a: 2", "us-west4-a: 1")
    upped.ok("up", "ci")
    page, (status,) = upped.json("report", "--out", str(upped.root / "site")), upped.json("status", "ci")["stacks"]
    (cost,), entries = upped.json("cost", "ci")["stacks"], upped.json("history", "ci")["entries"]
    manifest = upped.json("manifest", "show", "ci")["manifest"]
    with clients(manifest["project"], upped.json("cloud", "status")["url"]) as google:
        lease = Records(google=google, bucket=manifest["bucket"]).body(bucket_names.lease_object("ci")) or {}
    times = {
        "report": page["made"], "status": status["at"], "its last sweep": status["sweep"]["at"], "cost": cost["until"],
        "history, began": entries[0]["began"], "history, ended": entries[0]["ended"],
        "lease, given back": (datetime.fromisoformat(lease["until"]) + SLACK).isoformat(),
    }  # fmt: skip
    late = {what: at for what, at in times.items() if not moved <= datetime.fromisoformat(at) <= moved + SLACK}
    assert late == {}, f"the clock was moved to {moved}"
    assert datetime.fromisoformat(entries[1]["began"]) < moved - timedelta(hours=23), "what was before stays before"
    seen = Seen((upped.root / "site" / "index.html").read_text())
    assert f"${float(cost['spent']):,.2f}" in seen.words
    assert f"{datetime.fromisoformat(entries[0]['began']):%Y-%m-%d %H:%M}" in seen.words


def test_a_command_that_asks_the_cloud_nothing_has_its_clock_too_also_when_it_is_stopped(upped: Checkout) -> None:
    upped.ok("cloud", "clock", "--advance", "48h")
    moved = begin_of_day(datetime.fromisoformat(upped.json("cloud", "clock")["time"]))
    for _ in range(2):
        assert datetime.fromisoformat(upped.json("calendar", "ci")["begin"]) == moved
        upped.ok("cloud", "stop")
