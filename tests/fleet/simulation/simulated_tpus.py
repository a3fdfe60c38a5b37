"""The TPU VMs of a simulated world: made, lost and deleted as the API does, with lists that may lie or lag.

Owns nodes and operations. What runs on a VM is `guests_in_process`, what may never happen `promises`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.guests.disk import Disk
from infra.model.catalogue import AcceleratorType
from tests.fleet.simulation.google_in_process import refusal
from tests.fleet.simulation.promises import UNLIMITED

if TYPE_CHECKING:
    from tests.fleet.simulation.simulated_world import World

_KEPT_OPERATIONS = 40
SLOW_DELETES, SLOW_DELETE = 0.05, 400.0
"""The part of deletes that take long, and for how many seconds."""


@dataclass(slots=True)
class Node:
    """A TPU VM, its body as the API shows it, since when it is in its state, and its guest's disk.

    freed: whether Google took its chips back. stuck: whether it was in a state that no call ends, so that its slot may
    have another VM. name, zone, accelerator: what its body says, which never changes.
    """

    body: dict[str, Any]
    since: float
    disk: Disk | None = None
    freed: bool = False
    stuck: bool = False
    name: str = field(init=False)
    zone: str = field(init=False)
    accelerator: AcceleratorType = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.body["name"].rpartition("/")[2]
        self.zone = self.body["name"].split("/")[3]
        self.accelerator = AcceleratorType.parse(self.body["acceleratorType"])

    @property
    def state(self) -> str:
        return self.body["state"]


@dataclass(frozen=True, slots=True)
class Lie:
    """What lists of a zone say until some time: nothing, a part, or what was true before."""

    kind: str
    until: float
    then: list[dict[str, Any]]


class SimulatedTpus:
    """nodes: by full name. operations: by zone and full name. stockouts: until when a zone has no capacity.

    ghosts: until when a zone takes creates of which nothing comes.
    creates: seconds that a create takes, from and to.
    a_minute: creates within a minute that are taken, until `limited`; each further one is answered by 429. hangs: until
        when the deletes of a VM's name take, where they hang.
    """

    creates = (40.0, 200.0)

    def __init__(self, world: World) -> None:
        self._world = world
        self.nodes: dict[str, Node] = {}
        self.operations: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self.lies: dict[str, Lie] = {}
        self.stockouts: dict[str, float] = {}
        self.ghosts: dict[str, float] = {}
        self.a_minute, self.limited = 0, 0.0
        self.hangs: dict[str, float] = {}
        self._asked: list[float] = []

    def path(self, zone: str, name: str) -> str:
        return f"projects/{self._world.project}/locations/{zone}/nodes/{name}"

    def of_slot(self, index: int) -> Node | None:
        """The VM of a declared slot, wherever it is; of two the one that is not stuck."""
        slots = self._world.desired.slots
        name = slots[index % len(slots)].name
        return min(
            (node for node in self.nodes.values() if node.name == name), key=lambda node: node.stuck, default=None
        )

    # As the API

    def listed(self, zone: str) -> list[dict[str, Any]]:
        """What a list of a zone says, which may be late or wrong; looking a VM up by name never is."""
        world = self._world
        world.insist(zone)
        truth = [dict(node.body) for node in self.nodes.values() if node.zone == zone]
        lie = self.lies.get(zone)
        if lie is None or lie.until <= world.now:
            return truth
        if lie.kind == "late":
            return lie.then
        if lie.kind == "empty":
            return []
        return [body for body in truth if world.draw("lie", world.now, body["name"]) < 0.6]

    def create(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        self._count()
        world, zone = self._world, name.split("/")[3]
        short = self.stockouts.get(zone, 0) > world.now
        if short and world.draw("answer", name, world.now) < 0.3:
            raise refusal(429, f'There is no more capacity in the zone "{zone}"')
        made = self._operation(zone)
        if self.ghosts.get(zone, 0) > world.now:
            made["done"] = True
            return dict(made)
        self.add(zone, name.rpartition("/")[2], body.get("labels", {}), body, state="CREATING")
        node = self.nodes[name]

        def ends() -> None:
            made["done"] = True
            if self.nodes.get(name) is not node or node.state != "CREATING":
                return
            if short:
                made["error"] = {"code": 8, "message": f'There is no more capacity in the zone "{zone}"'}
                del self.nodes[name]
            else:
                self.becomes(node, "READY")

        least, most = self.creates
        world.plan(least + (most - least) * world.draw("made", name, world.now), ends)
        world.promises.stand()
        return dict(made)

    def delete(self, name: str) -> dict[str, Any]:
        world, node = self._world, self.nodes[name]
        world.promises.before_delete(node)
        self.becomes(node, "DELETING")
        gone = self._operation(node.zone)

        def ends() -> None:
            gone["done"] = True
            if self.nodes.get(name) is node:
                del self.nodes[name]

        world.plan(self.delete_takes(node), ends)
        return dict(gone)

    def delete_takes(self, node: Node) -> float:
        """Seconds until a VM is gone whose delete begins now."""
        slow = self._world.draw("slow delete", node.body["name"], node.body["createTime"])
        usual = SLOW_DELETE if slow < SLOW_DELETES else 5 + 60 * slow
        return max(usual, self.hangs.get(node.name, 0.0) - self._world.now)

    def _count(self) -> None:
        now = self._world.now
        self._asked = [at for at in self._asked if now - at < 60]
        if now < self.limited and len(self._asked) >= self.a_minute:
            raise refusal(429, "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute'")
        self._asked.append(now)

    # As nobody asked for

    def add(
        self, zone: str, name: str, labels: Mapping[str, str], body: Mapping[str, Any] | None = None, *,
        state: str = "READY",
    ) -> None:  # fmt: skip
        """A VM is there. body: without one, of an accelerator that no limit counts."""
        world, path = self._world, self.path(zone, name)
        given = body or {"acceleratorType": UNLIMITED, "schedulingConfig": {"spot": True}}
        told = {"name": path, "id": str(world.number()), "state": state, "createTime": world.moment().isoformat()}
        self.nodes[path] = Node({**given, "labels": dict(labels), **told}, since=world.now)

    def becomes(self, node: Node, state: str) -> None:
        """Bring a VM into a state; its guest learns of it at once."""
        if state != "READY":
            self._world.loses(node.name)
        node.body, node.since = {**node.body, "state": state}, self._world.now
        node.freed = node.freed or state in ("PREEMPTED", "TERMINATED")
        self._world.live(node)

    def vanish(self, node: Node) -> None:
        """A VM is gone at once, as after a delete by hand."""
        self.becomes(node, "DELETING")
        del self.nodes[node.body["name"]]

    def _operation(self, zone: str) -> dict[str, Any]:
        name = f"projects/{self._world.project}/locations/{zone}/operations/{self._world.number()}"
        self.operations[zone][name] = {"name": name, "done": False}
        while len(self.operations[zone]) > _KEPT_OPERATIONS:
            del self.operations[zone][next(iter(self.operations[zone]))]
        return self.operations[zone][name]
