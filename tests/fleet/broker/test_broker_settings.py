"""What a broker is told is checked whole, and what it says is what the documentation says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infra.fleet.broker import settings
from infra.fleet.broker.refusals import Reason
from infra.model.errors import ConfigError

DOCS = (Path(__file__).resolve().parents[3] / "docs" / "broker.md").read_text(encoding="utf-8")
GOOD = {
    settings.AUDIENCE: "https://broker.example.com",
    settings.PROJECT: "a-lab",
    settings.BUCKET: "a-lab-records",
    settings.APP: "12345",
    settings.INSTALLATION: "678",
    settings.KEY_SECRET: "projects/a-lab/secrets/app-key/versions/latest",
}


def test_what_is_not_said_is_googles_and_githubs() -> None:
    found = settings.read("ci", GOOD)
    assert (found.github_api, found.google_endpoint) == ("https://api.github.com", None)
    assert found.keys_url == "https://www.googleapis.com/oauth2/v3/certs"
    assert found.groups == {}


def test_another_google_has_keys_of_its_own() -> None:
    found = settings.read("ci", {**GOOD, settings.GOOGLE_ENDPOINT: "http://127.0.0.1:8123/"})
    assert found.keys_url == "http://127.0.0.1:8123/oauth2/v3/certs"


def test_all_that_is_missing_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        settings.read("ci", {})
    assert {problem.subject for problem in error.value.problems} == set(GOOD)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (settings.AUDIENCE, "http://broker.example.com"),
        (settings.GITHUB_API, "http://github.example.com/api/v3"),
        (settings.GITHUB_API, "https://user:word@github.example.com"),  # pragma: allowlist secret
        (settings.GOOGLE_ENDPOINT, "ftp://127.0.0.1"),
        (settings.KEYS_URL, "http://127.0.0.1.example.com/certs"),
        (settings.APP, "12a"),
        (settings.INSTALLATION, "-1"),
        (settings.KEY_SECRET, "projects/a-lab/secrets/app-key"),
        (settings.KEY_SECRET, "-----BEGIN RSA PRIVATE KEY-----"),  # pragma: allowlist secret
        (settings.GROUPS, "[]"),
        (settings.GROUPS, '{"member": 7}'),
        (settings.GROUPS, "member"),
    ],
)
def test_what_cannot_be_right_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings.read("ci", {**GOOD, name: value})
    assert [problem.subject for problem in error.value.problems] == [name]


def test_the_documented_refusals_are_those_there_are() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \| ([^|]+) \| (\d*) ?\|", DOCS, re.MULTILINE)
    assert rows == [(r.word, str(r.status), r.told, str(r.again) if r.again else "") for r in Reason]


def test_every_setting_is_documented() -> None:
    names = {value for name, value in vars(settings).items() if name.isupper() and str(value).startswith("TIDEPOOL_")}
    assert set(re.findall(r"^\| `(TIDEPOOL_[A-Z_]+)`", DOCS, re.MULTILINE)) == names
