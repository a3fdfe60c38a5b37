"""What a plain `pulumi up` cannot do, the way out that it names, and what `./tidepool up` does by itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest
from pulumi import automation

from infra.engines import EngineName
from infra.engines.official.workspace import place_of, workspace
from tests.engines.live.acts import deleted_by_hand
from tests.engines.live.kills import creating, killed
from tests.engines.live.live_stacks import EDITS, SMALL, write_small
from tests.engines.live.live_worlds import World, begun, stopped, tidepool

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("official")]


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = begun(tmp_path_factory.mktemp("plain"), EngineName.PULUMI, SMALL, write_small)
    assert not made.make(EngineName.LOCAL).up().failed
    yield made
    stopped(made)


def pulumi(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the CLI itself, in a project that points at the local cloud."""
    with workspace(world.request, place_of(world.request, os.environ), automation.PulumiCommand()) as work:
        environ = {**os.environ, **work.env_vars, "PULUMI_SKIP_UPDATE_CHECK": "true"}
        command = ["pulumi", *words, "--yes", "--stack", SMALL, "--non-interactive"]
        return subprocess.run(
            command, cwd=work.work_dir, env=environ, text=True, capture_output=True, check=False, timeout=600
        )


def test_after_a_kill_a_plain_up_fails_with_409_and_names_the_command_that_ends_it(world: World) -> None:
    world.edit(*EDITS[SMALL]["one more"])
    killed(world, creating)
    assert pulumi(world, "cancel").returncode == 0
    failed = pulumi(world, "up", "--skip-preview")
    assert failed.returncode != 0
    assert "409" in failed.stdout + failed.stderr
    assert f"./tidepool adopt {SMALL}" in failed.stdout + failed.stderr
    assert not world.make().adopt().failed
    done = pulumi(world, "up", "--skip-preview")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("engine", list(EngineName))
def test_up_of_either_engine_makes_a_vm_that_was_deleted_by_hand_with_its_new_label(
    world: World, engine: EngineName
) -> None:
    deleted_by_hand(world)
    world.edit(("team: blue", "team: green"))
    done = tidepool(world, "up", SMALL, "--engine", engine.value, "--cloud", "local", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {node["labels"]["team"] for node in world.nodes().values()} == {"green"}
