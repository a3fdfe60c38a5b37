"""A TPU node as the local cloud stores it, what its state means for the chips it holds, and what befalls it.

Nobody asked for what befalls it: preemption by command, by chance or by age, maintenance, and hanging. Lifetimes follow
the cloud's clock as it is; nothing here is compressed. Random preemption is off until a `preempt` fault rule says
otherwise, and is drawn once a life of a node from the rule's seed. An operation that a `hang` rule struck ends as it
would have, after its ordinary duration, when the time of its rule is over or the rule is lifted; until then the node
holds its chips and can be deleted.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench.cloud.clock import DueEvent, timestamp
from bench.cloud.cloud import Cloud, reacts
from bench.cloud.errors import JsonObject, failed_precondition, invalid, not_found
from bench.cloud.faults import FaultRule, FaultTarget
from bench.cloud.limits import LimitScope
from bench.cloud.services.tpu import places
from bench.cloud.store import Resource
from infra.model.catalogue import AcceleratorType

KIND = "tpu.node"
# States in which a node holds no chips; in every other one it does.
AT_REST = frozenset({"PREEMPTED", "STOPPED", "TERMINATED"})
# cloud.google.com/tpu/docs/preemptible: a preemptible (not a spot) TPU VM lives 24 hours at most. 2026-09.
PREEMPTIBLE_LIFETIME = 24 * 3600.0
MAINTENANCE_SECONDS = 600.0
_METHOD = "tpu.preemption"
_FULL_NAME = re.compile(r"projects/([^/]+)/locations/([^/]+)/nodes/[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_RESUMES = "tpu.node.resumes"
# Longer than any test and shorter than what no calendar has.
_FOREVER = 100 * 365 * 24 * 3600.0


@dataclass(slots=True)
class TpuNode:
    """public: what the API shows. operation: name of the create (later the delete) operation.

    life: how many nodes have had this name, this one included; chance is drawn from it, so that a fleet made anew on
    an empty cloud ends in the same way.
    """

    public: JsonObject
    scope: LimitScope
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
        return self.scope.capacity == "preemptible"

    def target(self, method: str) -> FaultTarget:
        """What fault rules are matched with."""
        return FaultTarget(method, self.scope.project, self.scope.zone, self.accelerator.name, self.id)


def new(cloud: Cloud, name: str, sent: JsonObject) -> TpuNode:
    """The next node of this full name, as it was sent. Raises 400 for what its zone does not have."""
    match = _FULL_NAME.fullmatch(name)
    if match is None:
        text = f"Invalid node name '{name}': projects/P/locations/ZONE/nodes/ID, the ID at most 63 of a-z, 0-9 and -."
        raise invalid(text, field="node_id")
    project, zone, _ = match.groups()
    places.known_zone(zone)
    places.check_runtime(sent)
    accelerator = places.accelerator_of(sent, zone)
    kind = accelerator.generation.api_type
    public = {
        # Not for a generation that the API's enum does not have.
        **({"acceleratorConfig": {"type": kind, "topology": str(accelerator.topology)}} if kind else {}),
        "acceleratorType": accelerator.name,
        **sent,
        "name": name,
        "createTime": timestamp(cloud.now),
    }
    life = cloud.store.next_number(f"life of {name}")
    return TpuNode(public, places.scope_of(project, zone, accelerator, sent), accelerator, life=life)


def load(cloud: Cloud, name: str) -> TpuNode:
    """Raises 404."""
    return node_of(cloud.store.get(KIND, name))


def each(cloud: Cloud, prefix: str = "") -> Iterator[TpuNode]:
    return map(node_of, list(cloud.store.each(KIND, prefix)))


def node_of(resource: Resource) -> TpuNode:
    body, (_, project, _, zone, *_) = resource.body, resource.name.split("/")
    accelerator = AcceleratorType.parse(body["public"]["acceleratorType"])
    scope = places.scope_of(project, zone, accelerator, body["public"])
    return TpuNode(body["public"], scope, accelerator, body["operation"], body["life"], resource)


def named(cloud: Cloud, name: str) -> TpuNode:
    """By full name, or by a node id that only one node has. Raises 404, or 400 with the full names."""
    found = [node for node in each(cloud) if name in (node.name, node.id)]
    if not found:
        raise not_found(f"node {name}")
    if len(found) > 1:
        names = ", ".join(node.name for node in found)
        raise invalid(f"'{name}' is the name of several nodes; say which: {names}.", field="node")
    return found[0]


def save(cloud: Cloud, node: TpuNode) -> None:
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


def plan(cloud: Cloud, node: TpuNode) -> None:
    """A node has begun to run: decide how that may end by itself."""
    if not node.preemptible:
        return
    if node.public["schedulingConfig"].get("preemptible"):
        cloud.timeline.add(cloud.now + PREEMPTIBLE_LIFETIME, "tpu.node.preempted", node.name)
    for rule in cloud.faults.each(cloud.now):
        if rule.kind == "preempt":
            _draw(cloud, node, rule)


def apply_rule(cloud: Cloud, rule: FaultRule) -> None:
    """A `preempt` rule was added: nodes that already run fall under it from now on."""
    for node in each(cloud):
        if node.preemptible and node.state == "READY":
            _draw(cloud, node, rule)


def preempt(cloud: Cloud, node: TpuNode) -> None:
    """Take a node away: it stays listed as PREEMPTED until somebody deletes it. Raises 400."""
    if not node.preemptible:
        raise failed_precondition(
            f"'{node.name}' is {node.scope.capacity}; only preemptible and spot nodes are preempted."
        )
    if node.state != "READY":
        raise failed_precondition(f"'{node.name}' is {node.state}; only a READY node is preempted.")
    cloud.timeline.cancel(node.name)
    node.public["state"] = "PREEMPTED"
    node.public.pop("health", None)
    save(cloud, node)


def maintain(cloud: Cloud, node: TpuNode, seconds: float = MAINTENANCE_SECONDS) -> None:
    """Begin a maintenance event that ends by itself. Raises 400."""
    if node.state != "READY":
        raise failed_precondition(f"'{node.name}' is {node.state}; only a READY node is maintained.")
    node.public |= {"state": "REPAIRING", "health": "UNHEALTHY_MAINTENANCE"}
    save(cloud, node)
    cloud.timeline.add(cloud.now + seconds, "tpu.node.maintained", node.name)


@reacts("tpu.node.maintained")
def _maintained(cloud: Cloud, event: DueEvent) -> None:
    node = load(cloud, event.subject)
    node.public |= {"state": "READY", "health": "HEALTHY"}
    save(cloud, node)


@reacts("tpu.node.preempted")
def _preempted(cloud: Cloud, event: DueEvent) -> None:
    """Age or chance. A node under maintenance goes as well; a rule that was removed or is used up takes none."""
    node = load(cloud, event.subject)
    if "rule" in event.data and not cloud.faults.spend(event.data["rule"], cloud.now):
        return
    node.public["state"] = "READY"
    preempt(cloud, node)


def _draw(cloud: Cloud, node: TpuNode, rule: FaultRule) -> None:
    if rule.per_hour == 0 or not rule.matches(node.target(_METHOD)):
        return
    # A model's chance, which must be the same every time.
    chance = random.Random(f"{rule.seed} {node.name} {node.life}").random()  # noqa: S311
    hours = -math.log(1 - chance) / rule.per_hour
    cloud.timeline.add(cloud.now + hours * 3600, "tpu.node.preempted", node.name, {"rule": rule.id})


def hold(
    cloud: Cloud, rule: FaultRule, subject: str, kind: str, data: JsonObject, operation: str, seconds: float
) -> None:
    """Let an operation go on and on. kind, data: of the event that ends it. seconds: how long it would take."""
    cloud.operations.postpone(operation, cloud.now + _FOREVER)
    end = cloud.now + (rule.seconds or _FOREVER)
    held = {"rule": rule.id, "operation": operation, "seconds": seconds, "kind": kind, "data": data}
    cloud.timeline.add(end if rule.until is None else min(end, rule.until), _RESUMES, subject, held)


def release(cloud: Cloud, rule: int | None) -> None:
    """A rule was lifted, or with None all of them: what hangs by it goes on."""
    for event in cloud.timeline.planned(kind=_RESUMES):
        if rule in (None, event.data["rule"]):
            cloud.timeline.cancel(event.subject, _RESUMES)
            _resume(cloud, event)


@reacts(_RESUMES)
def _resume(cloud: Cloud, event: DueEvent) -> None:
    end = cloud.now + cloud.compressed(event.data["seconds"])
    cloud.operations.postpone(event.data["operation"], end)
    cloud.timeline.add(end, event.data["kind"], event.subject, event.data["data"])
