"""Real servers behind the store of locks, and a world in which clients of any store get in one another's way.

Virtual time is added to what a store tells of ages, so that leases of minutes run out at once on a real server too.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from infra.jobs.store.by_redis import RedisStore
from infra.jobs.store.entries import Entry, SharedStore, Value
from infra.jobs.store.locks import Lock, LockLostError, LockTakenError
from tests.lacking import lacking

LEASE = 1000
"""Virtual seconds, so that real ones do not matter beside them."""
_READY = {"redis": "Ready to accept connections", "firestore": "Dev App Server is now running"}
_EMULATOR = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@contextmanager
def redis_server(folder: Path, port: int, *options: str) -> Generator[subprocess.Popen[str]]:
    """Debian's redis-server. It is killed without being asked, whatever it has yet to write."""
    program = shutil.which("redis-server") or lacking("redis-server is not installed (Debian: redis-server)")
    plain = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    with _running([program, *plain, *options], _READY["redis"]) as server:
        yield server


@contextmanager
def firestore_emulator() -> Generator[str]:
    """Google's emulator of Firestore, where gcloud has that component: its address."""
    gcloud = shutil.which("gcloud") or lacking("gcloud is not installed, whose component the Firestore emulator is")
    jar = Path(gcloud).resolve().parents[1] / _EMULATOR
    if not jar.exists():
        lacking("gcloud has no component cloud-firestore-emulator")
    java = shutil.which("java") or lacking("java is not installed, which runs the Firestore emulator")
    address = f"127.0.0.1:{free_port()}"
    words = [java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.language=en", "-cp", str(jar)]
    host, port = address.split(":")
    told = ["com.google.cloud.datastore.emulator.firestore.CloudFirestore", f"--host={host}", f"--port={port}"]
    with _running([*words, *told], _READY["firestore"]):
        yield address


@contextmanager
def _running(command: list[str], ready: str) -> Generator[subprocess.Popen[str]]:
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, env=kept
    ) as server:
        assert server.stdout is not None
        try:
            said = []
            while ready not in (line := server.stdout.readline()):
                said.append(line)
                assert line, f"{command[0]} ended: {''.join(said)[-2000:]}"
            threading.Thread(target=deque, args=(server.stdout, 0), daemon=True).start()
            yield server
        finally:
            server.kill()


@contextmanager
def redis_store(port: int) -> Generator[RedisStore]:
    store = RedisStore(f"redis://127.0.0.1:{port}")
    try:
        yield store
    finally:
        store.close()


@dataclass(slots=True)
class Written:
    """One write that a store took. by: who made it. at: virtual seconds."""

    by: str
    at: float
    body: Value


@dataclass(slots=True)
class Shifted:
    """A store in virtual time. before: is called ahead of each call, and may call others in between."""

    store: SharedStore
    now: float = 0.0
    before: Callable[[], None] = lambda: None
    writes: list[Written] = field(default_factory=list)
    acting: list[str] = field(default_factory=list)
    _shifts: dict[str, float] = field(default_factory=dict)

    def read(self, key: str) -> Entry:
        self.before()
        entry = self.store.read(key)
        older = timedelta(seconds=self.now - self._shifts.get(key, self.now))
        return replace(entry, age=entry.age + older, now=entry.now + timedelta(seconds=self.now))

    def swap(self, key: str, version: str, value: Value | None) -> bool:
        self.before()
        swapped = self.store.swap(key, version, value)
        if swapped:
            self._shifts[key] = self.now
            self.writes.append(Written(self.acting[-1] if self.acting else "", self.now, value or {}))
        return swapped

    def keys(self, prefix: str = "") -> Iterator[str]:
        return self.store.keys(prefix)


@dataclass(slots=True)
class Crowd:
    """Three holders of one key, each of whose calls may be cut by calls of the others, as `draw` decides."""

    shifted: Shifted
    key: str
    draw: Callable[[st.SearchStrategy[Any]], Any]
    steps: tuple[float, ...]
    slack: float = 0.0
    locks: dict[str, Lock] = field(default_factory=dict)
    counted: int = 0

    def run(self, most: int = 8) -> None:
        for holder in ("a", "b", "c"):
            lease = timedelta(seconds=LEASE)
            self.locks[holder] = Lock(
                store=self.shifted, key=self.key, holder=holder, lease=lease, ticks=lambda: self.shifted.now
            )
        self.shifted.before = self._cut
        for _ in range(self.draw(st.integers(1, most))):
            self._act()
        judge(self.shifted.writes, self.slack)

    def _cut(self) -> None:
        if len(self.shifted.acting) < 3 and self.draw(st.integers(0, 3)) == 0:
            self._act()

    def _act(self) -> None:
        free = [holder for holder in self.locks if holder not in self.shifted.acting]
        holder = self.draw(st.sampled_from(free)) if free else None
        do = self.draw(st.sampled_from(["take", "take", "write", "write", "renew", "give back", "wait"]))
        if holder is None or do == "wait":
            self.shifted.now += self.draw(st.sampled_from(self.steps))
            return
        lock = self.locks[holder]
        self.shifted.acting.append(holder)
        try:
            self.counted += 1
            match do:
                case "take":
                    lock.take()
                case "write":
                    lock.write({"by": holder, "number": self.counted})
                case "renew":
                    lock.renew()
                case "give back":
                    lock.give_back()
        except (LockTakenError, LockLostError):
            pass
        finally:
            self.shifted.acting.pop()
        sure = [each.holder for each in self.locks.values() if each.is_sure]
        assert len(sure) < 2, f"{sure} are both sure to hold the key"


def judge(writes: list[Written], slack: float) -> None:
    """What holds of all that a store took of one key, in its order, whoever cut whom. slack: real seconds that pass."""
    for before, after in pairwise(writes):
        assert after.body["token"] >= before.body["token"], "a token went back"
        if after.body["token"] > before.body["token"]:
            over = not before.body["holder"] or after.at + slack >= before.at + before.body["seconds"]
            assert over, "a lease that held was taken from its holder"
        else:
            assert before.body["holder"] == after.by, "somebody wrote without holding the key"
        if after.body.get("value") != before.body.get("value"):
            assert (before.body["holder"], before.body["token"]) == (after.by, after.body["token"]), "an unfenced write"
    for write in writes:
        assert write.body["holder"] in ("", write.by)
