"""Which fleet is shown: of the cloud that is meant, as the stack file says, also while somebody is editing it."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.conftest import Checkout, git

ENGINELESS = [
    ("status", "ci"),
    ("why", "tpu-ci-us-west4-a-0"),
    ("manifest", "show", "ci", "--yes"),
    ("reconcile", "ci", "--yes"),
    ("drain", "tpu-ci", "--yes"),
    ("rollout", "status", "tpu-ci"),
]


CREDENTIALS = {"GOOGLE_APPLICATION_CREDENTIALS": "/no/such/key.json"}
"""Which reach nobody."""


@pytest.mark.parametrize("command", ENGINELESS, ids=" ".join)
def test_with_google_credentials_and_no_pulumi_the_fleet_at_google_is_meant(
    checkout: Checkout, command: tuple[str, ...]
) -> None:
    result = checkout.run(*command, **CREDENTIALS)
    assert "on Google Cloud: " in result.output
    assert "local cloud" not in result.output
    assert "pulumi" not in result.output
    assert "all well" not in result.output
    assert "fault of Tidepool" not in result.output, result.output


@pytest.mark.parametrize("command", ["up", "preview", "refresh", "destroy", "adopt"])
def test_what_needs_an_engine_shows_no_local_cloud_to_who_has_credentials(checkout: Checkout, command: str) -> None:
    result = checkout.run(command, "ci", **CREDENTIALS)
    assert (result.exit_code, "add --cloud local" in result.output) == (2, True), result.output
    assert "the pulumi CLI is not on PATH" in result.output


@pytest.mark.parametrize("broken", ["", "{", "config: []\n", "config:\n  gcp:project: 7\n", "\x00"])
def test_a_broken_working_tree_hides_no_fleet(checkout: Checkout, broken: str) -> None:
    good = checkout.text("ci")
    if not (checkout.root / ".git").exists():
        for command in (["init", "-q"], ["add", "stacks"], ["commit", "-q", "-m", "stacks"]):
            git(checkout.root, *command)
    checkout.path("ci").write_text(broken)
    said, told = (checkout.run("status", "ci", *more, PATH=os.defpath) for more in ((), ("--json",)))
    checkout.path("ci").write_text(good)
    assert (said.exit_code, "ci  not deployed" in said.output) == (0, True), said.output
    assert "stacks/Pulumi.ci.yaml" in said.output
    (found,) = json.loads(told.stdout)["stacks"]
    assert (found["healthy"], found["unapplied"]) == (None, None), "what is meant is not known"
