"""The store on the real servers: Debian's redis-server, and Google's emulator of Firestore by Google's own client."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from infra.jobs.store.by_firestore import FirestoreStore
from infra.jobs.store.entries import SharedStore, StoreError
from infra.jobs.store.locks import Lock, LockTakenError, status
from infra.jobs.store.memory import MemoryStore
from infra.jobs.store.opened import open_store
from tests.jobs.stores import Crowd, Shifted, firestore_emulator, free_port, redis_server, redis_store

pytestmark = pytest.mark.end_to_end
STEPS = (400.0, 1100.0)
REAL = 150.0
"""Seconds by which a machine under load may pass a test's own time."""
EXAMPLES = {"memory": 20, "redis": 25, "firestore": 5}
FENCED = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture(scope="module", params=EXAMPLES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[SharedStore]:
    match request.param:
        case "memory":
            yield MemoryStore()
        case "redis":
            port = free_port()
            with redis_server(tmp_path_factory.mktemp("redis"), port), redis_store(port) as store:
                yield store
        case "firestore":
            with firestore_emulator() as address, pytest.MonkeyPatch.context() as patch:
                patch.setenv("FIRESTORE_EMULATOR_HOST", address)
                store = open_store("firestore://my-lab/locks")
                assert isinstance(store, FirestoreStore)
                yield store
                store.close()


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> Callable[[], str]:
    """A key that no other test has."""
    numbers = itertools.count()
    return lambda: f"{request.node.name}/{next(numbers)}"


def test_whoever_cuts_whom_one_holds_a_key_and_nobody_else_writes(
    server: SharedStore, fresh: Callable[[], str], request: pytest.FixtureRequest
) -> None:
    examples = EXAMPLES[request.node.callspec.params["server"]]
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]

    @settings(max_examples=examples, deadline=None, suppress_health_check=checks, phases=[Phase.generate])
    @given(st.data())
    def crowded(data: st.DataObject) -> None:
        Crowd(Shifted(server), fresh(), data.draw, STEPS, slack=REAL).run()

    crowded()


def test_a_write_builds_on_the_version_that_was_read(server: SharedStore, fresh: Callable[[], str]) -> None:
    key = fresh()
    assert server.read(key).value is None
    assert server.swap(key, "", {"n": 1})
    assert not server.swap(key, "", {"n": 9}), "it is there by now"
    first = server.read(key)
    assert first.value == {"n": 1}
    assert server.swap(key, first.version, {"n": [[2], {}]})
    assert not server.swap(key, first.version, {"n": 9}), "another write came first"
    second = server.read(key)
    assert second.value == {"n": [[2], {}]}
    assert timedelta() <= second.age < timedelta(minutes=5)
    assert not server.swap(key, first.version, None)
    assert server.swap(key, second.version, None)
    assert server.read(key).version == ""
    assert not server.swap(key, second.version, {"n": 9}), "what is gone has no version"


def test_keys_of_any_characters_are_told_apart_and_listed_by_prefix(
    server: SharedStore, fresh: Callable[[], str]
) -> None:
    begin = fresh()
    ends = ["gs://a/b", "a*", "a?[b]", "ä~%2F", "a", "..", "__x__"]
    for end in ends:
        assert server.swap(f"{begin}/{end}", "", {"end": end})
    assert sorted(server.keys(begin)) == sorted(f"{begin}/{end}" for end in ends)
    assert list(server.keys(f"{begin}/a*")) == [f"{begin}/a*"]
    assert list(server.keys(f"{begin}/nothing")) == []
    assert {f"{begin}/{end}" for end in ends} <= set(server.keys())
    assert all(server.read(f"{begin}/{end}").value == {"end": end} for end in ends)


def test_a_server_that_is_killed_keeps_what_it_said_that_it_took(tmp_path: Path) -> None:
    port = free_port()
    with redis_store(port) as store:
        first, second = (Lock(store=store, key="run", holder=name) for name in ("first", "second"))
        with redis_server(tmp_path, port, *FENCED) as server:
            first.take()
            first.write({"step": 7})
            server.kill()
            server.wait()
        with pytest.raises(StoreError):
            first.renew()
        with redis_server(tmp_path, port, *FENCED):
            with pytest.raises(LockTakenError, match="held by first"):
                second.take()
            first.renew()
            found = status(store, "run")
            assert found is not None
            assert (found.value, found.token) == ({"step": 7}, first.token)
