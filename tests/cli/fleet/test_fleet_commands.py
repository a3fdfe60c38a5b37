"""Looking at a fleet and steering it, on a local cloud whose VMs take jobs."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from infra.cli.render.status import show_status
from infra.fleet.status.derive import status
from infra.local.cloud.github.control import GitHubControl
from tests.cli.conftest import Checkout
from tests.fleet.controller.given_fleet import fleet, nodes, seen, served, sweeps
from tests.fleet.status.given_scene import scene

VM = "tpu-ci-us-west4-a-1"


REPOSITORY = "marin-community/marin"


@pytest.fixture(scope="module")
def github(clouded: Checkout) -> GitHubControl:
    return GitHubControl(clouded.json("cloud", "status")["url"])


@pytest.fixture(scope="module")
def standing(clouded: Checkout) -> Checkout:
    """The ci stack, made, whose guests come up when somebody looks."""
    clouded.ok("up", "ci")
    return clouded


def test_a_stack_that_was_never_up_is_said_not_to_be_published(clouded: Checkout) -> None:
    said = clouded.ok("status", "training").output
    assert "nothing is published; `./tidepool up training` does it" in said


def test_the_status_of_a_fleet_is_a_line_a_table_and_what_comes_next(standing: Checkout) -> None:
    said = standing.ok("status").output.splitlines()
    head = next(index for index, line in enumerate(said) if line.startswith("ci  all well  at "))
    assert said[head + 1].split() == ["pool", "desired", "READY", "online", "busy", "queue", "oldest", "state"]
    assert said[head + 2].split()[:4] == ["tpu-ci", "6", "6", "6"]
    assert max(map(len, said)) <= 120


def test_on_a_terminal_of_80_columns_long_reasons_are_folded(capsys: pytest.CaptureFixture[str]) -> None:
    desired = fleet(3)
    lost = seen(desired, nodes=nodes(desired, s1="PREEMPTED"), runners=served(desired, but=(desired.slots[1].name,)))
    memory = sweeps(desired, lost, 2)[-1].memory
    for width in (80, 120):
        console = Console(force_terminal=True, width=width, highlight=False, markup=False, emoji=False)
        show_status(console, status(scene(desired, lost, memory=memory)))
        drawn = capsys.readouterr().out
        assert "PREEMPTED" in drawn
        assert max(len(line) for line in re.sub("\x1b[^m]*m", "", drawn).splitlines()) <= width
        assert "\x1b[" in drawn


def test_what_goes_to_a_file_has_no_colour_and_json_has_it_all(standing: Checkout, github: GitHubControl) -> None:
    for _ in range(2):
        github.queue_job(REPOSITORY, ["TPU", "tpu-v4"])
    assert "\x1b[" not in standing.ok("status", "ci").output
    (found,) = standing.json("status", "ci")["stacks"]
    queues = {pool["pool"]: (pool["busy"], pool["queue"]["waiting"]) for pool in found["pools"]}
    assert (queues["tpu-v4"], queues["tpu-v5p"]) == ((1, 1), (0, 0)), "one is taken, and the other waits"
    assert (found["healthy"], found["sweep"], found["next"]) == (True, None, [])
