"""`./tidepool bootstrap` as a person runs it, on the local cloud."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Checkout

BOOTSTRAP = ("bootstrap", "--cloud", "local")


def test_it_shows_its_plan_makes_it_and_names_the_three_commands_that_follow(checkout: Checkout) -> None:
    said = checkout.ok(*BOOTSTRAP).output
    assert "+ state bucket gs://hai-gcp-models-pulumi-state" in said
    assert said.index("+ state bucket") < said.index("made: state bucket")
    lines = [line.strip() for line in said.splitlines()]
    assert lines[-3] == "pulumi login gs://hai-gcp-models-pulumi-state"
    assert lines[-2].startswith("pulumi stack init ci --secrets-provider=gcpkms://projects/hai-gcp-models/")
    assert lines[-1] == "./tidepool up ci"


def test_a_second_run_makes_nothing(checkout: Checkout) -> None:
    checkout.ok(*BOOTSTRAP)
    answer = checkout.json(*BOOTSTRAP)
    assert not [step for step in answer["steps"] if step["made"]]
    assert answer["account"] == "tidepool-deployer@hai-gcp-models.iam.gserviceaccount.com"
    assert len(answer["next"]) == 3


def test_google_without_credentials_is_refused(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    result = checkout.run("bootstrap", "--cloud", "google")
    assert result.exit_code == 2
    assert "gcloud auth application-default login" in result.output
