"""A broker over real HTTP, and its surroundings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import pytest

from bench.cloud import tokens
from tests.fleet.broker.broker_world import Host, World, a_world


@pytest.fixture(scope="session", autouse=True)
def few_keys() -> Iterator[None]:
    """Six RSA keys for all worlds in turn: making one takes longer than most tests."""
    keys = cycle([tokens.new_key() for _ in range(6)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "new_key", lambda: next(keys))
        yield


@pytest.fixture(scope="session")
def broker_host() -> Host:
    return Host()


@pytest.fixture
def world(broker_host: Host) -> Iterator[World]:
    with a_world(broker_host) as made:
        yield made


@pytest.fixture(scope="module")
def shared_world(broker_host: Host) -> Iterator[World]:
    with a_world(broker_host) as made:
        yield made


@pytest.fixture
def still(shared_world: World) -> World:
    """A world for tests that change nothing in it."""
    shared_world.host.application = shared_world.services[0]
    shared_world.lines.clear()
    return shared_world
