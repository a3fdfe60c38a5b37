"""Every alert's mess made on the local cloud by a person's commands: it opens, its runbook is followed, it ends.

The tests run in order on one fleet, whose lines are those that Cloud Run would print. Whether an alert is open is asked
of `watched`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infra.fleet.google import Api, Clients, clients, execute
from infra.fleet.images.attempts import begin
from infra.fleet.images.store import Store
from infra.fleet.records import Records
from infra.fleet.sweep_log import key_line
from infra.model import bucket_names
from infra.model.alerts import FIGURES, KEY_DAYS
from infra.model.images.record import built
from infra.model.images.record_documents import Build
from infra.model.stack import parse_stack
from tests.cli.conftest import Checkout
from tests.cli.fleet.watched import ALERTS, Watch
from tests.program.test_serving import SERVED

PAGES = Path(__file__).resolve().parents[3] / "docs" / "runbooks"
PROJECT = "hai-gcp-models"
REPOSITORY = "marin-community/marin"
IMAGES = dict.fromkeys(("controller", "tpu-ci"))
V4 = "tpu-v4-us-central2-b-0"

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fleet:
    """The ci stack, made, and those who watch it."""

    checkout: Checkout
    watch: Watch
    url: str

    def ok(self, *arguments: str) -> str:
        return self.checkout.ok(*arguments).output

    def sweep(self, *options: str, code: int = 0) -> list[Line]:
        result = self.checkout.run("reconcile", "ci", *options, "--log", "json")
        assert result.exit_code == code, result.output
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.watch.printed(lines)
        return lines

    def now(self) -> datetime:
        return datetime.fromisoformat(self.checkout.json("cloud", "clock")["time"])

    def later(self, minutes: int) -> None:
        self.ok("cloud", "clock", "--advance", f"{minutes}m")

    def open(self, key: str, *, in_minutes: int = 0) -> set[str]:
        """Of what an alert is open now, or will be if nothing more is printed."""
        return self.watch.open(key, self.now() + timedelta(minutes=in_minutes))

    def sweep_until(self, settled: Callable[[], bool], *, every: int, most: int) -> int:
        """Sweeps at this pace until something is so, and after how many minutes it was."""
        for minutes in range(0, most, every):
            self.sweep()
            if settled():
                return minutes
            self.later(every)
        raise AssertionError(f"not so within {most} minutes")

    def told(self, key: str, subject: str) -> Line:
        """The line that a sweep prints, now that an alert is open for one subject alone; its page is followed."""
        (line,) = counted(key, self.sweep())
        assert self.open(key) == {subject}
        self.follow(key)
        return line

    def well(self, key: str) -> None:
        """The next sweep prints nothing of an alert, which ends."""
        assert not counted(key, self.sweep())
        assert not self.open(key, in_minutes=ALERTS[key].window)

    def follow(self, key: str) -> None:
        """Every command of a page that is ours, of one VM."""
        commands = re.findall(r"^ *\./tidepool (.+)$", (PAGES / f"{key}.md").read_text(), flags=re.MULTILINE)
        assert commands
        for command in dict.fromkeys(commands):
            self.ok(*command.replace("VM", V4).replace("POOL", "tpu-v4").split())


@pytest.fixture(scope="module")
def fleet(clouded: Checkout) -> Fleet:
    """The ci stack with its broker, controller and alerts declared, every runner online."""
    clouded.edit("ci", "  tidepool:secrets:\n", SERVED.replace("    groups: {member: tpu-member}\n", ""))
    clouded.ok("up", "ci")
    url = clouded.json("cloud", "status")["url"]
    made = Fleet(clouded, Watch(), url)
    made.later(2)
    made.sweep()
    return made


@pytest.fixture
def google(fleet: Fleet) -> Iterator[Clients]:
    with clients(PROJECT, fleet.url) as found:
        yield found


@pytest.fixture
def records(fleet: Fleet, google: Clients) -> Records:
    return Records(google=google, bucket=parse_stack(fleet.checkout.text("ci"), stack="ci", source="ci").bucket.name)


def counted(key: str, lines: list[Line]) -> list[Line]:
    return [line for line in lines if ALERTS[key].match.fits(line)]


def pages() -> list[Path]:
    return sorted(PAGES.glob("*.md"))


def test_every_alert_has_its_page_and_every_page_its_alert() -> None:
    assert {page.stem for page in pages()} - {"README"} == ALERTS.keys()
    index = (PAGES / "README.md").read_text()
    for key, alert in ALERTS.items():
        text = (PAGES / f"{key}.md").read_text()
        assert text.splitlines()[0] == f"# {alert.title}"
        assert re.findall("^## (.+)$", text, flags=re.MULTILINE) == ["Look", "Do", "It ends"]
        assert f"]({key}.md)" in index
        first = alert.command("ci", "POOL")
        assert first in re.findall(r"^\./tidepool .+$", text.partition("## Do")[0], flags=re.MULTILINE), key


def test_a_fleet_that_is_well_alerts_nobody(fleet: Fleet) -> None:
    lines = fleet.sweep()
    pools = {line["pool"]: line for line in lines if line["event"] == "pool"}
    assert all(figure.match.fits(line) for figure in FIGURES for line in pools.values())
    assert (pools["tpu-ci"]["desired"], pools["tpu-ci"]["online"], pools["tpu-ci"]["queue"]) == (6, 6, 0)
    assert all(line["severity"] and line["message"] and line["stack"] == "ci" for line in lines)
    assert [key for key in ALERTS if fleet.open(key)] == []
    for key in ("broker-refusals", "capacity-lost"):  # tests/fleet/simulation/test_bad_day.py opens them
        fleet.follow(key)


def test_a_pool_without_a_runner_is_told_until_its_runner_is_back(fleet: Fleet) -> None:
    fleet.ok("cloud", "fail", "mute", "--name", V4)
    fleet.ok("cloud", "node", "remove", V4)
    allowed = ALERTS["no-runner-online"].lasting
    assert allowed <= fleet.sweep_until(lambda: fleet.open("no-runner-online") == {"tpu-v4"}, every=8, most=64)
    fleet.ok("cloud", "fail", "--mend-all")
    fleet.follow("no-runner-online")
    fleet.sweep_until(lambda: not fleet.open("no-runner-online"), every=8, most=64)
    assert fleet.checkout.json("status", "ci")["stacks"][0]["healthy"]


def test_a_job_that_waits_long_is_told_for_its_pool(fleet: Fleet) -> None:
    running, waiting = (fleet.checkout.json("cloud", "job", "queue", REPOSITORY, "tpu-v4") for _ in range(2))
    assert (running["vm"], waiting["vm"]) == (V4, None)
    fleet.sweep()
    assert not fleet.open("queue-old")
    fleet.later(31)
    line = fleet.told("queue-old", "tpu-v4")
    assert (line["queue"], line["oldest_minutes"] in (31, 32)) == (1, True)
    for job in (running, waiting):
        fleet.ok("cloud", "job", "end", str(job["id"]))
        fleet.later(6)
    fleet.sweep()
    assert not fleet.open("queue-old")


def test_a_sweep_that_cannot_begin_says_why_and_is_missed(fleet: Fleet) -> None:
    fleet.sweep()
    fleet.ok("cloud", "fail", "error", "--code", "403", "--method", "storage.objects.get")
    fleet.later(25)
    (line,) = fleet.sweep(code=1)
    assert (line["event"], line["severity"]) == ("unswept", "ERROR")
    assert "403" in line["reason"]
    assert not fleet.open("sweep-missing")
    fleet.later(6)
    assert fleet.open("sweep-missing") == {""}
    assert fleet.open("sweep-missing", in_minutes=24 * 60) == {""}, "it stays open for as long as nothing is heard"
    fleet.ok("cloud", "fail", "--mend-all")
    fleet.follow("sweep-missing")
    fleet.sweep()
    assert not fleet.open("sweep-missing")


def test_a_pool_that_is_made_again_and_again_is_told(fleet: Fleet, google: Clients) -> None:
    nodes = google.api(Api.TPU).projects().locations().nodes()
    declared = fleet.checkout.json("manifest", "show", "ci")["manifest"]["slots"]
    vms = [f"projects/{PROJECT}/locations/{s['zone']}/nodes/{s['name']}" for s in declared if s["pool"] == "tpu-ci"]
    lines: list[Line] = []
    for again in range(3):
        for path in vms[2 * again : 2 * again + 2]:
            execute(nodes.stop(name=path), f"stopping {path}")
        fleet.later(1)
        lines += counted("heal-rate-high", fleet.sweep())
        assert bool(fleet.open("heal-rate-high")) == (again == 2)
        fleet.later(15)
    assert {(line["pool"], line["rule"], line["result"]) for line in lines} == {("tpu-ci", "slot-stopped", "done")}
    fleet.follow("heal-rate-high")
    assert fleet.open("heal-rate-high", in_minutes=5) == {"tpu-ci"}
    assert not fleet.open("heal-rate-high", in_minutes=60)


@pytest.mark.heavy
def test_a_rollout_that_its_canary_does_not_survive_is_told_until_another_target_stands(
    fleet: Fleet, records: Records
) -> None:
    """The new target is a bundle that is not there, so that no VM boots with it."""
    records.update(bucket_names.manifest_object("ci"), lambda held: {**(held or {}), "bundle": f"sha256:{'0' * 64}"})
    fleet.sweep("--until-settled", "--every", "1200")
    assert fleet.open("canary-failed") == {"tpu-ci", "tpu-v4", "tpu-v5p", "tpu-v6e"}
    fleet.follow("canary-failed")
    fleet.ok("up", "ci", "--refresh")
    fleet.well("canary-failed")


def test_the_age_of_the_latest_key_is_told_and_a_new_key_ends_it(
    fleet: Fleet, google: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version is the one that the declared job is told of; the key in it is nobody's."""
    job = google.api(Api.RUN).projects().locations().jobs()
    found = job.get(name=f"projects/{PROJECT}/locations/us-central1/jobs/tidepool-ci-controller").execute()
    (container,) = found["template"]["template"]["containers"]
    (version,) = [each["value"] for each in container["env"] if each["name"] == "TIDEPOOL_GITHUB_KEY_SECRET"]
    monkeypatch.setenv("TIDEPOOL_GITHUB_KEY_SECRET", version)
    secrets = google.api(Api.SECRETS).projects().secrets()

    def add() -> None:
        secrets.addVersion(parent=version.partition("/versions/")[0], body={"payload": {"data": "a2V5"}}).execute()

    def said() -> Line:
        (line,) = [each for each in fleet.sweep() if each["event"] == "key"]
        return line

    def open_after(days: int) -> set[str]:
        """As a sweep says it by then; the cloud's clock would keep every schedule for so long."""
        then = fleet.now() + timedelta(days=days)
        fleet.watch.printed([key_line(google, "ci", version, then)])
        return fleet.watch.open("app-key-old", then)

    assert "age_days" not in said(), "there is no version yet"
    add()
    assert (said()["secret"], said()["version"], said()["age_days"]) == ("tidepool-github-app-key", "1", 0)
    assert (open_after(KEY_DAYS - 1), open_after(KEY_DAYS + 1)) == (set(), {""})
    fleet.follow("app-key-old")
    fleet.later(24 * 60)
    add()
    assert (said()["version"], said()["age_days"]) == ("2", 0)
    assert not open_after(KEY_DAYS - 1), "the first is by then old enough"


def test_an_image_is_told_while_its_build_left_no_record_and_while_nothing_built_it_at_its_times(
    fleet: Fleet, records: Records
) -> None:
    def begins(build: str) -> None:
        at = fleet.now()
        begin(records, ["tpu-ci"], build, at, at + timedelta(hours=4), declared=IMAGES)

    def recorded(digit: str) -> None:
        at = fleet.now()
        build = Build(
            digest=f"sha256:{digit * 64}", revision={}, built=at, build=f"cloudbuild/{digit}", places=(),
            due_by=at + timedelta(days=2),
        )  # fmt: skip
        Store(record=records, pointers={}).update(lambda held: built(held, "tpu-ci", build)[0])
        begins(build.build)
        fleet.well("image-old")

    begins("cloudbuild/lost")
    assert not counted("image-build-failed", fleet.sweep()), "it is at work"
    fleet.later(4 * 60 + 1)
    fleet.told("image-build-failed", "tpu-ci")
    begins("cloudbuild/next")
    fleet.well("image-build-failed")
    recorded("1")
    fleet.later(49 * 60 + 1)
    line = fleet.told("image-old", "tpu-ci")
    assert (line["overdue_hours"], line["failed"]) == (1, 0)
    recorded("2")
