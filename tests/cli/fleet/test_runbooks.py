"""Every alert's mess made on the local cloud by a person's commands: its line is printed, its runbook's commands work.

The tests run in order on one fleet, whose lines are those that Cloud Run would print.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from infra.cli.local_github import local_app
from infra.fleet.broker.audit import Story, entry
from infra.fleet.broker.decide import Request
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.google import clients
from infra.fleet.records import Records
from infra.fleet.sweep_lines import key_line
from infra.model import names
from infra.model.alerts import FIGURES, KEY_DAYS, Alert, alerts
from infra.model.stack import parse_stack
from tests.cli.conftest import Checkout
from tests.program.stacks import text_of
from tests.program.test_serving import SERVED

if TYPE_CHECKING:
    from infra.local.cloud.testing import TestCloud

PAGES = Path(__file__).resolve().parents[3] / "docs" / "runbooks"
REPOSITORY = "marin-community/marin"
V4 = "tpu-v4-us-central2-b-0"
ALERTS: dict[str, Alert] = {each.key: each for each in alerts(parse_stack(text_of("ci"), stack="ci", source="ci"))}

Line = dict[str, Any]


@pytest.fixture(scope="module")
def fleet(clouded: Checkout) -> Checkout:
    """The ci stack with its broker, controller and alerts declared, every runner online."""
    clouded.edit("ci", "  tidepool:secrets:\n", SERVED.replace("    groups: {member: tpu-member}\n", ""))
    clouded.ok("up", "ci")
    sweep(clouded)
    return clouded


def sweep(fleet: Checkout, *options: str, code: int = 0) -> list[Line]:
    result = fleet.run("reconcile", "ci", *options, "--log", "json")
    assert result.exit_code == code, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def counted(key: str, lines: list[Line]) -> list[Line]:
    return [line for line in lines if ALERTS[key].match.fits(line)]


def follow(key: str, fleet: Checkout) -> None:
    """Every command of a page that is ours, of one VM."""
    commands = re.findall(r"^ *\./tidepool (.+)$", (PAGES / f"{key}.md").read_text(), flags=re.MULTILINE)
    assert commands
    for command in dict.fromkeys(commands):
        fleet.ok(*command.replace("VM", V4).split())


def test_every_alert_has_its_page_and_every_page_its_alert() -> None:
    pages = {page.stem for page in PAGES.glob("*.md")} - {"README"}
    assert pages == ALERTS.keys()
    index = (PAGES / "README.md").read_text()
    for key, alert in ALERTS.items():
        text = (PAGES / f"{key}.md").read_text()
        assert text.splitlines()[0] == f"# {alert.title}"
        assert re.findall("^## (.+)$", text, flags=re.MULTILINE) == ["Look", "Do", "It ends"]
        assert f"]({key}.md)" in index


def test_a_line_is_told_by_its_filter_and_by_nothing_else() -> None:
    match = ALERTS["no-runner-online"].match
    assert match.text() == 'jsonPayload.event="pool" AND jsonPayload.online<=0 AND jsonPayload.desired>=1'
    assert match.fits({"event": "pool", "online": 0, "desired": 2})
    assert not match.fits({"event": "pool", "desired": 2}), "what GitHub did not say is not none"
    assert not match.fits({"event": "pool", "online": 0, "desired": 0})
    assert not match.fits({"event": "sweep", "online": 0, "desired": 2})


def test_a_fleet_that_is_well_alerts_nobody_and_sweeps(fleet: Checkout) -> None:
    lines = sweep(fleet)
    assert [key for key in ALERTS if counted(key, lines)] == ["sweep-missing"], "its lines are those that are missed"
    pools = {line["pool"]: line for line in lines if line["event"] == "pool"}
    assert all(figure.match.fits(line) for figure in FIGURES for line in pools.values())
    assert (pools["tpu-ci"]["desired"], pools["tpu-ci"]["online"], pools["tpu-ci"]["queue"]) == (6, 6, 0)
    assert all(line["severity"] and line["message"] and line["stack"] == "ci" for line in lines)


def test_what_is_declared_stands_and_a_preview_shows_nothing_to_do(fleet: Checkout) -> None:
    declared = fleet.json("output", "ci")["serving"]["alerts"]
    assert declared.keys() == ALERTS.keys()
    plan = fleet.json("preview", "ci", "--refresh")
    assert {step["op"] for step in plan["steps"]} <= {"same", "read", "refresh"}


def test_a_pool_without_a_runner_is_told_until_its_runner_is_back(fleet: Checkout) -> None:
    fleet.ok("cloud", "runner", "lose", V4)
    assert [line["pool"] for line in counted("no-runner-online", sweep(fleet))] == ["tpu-v4"]
    fleet.ok("cloud", "clock", "--advance", "21m")
    follow("no-runner-online", fleet)
    fleet.ok("cloud", "clock", "--advance", "5m")
    assert not counted("no-runner-online", sweep(fleet))


def test_a_job_that_waits_long_is_told_for_its_pool(fleet: Checkout) -> None:
    running, waiting = (fleet.json("cloud", "job", "queue", REPOSITORY, "tpu-v4") for _ in range(2))
    assert (running["vm"], waiting["vm"]) == (V4, None)
    assert not counted("queue-old", sweep(fleet))
    fleet.ok("cloud", "clock", "--advance", "31m")
    (line,) = counted("queue-old", sweep(fleet))
    assert (line["pool"], line["queue"]) == ("tpu-v4", 1)
    assert line["oldest_minutes"] in (31, 32)
    follow("queue-old", fleet)
    for job in (running, waiting):
        fleet.ok("cloud", "job", "end", str(job["id"]))
        fleet.ok("cloud", "clock", "--advance", "1m")
    assert not counted("queue-old", sweep(fleet))


def test_a_sweep_that_cannot_begin_says_why_and_is_missed(fleet: Checkout) -> None:
    fleet.ok("cloud", "fail", "error", "--code", "403", "--method", "storage.objects.get")
    (line,) = sweep(fleet, code=1)
    assert (line["event"], line["severity"]) == ("unswept", "ERROR")
    assert "403" in line["reason"]
    assert not counted("sweep-missing", [line])
    fleet.ok("cloud", "fail", "--mend-all")
    follow("sweep-missing", fleet)
    assert len(counted("sweep-missing", sweep(fleet))) == 1


def test_every_replacement_is_counted_for_its_pool(fleet: Checkout) -> None:
    for index in (0, 1):
        fleet.ok("cloud", "preempt", f"tpu-ci-us-west4-a-{index}")
    lines = counted("heal-rate-high", sweep(fleet))
    assert [(line["pool"], line["rule"], line["result"]) for line in lines] == [
        ("tpu-ci", "slot-preempted", "done")
    ] * 2
    assert ALERTS["heal-rate-high"].above == 5, "one less than the limit, since more than it cannot be"
    follow("heal-rate-high", fleet)


@pytest.mark.parametrize(
    ("reason", "told"), [(Reason.GITHUB_REFUSED, True), (Reason.FORGED, True), (Reason.DRAINING, False)]
)
def test_refusals_are_counted_but_for_those_that_are_meant(reason: Reason, told: bool, fleet: Checkout) -> None:
    story = Story(request=Request(stack="ci", vm=V4, pool="tpu-v4"))
    line = entry(story, Refused(reason), at=datetime.now(UTC), milliseconds=1.0)
    assert bool(counted("broker-refusals", [line])) == told
    assert not counted("broker-refusals", [entry(story, None, at=datetime.now(UTC), milliseconds=1.0)])
    if reason is Reason.GITHUB_REFUSED:
        follow("broker-refusals", fleet)


def test_the_age_of_the_latest_key_is_told_and_a_new_key_ends_it(cloud: TestCloud, fleet: Checkout) -> None:
    def made() -> str:
        return local_app(cloud.url, "hai-gcp-models", slug="tidepool-ci", repositories=[REPOSITORY]).key_secret

    later = datetime.now(UTC) + timedelta(days=KEY_DAYS + 1)
    with clients("hai-gcp-models", cloud.url) as google:
        version = made()
        line = dict(key_line(google, "ci", version, later))
        assert counted("app-key-old", [line]) == [line]
        assert (line["secret"], line["version"]) == ("tidepool-ci-app-key", "1")
        made()
        assert key_line(google, "ci", version, later)["version"] == "2"
        assert not counted("app-key-old", [dict(key_line(google, "ci", version, later - timedelta(days=2)))])
    follow("app-key-old", fleet)


def test_a_rollout_that_its_canary_does_not_survive_is_told_until_another_target_stands(fleet: Checkout) -> None:
    """The new target is a bundle that is not there, so that no VM boots with it."""
    config = parse_stack(fleet.text("ci"), stack="ci", source="ci")
    url = fleet.json("cloud", "status")["url"]
    with clients(config.project, url) as google:
        records = Records(google=google, bucket=config.bucket.name)
        records.update(names.pointer_object(), lambda pointer: {**(pointer or {}), "bundle": "0" * 64})
    lines = sweep(fleet, "--until-settled", "--every", "1200")
    assert {line["subject"] for line in counted("canary-failed", lines)} == {pool.name for pool in config.pools}
    follow("canary-failed", fleet)
    fleet.ok("manifest", "publish", "ci")
    assert not counted("canary-failed", sweep(fleet))
