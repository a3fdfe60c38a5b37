"""What the control surface does to TPU nodes and tells their guests, and the faults that strike them.

Owns changes that no API call made, for tests of drift and of a controller (nodes appear, differ or vanish behind a
fleet's back; limits are counted and not enforced), and what is kept for guests. The cloud does not know what a disk
says and steps no guest; who does is `bench.guests`. A disk outlives its node until a guest has been told, so that
whatever ran on it can be ended.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from bench.cloud.cloud import LONGEST_SECONDS, Cloud, obeys
from bench.cloud.errors import JsonObject, already_exists
from bench.cloud.faults import FaultRule
from bench.cloud.github import records
from bench.cloud.services.tpu import node as tpu_node
from bench.cloud.services.tpu.node import (
    AT_REST,
    KIND,
    TpuNode,
    apply_rule,
    each,
    forget,
    load,
    named,
    plan,
    release,
    save,
)

_DISK = "guest"


@obeys
def nodes(cloud: Cloud) -> list[JsonObject]:
    """Every TPU node as the API shows it."""
    return [node.public for node in each(cloud)]


@obeys
def add_node(cloud: Cloud, name: str, node: JsonObject) -> JsonObject:
    """A node nobody asked the API for, READY at once; `name` is full. Raises 400 or 409."""
    if cloud.store.find(KIND, name):
        raise already_exists(name)
    made = tpu_node.new(cloud, name, {"health": "HEALTHY", "state": "READY", **node})
    cloud.limits.take(name, made.scope, made.accelerator.chips)
    save(cloud, made)
    plan(cloud, made)
    return made.public


@obeys
def edit_node(cloud: Cloud, name: str, changes: JsonObject) -> JsonObject:
    """Set fields of a node behind everybody's back; None removes one. What decides its chips stays."""
    node = named(cloud, name)
    if node.state in AT_REST and changes.get("state", node.state) not in AT_REST:
        cloud.limits.take(node.name, node.scope, node.accelerator.chips)
    node.public = {key: value for key, value in {**node.public, **changes}.items() if value is not None}
    save(cloud, node)
    return node.public


@obeys
def remove_node(cloud: Cloud, name: str) -> None:
    """Gone at once, without an operation."""
    forget(cloud, named(cloud, name).name)


@obeys
def preempt(cloud: Cloud, node: str) -> JsonObject:
    """Take a READY preemptible or spot node away; `node` is its id, or its full name where ids repeat."""
    taken = named(cloud, node)
    tpu_node.preempt(cloud, taken)
    return taken.public


@obeys
def maintain(
    cloud: Cloud, node: str, seconds: Annotated[float | None, Field(ge=0, le=LONGEST_SECONDS)] = None
) -> JsonObject:
    """Begin a maintenance event that ends after `seconds` of cloud time; ten minutes where nobody says."""
    found = named(cloud, node)
    tpu_node.maintain(cloud, found, tpu_node.MAINTENANCE_SECONDS if seconds is None else seconds)
    return found.public


@obeys
def faults(cloud: Cloud) -> list[JsonObject]:
    return [rule.to_json() for rule in cloud.faults.each(cloud.now)]


@obeys
def fail(cloud: Cloud, kind: str, **rule: Any) -> JsonObject:
    """Add a fault; the fields of `rule` are those of `faults.FaultRule`. The answer has its `id`."""
    added = cloud.faults.add(FaultRule.from_json({"kind": kind, **rule}), now=cloud.now)
    if kind == "preempt":
        apply_rule(cloud, added)
    return added.to_json()


@obeys
def mend(cloud: Cloud, fault: int | None = None) -> None:
    """Remove one fault, or all; what hangs by it goes on."""
    if fault is None:
        cloud.faults.clear()
    else:
        cloud.faults.remove(fault)
    release(cloud, fault)


@obeys
def guests(cloud: Cloud) -> JsonObject:
    """seconds: now. queued: jobs that wait. faults: whether anything goes wrong on purpose.

    nodes: `node` as the API shows it, `hosts` of its slice, `since` when it is so, `due` when something that is planned
        befalls it or None.
    disks: by a node's full name; those of nodes that are gone too.
    """
    return {
        "seconds": cloud.now,
        "compression": cloud.compression,
        "queued": sum(job.body["status"] == "queued" for job in cloud.store.each(records.JOB)),
        "faults": cloud.faults.any,
        "nodes": [_told(cloud, node) for node in each(cloud)],
        "disks": {found.name: found.body for found in cloud.store.each(_DISK)},
    }


@obeys
def write_disks(cloud: Cloud, disks: dict[str, JsonObject | None]) -> None:
    """Replace the disks of nodes by full name; None takes one away."""
    for name, disk in disks.items():
        if disk is None:
            cloud.store.delete(_DISK, name)
        else:
            cloud.store.put(_DISK, name, disk, now=cloud.now)


@obeys
def strike_guest(
    cloud: Cloud, node: str, kind: Literal["mute", "slow-boot", "unfit", "broken"], running: str = ""
) -> JsonObject | None:
    """The fault of that kind that strikes a guest now; it counts as used.

    running: the image or bundle that the guest is about to run.
    """
    rule = cloud.faults.strike(kind, replace(load(cloud, node).target("guest"), running=running), cloud.now)
    return rule.to_json() if rule else None


def _told(cloud: Cloud, node: TpuNode) -> JsonObject:
    planned = cloud.timeline.planned(node.name)
    return {
        "node": node.public,
        "hosts": node.accelerator.hosts,
        "since": node.resource.updated if node.resource else cloud.now,
        "due": planned[0].due if planned else None,
    }
