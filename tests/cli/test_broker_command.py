"""`./tidepool broker serve`: where its settings come from, and what it prints."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from infra.cli.app import cli
from infra.fleet.broker import settings
from infra.model.clock import machine_clock
from infra.operations import broker

ENVIRON = {
    settings.AUDIENCE: "https://broker.example.com",
    settings.PROJECT: "a-lab",
    settings.BUCKET: "a-lab-records",
    settings.APP: "12",
    settings.INSTALLATION: "34",
    settings.KEY_SECRET: "projects/a-lab/secrets/app-key/versions/latest",
}


def test_all_that_is_wrong_with_the_environment_is_told_before_anything_is_served() -> None:
    wrong = {**ENVIRON, settings.APP: "mine", settings.GITHUB_API: "http://github.example.com"}
    ran = CliRunner().invoke(cli, ["broker", "serve", "ci"], env=wrong)
    assert ran.exit_code == 2
    assert settings.APP in ran.output
    assert settings.GITHUB_API in ran.output


def test_a_container_needs_no_stack_file_and_people_leave_out_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    monkeypatch.setattr("infra.operations.broker.serve", lambda _settings, _tell, **where: served.append(where))
    ran = CliRunner().invoke(cli, ["broker", "serve", "no-such-stack"], env={**ENVIRON, "PORT": "9001"})
    assert ran.exit_code == 0, ran.output
    assert served == [{"host": "127.0.0.1", "port": 9001, "clock": machine_clock}]
    little = {key: value for key, value in ENVIRON.items() if key not in (settings.PROJECT, settings.BUCKET)}
    assert CliRunner().invoke(cli, ["broker", "serve", "ci"], env=little).exit_code == 0
    assert CliRunner().invoke(cli, ["broker", "serve", "no-such-stack"], env=little).exit_code == 2


def test_a_decision_is_a_line_for_people_or_an_object_for_programs() -> None:
    facts = {
        "time": "2026-11-21T08:00:00.123+00:00", "outcome": "refused", "status": 403, "reason": "draining", "vm": "a-0",
    }  # fmt: skip
    assert broker.said(facts) == "2026-11-21T08:00:00 refused 403 draining a-0"
    assert json.loads(broker.line(facts)) == facts
