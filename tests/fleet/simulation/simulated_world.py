"""A fleet's world in virtual time: TPU VMs with guests, a bucket, GitHub, the broker.

Owns time, the bucket, and what does not answer. The broker's decisions and records are the real ones;
only transport and signatures are left out. Every draw is by what it is for and not by its turn, so that a life without
one fault is else the same.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from types import SimpleNamespace
from typing import Any

from bench.guests.surroundings import UnreadableError
from infra.fleet.broker.decide import Claims, Instance
from infra.fleet.broker.fleet import FleetReader
from infra.fleet.broker.keeper import Keeper
from infra.fleet.broker.registration import Registrar
from infra.fleet.controller import manifests
from infra.model import bucket_names
from infra.model.catalogue import region_of
from infra.model.manifest import possible_slots
from tests.fleet.simulation import guests_in_process
from tests.fleet.simulation.github_in_process import GitHubInProcess
from tests.fleet.simulation.google_in_process import GoogleInProcess, Process, refusal
from tests.fleet.simulation.promises import FOREIGN, NEIGHBOUR, STRANGER, Promises
from tests.fleet.simulation.simulated_tpus import Node, SimulatedTpus

BEGAN = datetime(2026, 11, 2, tzinfo=UTC).timestamp()
VERSIONS = 50
"""Versions of an object that are kept after they were replaced, as the fleet bucket does."""
GOOD = f"sha256:{'f' * 64}"


class World:
    """seed: of every draw. manifest: as `up` publishes it.

    down: until when what does not answer. struck: what befalls the next guest of a slot. clocks: by how many seconds
        those of VMs are ahead. clocks_agree: whether those of controllers do.
    bad: images, whose runner ends at once, and bundles, which do not start.
    refusals: lines of the broker.
    """

    def __init__(self, seed: int, manifest: Mapping[str, Any]) -> None:
        self.now = BEGAN
        self.manifest = manifest
        self.desired = manifests.read(manifest)
        self.objects: dict[str, tuple[int, bytes]] = {}
        self.written: dict[str, datetime] = {}
        self._before: dict[str, deque[tuple[int, bytes]]] = defaultdict(lambda: deque(maxlen=VERSIONS))
        self.down: dict[str, float] = {}
        self.struck: dict[tuple[str, str], int] = defaultdict(int)
        self.clocks: dict[str, float] = {}
        self.clocks_agree = True
        self.bad: set[str] = set()
        self.refusals: list[dict[str, Any]] = []
        self.log: list[str] = []
        self._seed = seed
        self._image, self._bundle = GOOD, "ab" * 32
        self._numbers = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self.promises = Promises(self)
        self.tpus = SimulatedTpus(self)
        self.github = GitHubInProcess(self)
        shared: dict[str, Any] = {
            "stack": self.desired.stack,
            "bucket": "fleet",
            "verifier": SimpleNamespace(verify=self._believed),
            "reader": FleetReader(stack=self.desired.stack, groups={}, clock=self.moment),
            "github": self.github,
            "google": lambda: GoogleInProcess(self, Process()),
            "clock": self.moment,
        }
        self.broker = Registrar(**shared)
        self.keeper = Keeper(account="controller", **shared)
        self.declare(manifest)
        self.promote()

    def declare(self, manifest: Mapping[str, Any]) -> None:
        """Publish a manifest with the bundle that is current, as `up` does, and say that it has ended."""
        manifest = {**manifest, "bundle": f"sha256:{self._bundle}"}
        self.desired = manifests.read(manifest)
        stack = self.desired.stack
        self.write(bucket_names.startup_object(), json.dumps({"version": 1, "bundle": self._bundle}).encode())
        applied = self.write(bucket_names.manifest_object(stack), json.dumps(manifest).encode())
        lease = {**(self.kept(bucket_names.lease_object(stack)) or {}), "applied": applied}
        self.write(bucket_names.lease_object(stack), json.dumps(lease).encode())

    @property
    def project(self) -> str:
        return self.desired.project

    def populate(self) -> None:
        """Every declared VM, made and booting; VMs and a runner that are not ours."""
        for slot in self.desired.slots:
            self.tpus.create(self.tpus.path(slot.home.zone, slot.name), dict(slot.home.node))
        home = self.desired.slots[0].home.zone
        self.tpus.add(home, STRANGER, {})
        self.tpus.add(home, NEIGHBOUR, {"tidepool-managed": "true", "tidepool-stack": "other"})
        self.github.add(FOREIGN)

    def number(self) -> int:
        """One that nothing had before."""
        self._numbers += 1
        return self._numbers

    def draw(self, *what: object) -> float:
        return Random(f"{self._seed} {what}").random()

    def tell(self, what: str) -> None:
        self.log.append(f"{self.moment():%a %H:%M:%S} {what}")

    # Time

    def moment(self, skew: float = 0.0) -> datetime:
        return datetime.fromtimestamp(self.now + skew, tz=UTC)

    def plan(self, after: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + after, self.number(), do))

    def pass_until(self, end: float) -> None:
        """Let everything happen that is due until then, in order."""
        while True:
            dues = [node.disk.until for node in self.tpus.nodes.values() if node.disk and node.disk.until]
            due = min((due for due in dues if due > self.now), default=end)
            event = self._events[0][0] if self._events else end
            at = max(self.now, min(due, event, end))
            self.now = at
            while self._events and self._events[0][0] <= at:
                heapq.heappop(self._events)[2]()
            for node in list(self.tpus.nodes.values()):
                self.live(node)
            if at >= end:
                return

    # What does not answer

    def is_down(self, what: str) -> bool:
        return self.down.get(what, 0) > self.now

    def insist(self, what: str) -> None:
        if self.is_down(what):
            raise refusal(503, f"{what} is down")

    # The bucket

    def versions(self, name: str) -> list[tuple[int, bytes]]:
        """Generation and content of an object and of those before it that are kept, the newest first."""
        return [self.objects[name], *self._before[name]] if name in self.objects else []

    def write(self, name: str, content: bytes) -> int:
        if name in self.objects:
            self._before[name].appendleft(self.objects[name])
        self.objects[name], self.written[name] = (self.number(), content), self.moment()
        return self.objects[name][0]

    def document(self, name: str) -> dict[str, Any] | None:
        if self.is_down("bucket"):
            raise UnreadableError(f"reading {name} was answered with 503")
        found = self.objects.get(name)
        if found is not None and _parsed(found[1]) is None:
            raise UnreadableError(f"{name} is not JSON")
        return self.kept(name)

    def kept(self, name: str) -> dict[str, Any] | None:
        """What a record says in its newest version that is JSON, whether or not the bucket answers."""
        found = (_parsed(content) for _, content in self.versions(name))
        return next((each for each in found if each is not None), None)

    def request(self, change: Callable[[Mapping[str, Any] | None], Mapping[str, Any]]) -> None:
        """Change what people ask for, as a command of theirs does."""
        name = bucket_names.requests_object(self.desired.stack)
        self.write(name, json.dumps(change(self.kept(name))).encode())

    def promote(self, *, image: str = "", bundle: str = "") -> None:
        """Point at another image, by its digest, or bundle; what is not given stays.

        As promotion does it, in every region that has a repository: those of the whole fleet.
        """
        self._image, self._bundle = image or self._image, bundle or self._bundle
        if bundle:
            self.declare(self.manifest)
        regions = sorted({region_of(zone) for zone in manifests.read(self.manifest).zones})
        images = {
            pool: {region: f"{region}-docker.pkg.dev/lab/runner@{self._image}" for region in regions}
            for pool in self.desired.pools
        }
        self.write(bucket_names.pointer_object(), json.dumps({"version": 1, "images": images}).encode())

    def renew(self, *parts: str, bad: str = "") -> None:
        """A new version of each, `image` or `bundle`: with a bad one runners end at once, or nothing starts."""
        for part in parts:
            new = f"{'sha256:' if part == 'image' else ''}{self.number():064x}"
            if part == bad:
                self.bad.add(new)
            self.tell(f"a {'bad' if part == bad else 'good'} {part} is promoted")
            self.promote(**{part: new})

    # Guests

    def live(self, node: Node) -> None:
        guests_in_process.live(self, node)

    def image_of(self, vm: str) -> str:
        return next((node.disk.state.image for node in self.tpus.nodes.values() if node.name == vm and node.disk), "")

    def strike(self, vm: str, kind: str, running: str) -> bool:
        if kind == "broken":
            return running.rpartition("@")[2] in self.bad
        if self.struck.get((vm, kind), 0) <= 0:
            return False
        self.struck[vm, kind] -= 1
        return True

    def _believed(self, token: str, now: datetime) -> Claims:
        """The claims of a token, whose signature is not simulated."""
        expires = now + timedelta(hours=1)
        if token == "controller":
            return Claims(email="controller", fingerprint=token, issued=now, expires=expires, instance=None)
        path, fingerprint = token.split("|")
        node = self.tpus.nodes[path]
        slot = next(each for each in possible_slots(self.manifest) if each["name"] == node.name)
        machine = Instance(id=node.body["id"], zone=node.zone)
        return Claims(
            email=slot["service_account"], fingerprint=fingerprint, issued=now, expires=expires, instance=machine
        )

    def loses(self, vm: str) -> None:
        """A VM serves no more; for worlds that measure it."""


@lru_cache(256)
def _parsed(content: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(content)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
