"""Leases, fencing tokens and statuses: what holds of a key whoever gets in whose way, in virtual time."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.jobs.store.by_firestore import FirestoreStore
from infra.jobs.store.entries import (
    LARGEST_VALUE,
    LONGEST_KEY,
    Entry,
    SharedStore,
    StoreError,
    Value,
    decoded,
    encoded,
)
from infra.jobs.store.locks import Lock, LockLostError, LockTakenError, held, status, statuses
from infra.jobs.store.memory import MemoryStore
from infra.jobs.store.opened import open_store
from tests.jobs.stores import LEASE, Crowd, Shifted

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
KEY = "gs://my-lab/checkpoints/llama-8b"
STEPS = (1.0, LEASE - 1.0, float(LEASE), LEASE + 1.0)


def world() -> Shifted:
    return Shifted(MemoryStore(lambda: NOON))


def lock(shifted: SharedStore, holder: str) -> Lock:
    ticks = (lambda: shifted.now) if isinstance(shifted, Shifted) else (lambda: 0.0)
    return Lock(store=shifted, key=KEY, holder=holder, lease=timedelta(seconds=LEASE), ticks=ticks)


@given(st.data())
def test_whoever_cuts_whom_one_holds_a_key_and_nobody_else_writes(data: st.DataObject) -> None:
    Crowd(world(), KEY, data.draw, STEPS).run()


def test_a_paused_holder_is_refused_by_its_token_once_another_took_the_key() -> None:
    shifted = world()
    paused, other = lock(shifted, "paused"), lock(shifted, "other")
    paused.take()
    paused.write({"step": 100})
    shifted.now += LEASE
    assert other.take() > paused.token
    assert not paused.is_sure
    with pytest.raises(LockLostError, match="other holds it"):
        paused.write({"step": 50})
    with pytest.raises(LockLostError):
        paused.renew()
    found = status(shifted, KEY)
    assert found is not None
    assert (found.value, found.token, found.holder) == ({"step": 100}, other.token, "other")


def test_a_holder_whose_lease_ran_out_writes_nothing_until_it_takes_the_key_again() -> None:
    shifted = world()
    alone = lock(shifted, "alone")
    first = alone.take()
    shifted.now += LEASE
    with pytest.raises(LockLostError, match="the lease ran out"):
        alone.write({"step": 1})
    assert alone.take() > first, "whoever was handed the older token refuses it from now on"
    alone.write({"step": 2})


def test_what_is_given_back_is_free_at_once_and_its_status_stays() -> None:
    shifted = world()
    first, second = lock(shifted, "first"), lock(shifted, "second")
    first.take()
    first.write({"state": "done"})
    first.give_back()
    assert not first.is_sure
    found = status(shifted, KEY)
    assert found is not None
    assert (found.value, found.holder) == ({"state": "done"}, "")
    assert second.take() > first.token
    first.give_back()
    with pytest.raises(LockTakenError):
        first.take()


def test_tokens_grow_past_a_store_that_lost_its_memory() -> None:
    store = MemoryStore(lambda: NOON)
    before = Lock(store=store, key=KEY, holder="before").take()
    forgetful = MemoryStore(lambda: NOON + timedelta(seconds=1))
    assert Lock(store=forgetful, key=KEY, holder="after").take() > before


def test_a_clock_that_went_back_gives_no_token_twice() -> None:
    times = iter([NOON, NOON, NOON, NOON, *[NOON - timedelta(hours=1)] * 9])
    store = MemoryStore(lambda: next(times))
    first = Lock(store=store, key=KEY, holder="first")
    first.take()
    first.give_back()
    assert Lock(store=store, key=KEY, holder="second").take() == first.token + 1


@dataclass
class Faulty:
    """A store that says when it was written to, fails so many reads, and loses the answers of so many writes."""

    store: MemoryStore = field(default_factory=lambda: MemoryStore(lambda: NOON))
    writes: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    failures: int = 0
    losses: int = 0

    def read(self, key: str) -> Entry:
        if self.failures:
            self.failures -= 1
            raise StoreError("cut off")
        return self.store.read(key)

    def swap(self, key: str, version: str, value: Value | None) -> bool:
        swapped = self.store.swap(key, version, value)
        self.writes.release()
        if self.losses:
            self.losses -= 1
            raise StoreError("the connection broke")
        return swapped

    def keys(self, prefix: str = "") -> Iterator[str]:
        return self.store.keys(prefix)


def test_a_take_whose_answer_was_lost_is_found_by_the_next_one() -> None:
    faulty = Faulty(losses=1)
    mine = Lock(store=faulty, key=KEY, holder="mine")
    with pytest.raises(StoreError):
        mine.take()
    assert not mine.is_sure
    standing = status(faulty, KEY)
    assert standing is not None
    assert mine.take() == standing.token


def test_a_block_renews_its_lock_until_its_end_also_past_a_failure() -> None:
    told = Faulty()
    mine = Lock(store=told, key=KEY, lease=timedelta(milliseconds=30))
    with held(mine):
        told.failures = 1
        for _ in range(4):
            assert told.writes.acquire(timeout=20)
        assert mine.token
    found = status(told, KEY)
    assert found is not None
    assert found.holder == ""


def _robbed(told: Faulty, mine: Lock) -> None:
    """Another takes the key, and the thread that renews has seen it."""
    theirs = {"token": mine.token + 1, "holder": "thief", "seconds": 3600, "value": {"kept": True}}
    while not told.store.swap(KEY, told.store.read(KEY).version, theirs):
        pass
    (renewing,) = [each for each in threading.enumerate() if each.name == f"renews {KEY}"]
    renewing.join(timeout=20)


def test_a_block_whose_lock_was_lost_says_so_at_its_end() -> None:
    told = Faulty()
    mine = Lock(store=told, key=KEY, lease=timedelta(milliseconds=30))
    with pytest.raises(LockLostError, match="thief holds it"), held(mine):
        _robbed(told, mine)
    assert not mine.is_sure
    found = status(told, KEY)
    assert found is not None
    assert (found.holder, found.value) == ("thief", {"kept": True}), "what is another's is not given back"


def test_a_block_that_was_paused_past_its_lease_says_so_at_its_end() -> None:
    now = [NOON]
    paused = pytest.raises(LockLostError, match="the lease ran out before the end")
    with paused, held(Lock(store=MemoryStore(lambda: now[0]), key=KEY)):
        now[0] += timedelta(hours=1)


@pytest.mark.parametrize("silent", [1.0, 3600.0])
def test_a_block_whose_store_falls_silent_ends_well_only_within_its_lease(silent: float) -> None:
    told, ticks = Faulty(), [0.0]
    lost = pytest.raises(LockLostError) if silent > LEASE else nullcontext()
    with lost, held(Lock(store=told, key=KEY, lease=timedelta(seconds=LEASE), ticks=lambda: ticks[0])):
        told.failures = 1
        ticks[0] += silent


def test_a_lock_that_is_given_back_by_a_write_whose_answer_was_lost_was_held_until_then() -> None:
    faulty = Faulty()
    mine = Lock(store=faulty, key=KEY)
    mine.take()
    faulty.losses = 1
    with pytest.raises(StoreError):
        mine.give_back()
    assert mine.give_back()
    assert Lock(store=faulty, key=KEY).take() > mine.token
    assert not mine.give_back()


def test_what_a_block_raises_is_what_comes_out_of_it() -> None:
    with pytest.raises(KeyError), held(Lock(store=MemoryStore(), key=KEY)):
        raise KeyError


def test_statuses_are_listed_by_prefix() -> None:
    store = MemoryStore()
    for name in ("runs/2", "runs/1", "other/1"):
        mine = Lock(store=store, key=name)
        mine.take()
        mine.write({"name": name})
    assert [each.value["name"] for each in statuses(store, "runs/")] == ["runs/1", "runs/2"]


def test_a_status_of_another_program_stops_nobody_for_ever() -> None:
    """A record that is no lock's has no lease, so that whoever comes takes the key."""
    store = MemoryStore()
    store.swap(KEY, "", {"holder": "x", "seconds": "many", "token": "one", "value": 3})
    found = status(store, KEY)
    assert found is not None
    assert (found.holder, found.token, found.value) == ("", 0, {})
    assert Lock(store=store, key=KEY).take() > 0


@pytest.mark.parametrize("key", ["", "a\nb", "x" * (LONGEST_KEY + 1), "\ud800"])
def test_a_key_that_no_store_takes_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="is not a key"):
        MemoryStore().read(key)


@pytest.mark.parametrize("value", [{"x": float("nan")}, {"x": object()}, {"x": "y" * LARGEST_VALUE}])
def test_a_value_that_no_store_takes_is_refused(value: Value) -> None:
    with pytest.raises(ValueError):
        MemoryStore().swap(KEY, "", value)


def test_a_value_is_kept_by_its_sorted_keys_up_to_the_largest() -> None:
    most = {"x": "y" * (LARGEST_VALUE - len('{"x": ""}'))}
    assert len(encoded(most)) == LARGEST_VALUE
    assert encoded({"b": 1, "a": 2}) == '{"a": 2, "b": 1}'
    for other in (7, None, "[]", "{"):
        with pytest.raises(StoreError, match="another program wrote it"):
            decoded(KEY, other)


@pytest.mark.parametrize(
    "url", ["", "memcached://:hunter2@x", "firestore://my-lab", "firestore:///", "redis://:hunter2@cache:x"]
)
def test_no_store_is_opened_where_none_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEPOOL_STORE", url)
    with pytest.raises(StoreError, match="redis://HOST:PORT or firestore://PROJECT/DATABASE") as refused:
        open_store()
    assert "hunter2" not in str(refused.value)


def test_a_store_whose_client_is_not_installed_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "infra.jobs.store.by_redis", None)
    with pytest.raises(StoreError, match="the client of redis is not installed") as refused:
        open_store("redis://:hunter2@cache:6379")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("key", [".", "..", "__run__", "_run/1"])
def test_no_key_is_a_name_that_firestore_keeps_for_itself(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:9")
    store = FirestoreStore("my-lab", "locks")
    name = store._document(key).id
    store.close()
    assert (name[0], unquote(name)) == ("%", key)


def test_training_code_that_locks_loads_no_client_and_nothing_else_of_the_project() -> None:
    loaded = (
        "import sys, infra.jobs.store.locks, infra.jobs.store.memory, infra.jobs.store.opened; "
        "print(sorted({m for m in sys.modules if m.startswith('infra.')} | {'redis', 'google', 'pydantic', 'yaml'}"
        " & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True).stdout
    names = ("", ".entries", ".locks", ".memory", ".opened")
    assert said.strip() == str(["infra.jobs", *(f"infra.jobs.store{name}" for name in names)])
