"""New versions on a fleet that lives: promoted or published, proved by a canary, everywhere, back where they are bad.

The tests run in order on one fleet of the local cloud, whose VMs obey their orders by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from bench.cloud.control import Control
from bench.registry import serve
from infra.model import names
from infra.model.stack import load_stack
from infra.tools.install import find
from tests.cli.conftest import Checkout
from tests.cli.test_images_commands import IMAGE, POOL, REPOSITORY, Lab
from tests.lacking import lacking

CANARY = "tpu-ci-europe-west4-b-0"
TRIES = 8
"""Sweeps within which a VM has tried an image five times, calls itself unfit, and serves again with the one before."""


@dataclass(frozen=True, slots=True)
class _Images(Lab):
    """The commands about images of a checkout's own fleet."""

    checkout: Checkout

    def run(self, *arguments: str) -> Result:
        return self.checkout.run("images", *arguments)


@pytest.fixture(scope="module")
def fleet(upped: Checkout) -> Checkout:
    """The ci stack, made and swept once, every runner online."""
    upped.ok("reconcile", "ci")
    upped.ok("cloud", "clock", "--advance", "2m")
    return upped


@pytest.fixture(scope="module")
def images(fleet: Checkout) -> Iterator[_Images]:
    if find("crane") is None:
        lacking("crane is not installed")
    registry = serve(fleet.home / "registry")
    url = fleet.json("cloud", "status")["url"]
    Control(url).set_registry(registry.address)
    config = load_stack(fleet.root, "ci")
    assert config.registries is not None
    paths = (names.docker_path(config.project, region, REPOSITORY) for region in config.registries.regions)
    yield _Images(fleet.home, registry.address, tuple(f"{path}/{IMAGE}" for path in paths), checkout=fleet)
    registry.stop()


def promoted(images: _Images, folder: Path, content: str, *, hours: int) -> str:
    """A build of this content, recorded and promoted; its digest."""
    images.ok("record", *images.build(folder, content, hours=hours))
    images.ok("promote", IMAGE, "--pool", POOL)
    return images.ok("current", IMAGE).stdout.strip()


def course(fleet: Checkout, sweeps: int) -> list[list[str]]:
    """The actions of so many sweeps, two minutes apart: what is done to whom."""
    done = []
    for _ in range(sweeps):
        swept = fleet.json("reconcile", "ci")
        done.append([f"{action['do']} {action['subject']}" for action in swept["actions"] if action["do"] != "report"])
        fleet.ok("cloud", "clock", "--advance", "2m")
    return done


def done_in(fleet: Checkout, sweeps: int) -> list[list[str]]:
    """What the sweeps did that did anything."""
    return [done for done in course(fleet, sweeps) if done]


def rollout(fleet: Checkout) -> dict[str, Any]:
    (found,) = fleet.json("rollout", "status", POOL)["rollouts"]
    return found


def guests(fleet: Checkout) -> dict[str, dict[str, Any]]:
    return {guest["vm"]: guest for guest in fleet.json("cloud", "guests")["guests"] if guest["vm"].startswith(POOL)}


def reports(fleet: Checkout, key: str) -> Counter[str]:
    """What the VMs of the pool say, and how many say so."""
    return Counter(str(guest[key]) for guest in guests(fleet).values())


def test_a_bad_image_is_taken_back_from_its_canary_and_status_says_why(images: _Images, tmp_path: Path) -> None:
    fleet, before = images.checkout, reports(images.checkout, "image")
    images.ok("record", *images.build(tmp_path, "bad", hours=2))
    bad = images.ok("current", IMAGE).stdout.strip()
    fleet.ok("cloud", "fail", "broken", "--running", f"*@{bad}")
    images.ok("promote", IMAGE, "--pool", POOL)
    assert done_in(fleet, TRIES) == [[f"assign {CANARY}"], [f"assign {CANARY}"]], "and no VM is made again for it"
    said = fleet.ok("rollout", "status", POOL).output
    assert f"{CANARY} says that it is unfit with it: runners end at once without a job" in " ".join(said.split())
    assert rollout(fleet)["stage"] == "failed"
    assert (reports(fleet, "image"), reports(fleet, "phase")) == (before, {"idle": 6})


@pytest.mark.heavy
def test_rollouts_rest_while_they_are_paused_and_are_taken_back_by_command(images: _Images, tmp_path: Path) -> None:
    fleet, before = images.checkout, reports(images.checkout, "image")
    three = promoted(images, tmp_path, "three", hours=3)
    assert course(fleet, 1) == [[f"assign {CANARY}"]]
    fleet.ok("rollout", "pause", POOL)
    assert course(fleet, 2) == [[], []]
    assert (rollout(fleet)["paused"], rollout(fleet)["proved"]) == (True, 1), "the canary keeps it and proves it"
    fleet.ok("rollout", "resume", POOL)
    assert [len(each) for each in course(fleet, 5)] == [2, 2, 1, 0, 0]
    assert {image.rpartition("@")[2] for image in reports(fleet, "image")} == {three}
    fleet.ok("rollout", "undo", POOL)
    back = course(fleet, 6)
    assert sorted(chain.from_iterable(back)) == [f"assign {vm}" for vm in sorted(guests(fleet))]
    assert max(map(len, back)) <= 2, "a share at a time"
    assert (rollout(fleet)["stage"], reports(fleet, "image")) == ("undone", before)
