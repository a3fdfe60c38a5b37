"""The log of a sweep: what is asked for its lines, and what is told of what did not answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest

from infra.fleet.controller.decide import decide
from infra.fleet.controller.memory import EMPTY
from infra.fleet.controller.sweep import Swept
from infra.fleet.google import GoogleError
from infra.fleet.place import FleetPlace
from infra.fleet.records import Record
from infra.fleet.sweep_log import SweepLog
from infra.model import alerts, bucket_names
from tests.fleet.controller.given_fleet import START, fleet, seen


@dataclass
class Bucket:
    """A fleet bucket in which nothing stands. refuses: whether its images may not be read."""

    refuses: bool = False
    asked: list[str] = field(default_factory=list)

    def read(self, name: str, *, most: int | None = None) -> Record | None:
        del most
        self.asked.append(name)
        if self.refuses:
            raise GoogleError(f"reading {name}", "403 not yours", status=403)
        return None

    def below(self, prefix: str) -> list[str]:
        self.asked.append(prefix)
        return []


class NoGitHub:
    """Nobody waits for a job."""

    def together(self, repositories: list[str]) -> list[list[str]]:
        return [repositories]

    def queued(self, _: object) -> tuple[()]:
        return ()


def told(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, *, builds: bool) -> list[Mapping[str, Any]]:
    """The lines of one sweep over a fleet of one VM."""
    monkeypatch.setattr("infra.fleet.sweep_log.Records", lambda **_: bucket)
    desired = fleet(1)
    observed = seen(desired)
    sweep = Swept(
        at=START,
        desired=desired,
        observed=observed,
        decision=decide(desired, observed, EMPTY, START),
        outcomes=(),
    )
    lines: list[str] = []
    log(lines, builds=builds).swept(sweep)
    return [json.loads(line) for line in lines]


def log(lines: list[str], *, builds: bool = False) -> SweepLog:
    place = FleetPlace(
        project="a-lab",
        bucket="a-bucket",
        endpoint=None,
        github=cast(Any, NoGitHub()),
        clock=lambda: START + timedelta(minutes=3),
        builds=builds,
    )
    return SweepLog(stack="ci", place=place, google=cast(Any, None), key=None, write=lines.append)


def test_a_stack_that_builds_nothing_is_not_asked_for_its_images(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = Bucket(refuses=True)
    found = told(bucket, monkeypatch, builds=False)
    assert (bucket.asked, [line["event"] for line in found if line["event"] == alerts.IMAGE]) == ([], [])
    assert [line["event"] for line in found][:2] == [alerts.SWEEP, alerts.POOL]


def test_a_stack_that_builds_is_asked_once_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = Bucket()
    told(bucket, monkeypatch, builds=True)
    assert bucket.asked == [bucket_names.images_attempts_object(), bucket_names.images_begun_prefix()]


def test_images_that_do_not_answer_are_a_line_and_fail_no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = [line for line in told(Bucket(refuses=True), monkeypatch, builds=True) if line["event"] == alerts.IMAGE]
    assert line["severity"] == "WARNING"
    assert "how images stand cannot be told" in line["message"]
    assert "403 not yours" in line["message"]


def test_a_sweep_that_could_not_begin_is_told_at_the_time_of_the_cloud() -> None:
    lines: list[str] = []
    log(lines).unswept("another acts")
    assert [json.loads(line) for line in lines] == [
        {
            "time": (START + timedelta(minutes=3)).isoformat(),
            "stack": "ci",
            "severity": "ERROR",
            "message": "no sweep: another acts",
            "event": alerts.UNSWEPT,
            "reason": "another acts",
        }
    ]
