"""A preview that Google's plugin refuses: exit code 1, each refusal with its resource, and no digest of the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.engines import EngineName
from tests.engines.live.live_stacks import SMALL, write_small
from tests.engines.live.live_worlds import World, begun, stopped, tidepool

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("official")]

REFUSED = """
import pulumi_gcp as gcp

for number in (1, 2):
    gcp.compute.Firewall(
        f"wall-{number}",
        name=f"wall-{number}",
        network="default",
        allows=[gcp.compute.FirewallAllowArgs(protocol="tcp")],
    )
"""
"""What the plugin refuses at plan time: an INGRESS rule without any source."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A checkout whose program declares two firewalls more than the project's."""
    made = begun(tmp_path_factory.mktemp("refused"), EngineName.PULUMI, SMALL, write_small)
    with (made.root / "infra" / "__main__.py").open("a") as program:
        program.write(REFUSED)
    yield made
    stopped(made)


def test_a_plan_that_broke_off_is_marked_and_has_no_digest(world: World, tmp_path: Path) -> None:
    done = tidepool(world, "preview", SMALL, "--engine", "pulumi", "--cloud", "local", "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["complete"] is False
    refused = {said["urn"].rpartition("::")[2] for said in document["diagnostics"] if said["severity"] == "error"}
    assert {"wall-1", "wall-2"} <= refused
    plan = tmp_path / "plan.json"
    plan.write_text(done.stdout)
    for words in (("digest", str(plan)), ("approval", str(plan))):
        answer = tidepool(world, "plan", *words)
        assert answer.returncode == 1
        assert not answer.stdout, "neither a digest nor an approval is made of it"
        assert SMALL in answer.stderr
