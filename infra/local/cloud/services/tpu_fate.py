"""What befalls a TPU node that nobody asked for: preemption by command, by chance or by age, maintenance, and hanging.

Lifetimes follow the cloud's clock as it is; nothing here is compressed. Random preemption is off until a `preempt`
fault rule says otherwise, and is drawn once a life of a node from the rule's seed. An operation that a `hang` rule
struck ends as it would have, after its ordinary duration, when the time of its rule is over or the rule is lifted;
until then the node holds its chips and can be deleted.
"""

from __future__ import annotations

import math
import random

from infra.local.cloud.clock import Event
from infra.local.cloud.cloud import Cloud, reacts
from infra.local.cloud.errors import failed_precondition
from infra.local.cloud.faults import Rule
from infra.local.cloud.services.tpu_node import Node, each, load, save

# cloud.google.com/tpu/docs/preemptible: a preemptible (not a spot) TPU VM lives 24 hours at most. 2026-09.
PREEMPTIBLE_LIFETIME = 24 * 3600.0
MAINTENANCE_SECONDS = 600.0
_METHOD = "tpu.preemption"
_RESUMES = "tpu.node.resumes"
# Longer than any test and shorter than what no calendar has.
_FOREVER = 100 * 365 * 24 * 3600.0


def plan(cloud: Cloud, node: Node) -> None:
    """A node has begun to run: decide how that may end by itself."""
    if not node.preemptible:
        return
    if node.public["schedulingConfig"].get("preemptible"):
        cloud.timeline.add(cloud.now + PREEMPTIBLE_LIFETIME, "tpu.node.preempted", node.name)
    for rule in cloud.faults.each(cloud.now):
        if rule.kind == "preempt":
            _draw(cloud, node, rule)


def apply_rule(cloud: Cloud, rule: Rule) -> None:
    """A `preempt` rule was added: nodes that already run fall under it from now on."""
    for node in each(cloud):
        if node.preemptible and node.state == "READY":
            _draw(cloud, node, rule)


def preempt(cloud: Cloud, node: Node) -> None:
    """Take a node away: it stays listed as PREEMPTED until somebody deletes it. Raises 400."""
    if not node.preemptible:
        raise failed_precondition(
            f"'{node.name}' is {node.pot.capacity}; only preemptible and spot nodes are preempted."
        )
    if node.state != "READY":
        raise failed_precondition(f"'{node.name}' is {node.state}; only a READY node is preempted.")
    cloud.timeline.cancel(node.name)
    node.public["state"] = "PREEMPTED"
    node.public.pop("health", None)
    save(cloud, node)


def maintain(cloud: Cloud, node: Node, seconds: float = MAINTENANCE_SECONDS) -> None:
    """Begin a maintenance event that ends by itself. Raises 400."""
    if node.state != "READY":
        raise failed_precondition(f"'{node.name}' is {node.state}; only a READY node is maintained.")
    node.public |= {"state": "REPAIRING", "health": "UNHEALTHY_MAINTENANCE"}
    save(cloud, node)
    cloud.timeline.add(cloud.now + seconds, "tpu.node.maintained", node.name)


@reacts("tpu.node.maintained")
def _maintained(cloud: Cloud, event: Event) -> None:
    node = load(cloud, event.subject)
    node.public |= {"state": "READY", "health": "HEALTHY"}
    save(cloud, node)


@reacts("tpu.node.preempted")
def _preempted(cloud: Cloud, event: Event) -> None:
    """Age or chance. A node under maintenance goes as well; a rule that was removed or is used up takes none."""
    node = load(cloud, event.subject)
    if "rule" in event.data and not cloud.faults.spend(event.data["rule"], cloud.now):
        return
    node.public["state"] = "READY"
    preempt(cloud, node)


def _draw(cloud: Cloud, node: Node, rule: Rule) -> None:
    if rule.per_hour == 0 or not rule.matches(node.target(_METHOD)):
        return
    # A model's chance, which must be the same every time.
    chance = random.Random(f"{rule.seed} {node.name} {node.life}").random()  # noqa: S311
    hours = -math.log(1 - chance) / rule.per_hour
    cloud.timeline.add(cloud.now + hours * 3600, "tpu.node.preempted", node.name, {"rule": rule.id})


def hold(cloud: Cloud, rule: Rule, event: Event, operation: str, seconds: float) -> None:
    """Let an operation go on and on. event: what ends it. seconds: its ordinary, realistic duration."""
    cloud.operations.postpone(operation, cloud.now + _FOREVER)
    end = cloud.now + (rule.seconds or _FOREVER)
    held = {"rule": rule.id, "operation": operation, "seconds": seconds, "kind": event.kind, "data": event.data}
    cloud.timeline.add(end if rule.until is None else min(end, rule.until), _RESUMES, event.subject, held)


def release(cloud: Cloud, rule: int | None) -> None:
    """A rule was lifted, or with None all of them: what hangs by it goes on."""
    for event in cloud.timeline.of_kind(_RESUMES):
        if rule in (None, event.data["rule"]):
            cloud.timeline.cancel(event.subject, _RESUMES)
            _resume(cloud, event)


@reacts(_RESUMES)
def _resume(cloud: Cloud, event: Event) -> None:
    end = cloud.now + cloud.compressed(event.data["seconds"])
    cloud.operations.postpone(event.data["operation"], end)
    cloud.timeline.add(end, event.data["kind"], event.subject, event.data["data"])
