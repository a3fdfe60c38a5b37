"""A TPU node as the local cloud stores it, and what its state means for the chips it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import JsonObject, invalid, not_found
from infra.local.cloud.faults import Target
from infra.local.cloud.limits import Pot
from infra.local.cloud.services.tpu_places import pot_of
from infra.local.cloud.store import Resource
from infra.model.catalogue import AcceleratorType

KIND = "tpu.node"
# States in which a node holds no chips; in every other one it does.
AT_REST = frozenset({"PREEMPTED", "STOPPED", "TERMINATED"})


@dataclass(slots=True)
class Node:
    """public: what the API shows. operation: name of the create (later the delete) operation.

    life: how many nodes have had this name, this one included; chance is drawn from it, so that a fleet made anew on
    an empty cloud meets the same fate.
    """

    public: JsonObject
    pot: Pot
    accelerator: AcceleratorType
    operation: str = ""
    life: int = 1
    resource: Resource | None = None

    @property
    def name(self) -> str:
        """`projects/P/locations/Z/nodes/ID`."""
        return self.public["name"]

    @property
    def id(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def state(self) -> str:
        return self.public["state"]

    @property
    def preemptible(self) -> bool:
        """Spot counts too."""
        return self.pot.capacity == "preemptible"

    def target(self, method: str) -> Target:
        """What fault rules are matched with."""
        return Target(method, self.pot.project, self.pot.zone, self.accelerator.name, self.id)


def load(cloud: Cloud, name: str) -> Node:
    """Raises 404."""
    return node_of(cloud.store.get(KIND, name))


def each(cloud: Cloud, prefix: str = "") -> Iterator[Node]:
    return map(node_of, list(cloud.store.each(KIND, prefix)))


def node_of(resource: Resource) -> Node:
    body, (_, project, _, zone, *_) = resource.body, resource.name.split("/")
    accelerator = AcceleratorType.parse(body["public"]["acceleratorType"])
    pot = pot_of(project, zone, accelerator, body["public"])
    return Node(body["public"], pot, accelerator, body["operation"], body["life"], resource)


def named(cloud: Cloud, name: str) -> Node:
    """By full name, or by a node id that only one node has. Raises 404, or 400 with the full names."""
    found = [node for node in each(cloud) if name in (node.name, node.id)]
    if not found:
        raise not_found(f"node {name}")
    if len(found) > 1:
        names = ", ".join(node.name for node in found)
        raise invalid(f"'{name}' is the name of several nodes; say which: {names}.", field="node")
    return found[0]


def save(cloud: Cloud, node: Node) -> None:
    """Store a node, and give its chips back where its state holds none."""
    body = {"public": node.public, "operation": node.operation, "life": node.life}
    if node.resource is None:
        node.resource = cloud.store.insert(KIND, node.name, body, now=cloud.now)
    else:
        node.resource = cloud.store.replace(node.resource, body, now=cloud.now)
    if node.state in AT_REST:
        cloud.limits.give_back(node.name)


def forget(cloud: Cloud, name: str) -> None:
    """The node is gone: its chips too, and whatever was planned for it."""
    cloud.store.delete(KIND, name)
    cloud.limits.give_back(name)
    cloud.timeline.cancel(name)
