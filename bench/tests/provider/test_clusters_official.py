"""Changes of clusters and node pools: the embedded provider makes the calls that Google's own makes, part by part.

Runs where `pulumi-resource-gcp` is on PATH (`./tidepool test --live`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from bench.providers.google import GoogleProvider
from bench.tests.provider.conftest import PROJECT
from bench.tests.provider.lives import LIVES, Life
from bench.tests.provider.official_provider import OfficialProvider

pytestmark = pytest.mark.live

CHANGES = [
    (life, {name: value})
    for life in LIVES
    if life.token.startswith("gcp:container/")
    for name, value in {
        **life.change,
        **(
            {"placementPolicy": {"type": "COMPACT", "tpuTopology": "2x2x1"}} if "placementPolicy" in life.inputs else {}
        ),
    }.items()
]


@pytest.fixture
def official(tool: Callable[[str], str], cloud: TestCloud) -> Iterator[OfficialProvider]:
    """Started for each test: the plugin keeps the pools of a cluster in memory for five minutes."""
    with closing(OfficialProvider.of_google(tool("pulumi-resource-gcp"), cloud.url, PROJECT)) as started:
        yield started


def calls(cloud: TestCloud, after: int) -> list[tuple[str, str]]:
    """What changed something since a number of the cloud's log, sorted: each is an operation of its own."""
    entries = cloud.control.log(limit=1000, after=after)
    found = [(entry["verb"], entry["path"]) for entry in entries if entry["verb"] != "GET"]
    return sorted(each for each in found if "/container/" in each[1])


def last(cloud: TestCloud) -> int:
    return cloud.control.log(limit=1)[-1]["number"]


@pytest.mark.parametrize(
    ("life", "change"), CHANGES, ids=lambda each: str(each) if isinstance(each, Life) else "-".join(each)
)
def test_a_change_takes_the_same_calls(
    life: Life,
    change: dict[str, Any],
    official: OfficialProvider,
    cloud: TestCloud,
    provider: GoogleProvider,
    virtual: Any,
) -> None:
    """A changed topology takes none at all: neither provider tells GKE of it."""
    token, inputs, wanted = life.token, life.inputs, {**life.inputs, **change}
    life.meet_needs(provider, virtual)
    old, new = official.check(token, inputs)[0], official.check(token, wanted)[0]
    made, outputs = official.create(token, old)
    before = last(cloud)
    after = official.update(token, made, old, outputs, new)
    theirs = calls(cloud, before)
    official.delete(token, made, after)

    cloud.control.reset()
    life.meet_needs(provider, virtual)
    old = provider.check(token, inputs).inputs
    new = provider.check(token, wanted).inputs
    created = provider.create(token, old, None, virtual)
    before = last(cloud)
    outputs = provider.update(token, created.id, created.outputs, new, virtual)
    assert calls(cloud, before) == theirs
    assert not official.diff(token, created.id, new, outputs, new).replaces
    assert theirs or "placementPolicy" in change
