"""Which fleet is shown: of the cloud that is meant, as the stack file says, also while somebody is editing it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from dataclasses import dataclass

import pytest

from bench.cloud import daemon
from tests.cli.conftest import Checkout
from tests.synthetic_lab import lend

ENGINELESS = [
    ("status", "ci"),
    ("why", "tpu-ci-us-west4-a-0"),
    ("manifest", "show", "ci", "--yes"),
    ("reconcile", "ci", "--yes"),
    ("drain", "tpu-ci", "--yes"),
    ("rollout", "status", "tpu-ci"),
]


@dataclass(frozen=True, slots=True)
class WithCredentials(Checkout):
    """A machine with Google credentials, which reach nobody, and without the pulumi CLI."""

    @property
    def environ(self) -> dict[str, str]:
        return Checkout(self.root).environ | {"GOOGLE_APPLICATION_CREDENTIALS": str(self.root / "no-such-key.json")}


@dataclass(frozen=True, slots=True)
class WithGit(Checkout):
    """A repository whose last commit has right stack files."""

    @property
    def environ(self) -> dict[str, str]:
        return Checkout(self.root).environ | {"PATH": os.defpath}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Checkout]:
    """A checkout whose local cloud runs and has nothing."""
    root = lend(tmp_path_factory.mktemp("lab"))
    yield Checkout(root)
    daemon.stop(root / ".tidepool")


@pytest.mark.parametrize("command", ENGINELESS, ids=" ".join)
def test_with_google_credentials_and_no_pulumi_the_fleet_at_google_is_meant(
    lab: Checkout, command: tuple[str, ...]
) -> None:
    result = WithCredentials(lab.root).run(*command)
    assert "on Google Cloud: " in result.output
    assert "local cloud" not in result.output
    assert "pulumi" not in result.output
    assert "all well" not in result.output
    assert "fault of Tidepool" not in result.output, result.output


@pytest.mark.parametrize("command", ["up", "preview", "refresh", "destroy", "adopt"])
def test_what_needs_an_engine_shows_no_local_cloud_to_who_has_credentials(lab: Checkout, command: str) -> None:
    result = WithCredentials(lab.root).run(command, "ci")
    assert (result.exit_code, "add --cloud local" in result.output) == (2, True), result.output
    assert "the pulumi CLI is not on PATH" in result.output


@pytest.mark.parametrize("broken", ["", "{", "config: []\n", "config:\n  gcp:project: 7\n", "\x00"])
def test_a_broken_working_tree_hides_no_fleet(lab: Checkout, broken: str) -> None:
    lab = committed(lab)
    good = lab.text("ci")
    lab.path("ci").write_text(broken)
    try:
        said = lab.ok("status", "ci").output
        (found,) = lab.json("status", "ci")["stacks"]
    finally:
        lab.path("ci").write_text(good)
    assert "ci  not deployed" in said
    assert "stacks/Pulumi.ci.yaml" in said
    assert (found["healthy"], found["unapplied"]) == (None, None), "what is meant is not known"


def committed(lab: Checkout) -> WithGit:
    """The stack files as they are, as the last commit of a repository."""
    if not (lab.root / ".git").exists():
        author = ["-c", "user.name=lab", "-c", "user.email=lab@example.org"]
        for command in (["init", "-q"], ["add", "stacks"], [*author, "commit", "-q", "-m", "stacks"]):
            subprocess.run(["git", "-C", lab.root, *command], check=True)
    return WithGit(lab.root)
