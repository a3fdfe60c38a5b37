"""A fleet's world in virtual time: TPU VMs with guests, a bucket, GitHub, the broker, and what may never happen in it.

Owns time, what stands where, and the promises, each checked at the change that could break it. Guests are the local
cloud's own, the broker's decisions and records are the real ones; only transport and signatures are left out. Every
draw is by what it is for and not by its turn, so that a life without one fault is else the same.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

from infra.fleet.broker.audit import Story
from infra.fleet.broker.decide import Claims, Instance, Request
from infra.fleet.broker.fleet import FleetReader
from infra.fleet.broker.github_app import Runner
from infra.fleet.broker.keeper import Keeper
from infra.fleet.broker.refusals import Refused
from infra.fleet.broker.registration import Broker
from infra.fleet.controller import desired as manifests
from infra.fleet.controller.rules import DEAD
from infra.local.guests.disk import Disk
from infra.local.guests.guest import Guest
from infra.local.guests.surroundings import Orders, Registration, UnreadableError, Vm
from infra.model import names
from infra.model.catalogue import AcceleratorType, region_of
from infra.model.runner_names import vm_of
from tests.fleet.simulation.github_in_process import ByKeeper, GitHubInProcess
from tests.fleet.simulation.google_in_process import GoogleInProcess, Process, refusal

BEGAN = datetime(2026, 11, 2, tzinfo=UTC).timestamp()
STRANGER, NEIGHBOUR, FOREIGN = "somebodys", "tpu-ci-other-stack-0", "big-mac-0a1b2c"
GOOD = "registry@sha256:first"
SKEW = 360.0
"""Seconds by which a clock is off, at most; longer than a sweep's lease lasts."""


class BrokenPromiseError(AssertionError):
    """Something happened that may never happen."""


@dataclass(slots=True)
class Node:
    """A TPU VM, its body as the API shows it, since when it is in its state, and its guest's disk.

    freed: whether Google took its chips back.
    """

    body: dict[str, Any]
    since: float
    disk: Disk | None = None
    freed: bool = False

    @property
    def name(self) -> str:
        return self.body["name"].rpartition("/")[2]

    @property
    def zone(self) -> str:
        return self.body["name"].split("/")[3]

    @property
    def state(self) -> str:
        return self.body["state"]


@dataclass(slots=True)
class World:
    """seed: of every draw. manifest: as `up` publishes it."""

    seed: int
    manifest: Mapping[str, Any]
    now: float = BEGAN
    nodes: dict[str, Node] = field(default_factory=dict)
    operations: dict[str, dict[str, dict[str, Any]]] = field(default_factory=lambda: defaultdict(dict))
    objects: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    parsed: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    down: dict[str, float] = field(default_factory=dict)
    lies: dict[str, tuple[str, float, list[dict[str, Any]]]] = field(default_factory=dict)
    stockouts: dict[str, float] = field(default_factory=dict)
    struck: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    bad_images: set[str] = field(default_factory=set)
    lost: dict[str, float] = field(default_factory=dict)
    outages: list[float] = field(default_factory=list)
    replaced: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    story: list[str] = field(default_factory=list)
    events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    numbers: int = 0
    desired: manifests.Desired = field(init=False)
    github: GitHubInProcess = field(init=False)
    broker: Broker = field(init=False)
    keeper: Keeper = field(init=False)

    def __post_init__(self) -> None:
        self.desired = manifests.read(self.manifest)
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
        self.broker = Broker(**shared)
        self.keeper = Keeper(account="controller", **shared)
        self.declare(self.manifest)
        self.promote(GOOD)

    def declare(self, manifest: Mapping[str, Any]) -> None:
        """Publish a manifest, as `up` does."""
        self.desired = manifests.read(manifest)
        self.write(names.manifest_object(self.desired.stack), json.dumps(manifest).encode())

    @property
    def project(self) -> str:
        return self.desired.project

    @property
    def by_keeper(self) -> ByKeeper:
        return ByKeeper(self.keeper, self.desired.stack)

    def populate(self) -> None:
        """Every declared VM, made and booting; VMs and a runner that are not ours."""
        for slot in self.desired.slots:
            self.create(self.path(slot.home.zone, slot.name), dict(slot.home.node))
        home = self.desired.slots[0].home.zone
        self.add(home, STRANGER, {})
        self.add(home, NEIGHBOUR, {"tidepool-managed": "true", "tidepool-stack": "other"})
        self.github.add(FOREIGN)

    # Time

    def moment(self, skew: float = 0.0) -> datetime:
        return datetime.fromtimestamp(self.now + skew, tz=UTC)

    def plan(self, after: float, do: Callable[[], None]) -> None:
        self.numbers += 1
        heapq.heappush(self.events, (self.now + after, self.numbers, do))

    def pass_until(self, end: float) -> None:
        """Let everything happen that is due until then, in order."""
        while True:
            dues = [node.disk.until for node in self.nodes.values() if node.disk and node.disk.until]
            due = min((due for due in dues if due > self.now), default=end)
            event = self.events[0][0] if self.events else end
            at = max(self.now, min(due, event, end))
            self.now = at
            while self.events and self.events[0][0] <= at:
                heapq.heappop(self.events)[2]()
            self.live()
            if at >= end:
                return

    def draw(self, *what: object) -> float:
        return Random(f"{self.seed} {what}").random()

    def tell(self, what: str) -> None:
        self.story.append(f"{self.moment():%a %H:%M:%S} {what}")

    # What does not answer

    def is_down(self, what: str) -> bool:
        return self.down.get(what, 0) > self.now

    def insist(self, what: str) -> None:
        if self.is_down(what):
            raise refusal(503, f"{what} is down")

    # TPU VMs

    def path(self, zone: str, name: str) -> str:
        return f"projects/{self.project}/locations/{zone}/nodes/{name}"

    def listed(self, zone: str) -> list[dict[str, Any]]:
        """What a list of a zone says, which may be late or wrong; looking a VM up by name never is."""
        self.insist(zone)
        truth = [dict(node.body) for node in self.nodes.values() if node.zone == zone]
        kind, until, then = self.lies.get(zone, ("", 0.0, []))
        if until <= self.now:
            return truth
        if kind == "late":
            return then
        if kind == "empty":
            return []
        return [body for body in truth if self.draw("lie", self.now, body["name"]) < 0.6]

    def create(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        zone = name.split("/")[3]
        self.numbers += 1
        short = self.stockouts.get(zone, 0) > self.now
        if short and self.draw("answer", name, self.numbers) < 0.3:
            raise refusal(429, f'There is no more capacity in the zone "{zone}"')
        made = self._operation(zone)
        self.add(zone, name.rpartition("/")[2], body.get("labels", {}), body, state="CREATING")
        node = self.nodes[name]
        seconds = 40 + 160 * self.draw("made", name, self.numbers)

        def ends() -> None:
            made["done"] = True
            if self.nodes.get(name) is not node or node.state != "CREATING":
                return
            if short:
                made["error"] = {"code": 8, "message": f'There is no more capacity in the zone "{zone}"'}
                del self.nodes[name]
            else:
                self.state(node, "READY")

        self.plan(seconds, ends)
        self.check()
        return dict(made)

    def delete(self, name: str) -> dict[str, Any]:
        node = self.nodes[name]
        self._check_delete(node)
        self.state(node, "DELETING")
        gone = self._operation(node.zone)
        slow = self.draw("slow delete", name, node.body["createTime"])

        def ends() -> None:
            gone["done"] = True
            if self.nodes.get(name) is node:
                del self.nodes[name]

        self.plan(400 if slow < 0.05 else 5 + 60 * slow, ends)
        return dict(gone)

    def add(
        self, zone: str, name: str, labels: Mapping[str, str], body: Mapping[str, Any] | None = None, *,
        state: str = "READY",
    ) -> None:  # fmt: skip
        self.numbers += 1
        path = self.path(zone, name)
        given = body or {"acceleratorType": "v6e-1", "schedulingConfig": {"spot": True}}
        told = {"name": path, "id": str(self.numbers), "state": state, "createTime": self.moment().isoformat()}
        self.nodes[path] = Node({**given, "labels": dict(labels), **told}, since=self.now)

    def state(self, node: Node, state: str) -> None:
        """Bring a VM into a state; its guest learns of it at once."""
        if state != "READY":
            self._loses(node.name)
        node.body, node.since = {**node.body, "state": state}, self.now
        node.freed = node.freed or state in ("PREEMPTED", "TERMINATED")
        self._live(node)

    def vanish(self, node: Node) -> None:
        """A VM is gone at once, as after a delete by hand."""
        self.state(node, "DELETING")
        del self.nodes[node.body["name"]]

    def slot_node(self, index: int) -> Node | None:
        """The VM of a declared slot, wherever it is."""
        name = self.desired.slots[index % len(self.desired.slots)].name
        return next((node for node in self.nodes.values() if node.name == name), None)

    def _operation(self, zone: str) -> dict[str, Any]:
        self.numbers += 1
        name = f"projects/{self.project}/locations/{zone}/operations/{self.numbers}"
        self.operations[zone][name] = {"name": name, "done": False}
        while len(self.operations[zone]) > 40:
            del self.operations[zone][next(iter(self.operations[zone]))]
        return self.operations[zone][name]

    # The bucket

    def write(self, name: str, content: bytes) -> int:
        self.numbers += 1
        self.objects[name] = (self.numbers, content)
        return self.numbers

    def document(self, name: str) -> dict[str, Any] | None:
        if self.is_down("bucket"):
            raise UnreadableError(f"reading {name} was answered with 503")
        found = self.objects.get(name)
        if found is None:
            return None
        if self.parsed.get(name, (0,))[0] != found[0]:
            self.parsed[name] = (found[0], json.loads(found[1]))
        return self.parsed[name][1]

    def promote(self, image: str) -> None:
        regions = {region_of(zone) for zone in self.desired.zones}
        images = {pool: dict.fromkeys(sorted(regions), image) for pool in self.desired.pools}
        self.write(names.pointer_object(), json.dumps({"version": 1, "bundle": "ab" * 32, "images": images}).encode())

    # Guests

    def live(self) -> None:
        for node in list(self.nodes.values()):
            self._live(node)

    def image_of(self, vm: str) -> str:
        return next((node.disk.image for node in self.nodes.values() if node.name == vm and node.disk), "")

    def _live(self, node: Node) -> None:
        metadata = node.body.get("metadata") or {}
        if "tidepool-stack" not in metadata:
            return
        if node.disk is None:
            node.disk = Disk(life=f"{node.body['id']} {node.body['createTime']}")
        vm = Vm(
            name=node.body["name"],
            machine=node.body["id"],
            state=node.state,
            life=node.disk.life,
            since=node.since,
            **{key: metadata[f"tidepool-{key}"] for key in ("stack", "pool", "region", "bucket")},
        )
        guest = Guest(
            vm,
            node.disk,
            _Around(self, node),  # ty: ignore[invalid-argument-type]
            now=self.now,
            compression=1.0,
            jobs_wait=self.github.queued > 0,
            faults=bool(self.struck),
        )
        guest.live()

    def strike(self, vm: str, kind: str) -> bool:
        if self.struck.get((vm, kind), 0) <= 0:
            return False
        self.struck[vm, kind] -= 1
        return True

    def _believed(self, token: str, now: datetime) -> Claims:
        """The claims of a token, whose signature is not simulated."""
        expires = now + timedelta(hours=1)
        if token == "controller":
            return Claims(email="controller", fingerprint=token, expires=expires, instance=None)
        path, fingerprint = token.split("|")
        node = self.nodes[path]
        slot = next(each for each in self.manifest["slots"] if each["name"] == node.name)
        machine = Instance(id=node.body["id"], zone=node.zone)
        return Claims(email=slot["service_account"], fingerprint=fingerprint, expires=expires, instance=machine)

    # What is measured

    def serves(self, vm: str) -> None:
        if vm in self.lost:
            self.outages.append(self.now - self.lost.pop(vm))

    def _loses(self, vm: str) -> None:
        if vm in self.github.online():
            self.lost.setdefault(vm, self.now)

    def lose_registration(self, vm: str) -> bool:
        self._loses(vm)
        return self.github.forget(vm)

    # What must hold

    def check(self) -> None:
        """Two VMs for a slot, and more chips than a limit has, may never be."""
        alive: dict[str, list[str]] = defaultdict(list)
        for node in self.nodes.values():
            if node.state not in DEAD and not node.freed:
                alive[node.name].append(node.zone)
        for slot in self.desired.slots:
            if len(alive[slot.name]) > 1:
                raise BrokenPromiseError(f"{slot.name} has VMs in {', '.join(alive[slot.name])}")
        for cap in self.desired.caps:
            used = sum(_chips(node) for node in self.nodes.values() if _draws_on(node, cap))
            if used + cap.held_elsewhere > cap.chips:
                raise BrokenPromiseError(f"{used} chips of {cap.name}, which has {cap.chips - cap.held_elsewhere}")

    def _check_delete(self, node: Node) -> None:
        labels = node.body["labels"]
        expired = int(labels.get("tidepool-expires", 10**12)) <= self.now + SKEW
        if labels.get("tidepool-stack") != self.desired.stack and not expired:
            raise BrokenPromiseError(f"{node.name} is not ours, and was deleted")
        if node.state == "READY" and self.github.busy(node.name):
            raise BrokenPromiseError(f"{node.name} was deleted while its runner had a job")
        slot = self.desired.slot(node.name)
        if slot is None:
            return
        serving = {each.name for each in self.desired.of_pool(slot.pool)} & self.github.online()
        if node.state == "READY" and serving == {node.name} and len(self.desired.of_pool(slot.pool)) > 1:
            raise BrokenPromiseError(f"{node.name} was the last serving VM of {slot.pool}, and was deleted")
        times = self.replaced[slot.pool]
        times.append(self.now)
        while times[0] <= self.now - 3600 + 2 * SKEW:
            times.popleft()
        if len(times) > self.desired.settings.replacements:
            raise BrokenPromiseError(f"{len(times)} VMs of {slot.pool} were replaced within {3600 - 2 * SKEW:.0f} s")

    def check_removal(self, runner: Runner) -> None:
        if runner.name == FOREIGN:
            raise BrokenPromiseError("a runner that is not ours was removed")
        if runner.online or runner.busy:
            raise BrokenPromiseError(f"{runner.name} was removed while it was online")

    def missing(self) -> list[str]:
        """What the fleet lacks, or has too much of, to be what is declared."""
        online, slots = self.github.online(), {slot.name for slot in self.desired.slots}
        ready = {node.name for node in self.nodes.values() if node.state == "READY"}
        said = [f"{name} does not serve" for name in sorted(slots - (online & ready))]
        kept = slots | {STRANGER, NEIGHBOUR}
        said += [f"{node.name} is left" for node in self.nodes.values() if node.name not in kept]
        standing = {node.name for node in self.nodes.values()}
        names_left = [each.name for each in self.github.registrations.values() if each.name != FOREIGN]
        said += [f"runner {name} is left" for name in names_left if vm_of(name) not in slots]
        return said + [f"{name} is gone" for name in (STRANGER, NEIGHBOUR) if name not in standing]


@dataclass(frozen=True, slots=True)
class _Around:
    """What a guest reaches: as `Surroundings`, without HTTP."""

    world: World
    node: Node

    @property
    def control(self) -> Any:
        return _Control(self.world)

    def pointer(self, vm: Vm) -> Mapping[str, Any] | None:
        return self.world.document(names.pointer_object())

    def orders(self, vm: Vm) -> Orders:
        told = self.world.document(names.orders_object(vm.id)) or {}
        images = (self.pointer(vm) or {}).get("images", {})
        return Orders(
            image=told.get("image") or images.get(vm.pool, {}).get(vm.region, ""),
            bundle=told.get("bundle") or "",
            restart=int(told.get("restart") or 0),
            drain=told.get("drain") is True,
        )

    def has_bundle(self, vm: Vm, sha256: str) -> bool:
        return True

    def report(self, vm: Vm, body: Mapping[str, Any]) -> None:
        if not self.world.is_down("bucket"):
            self.world.write(names.report_object(vm.pool, vm.id), json.dumps(body).encode())

    def register(self, vm: Vm) -> Registration:
        self.world.numbers += 1
        request = Request(stack=vm.stack, vm=vm.id, pool=vm.pool)
        try:
            granted = self.world.broker.register(f"{vm.name}|{self.world.numbers:x}", request, Story(request=request))
        except Refused as refused:
            return Registration(reason=refused.reason.word, again=float(refused.again))
        return Registration(jit=granted.jit, runner=granted.runner)


class _Control:
    def __init__(self, world: World) -> None:
        github = world.github
        self._world = world
        self.connect, self.disconnect = github.connect, github.disconnect
        self.take_work, self.end_job = github.take_work, github.end_job

    def strike_guest(self, node: str, kind: str) -> dict[str, Any] | None:
        struck = self._world.strike(node.rpartition("/")[2], kind)
        return {"seconds": 1500.0, "message": ""} if struck else None


def _chips(node: Node) -> int:
    return AcceleratorType.parse(node.body["acceleratorType"]).chips


def _draws_on(node: Node, cap: manifests.Cap) -> bool:
    scheduling = node.body.get("schedulingConfig") or {}
    return (
        not node.freed
        and node.zone == cap.zone
        and AcceleratorType.parse(node.body["acceleratorType"]).generation.name == cap.generation
        and any(scheduling.get(kind.value) for kind in cap.covers)
    )
