"""What the control surface does to TPU nodes and tells their guests, and the faults that strike them.

Owns changes that no API call made, for tests of drift and of a controller (nodes appear, differ or vanish behind a
fleet's back; limits are counted and not enforced), and what is kept for guests. The cloud does not know what a disk
says and steps no guest; who does is `bench.guests`. A disk outlives its node until a guest has been told, so that
whatever ran on it can be ended.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bench.cloud.clock import timestamp
from bench.cloud.cloud import LONGEST_SECONDS, Cloud, Order, obeys, whole
from bench.cloud.errors import JsonObject, already_exists, invalid
from bench.cloud.faults import FaultRule
from bench.cloud.github import records
from bench.cloud.services.tpu import node as tpu_node
from bench.cloud.services.tpu import places as tpu_places
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
    preempt,
    release,
    save,
)

_DISK = "guest"
FAULTS = ("mute", "slow-boot", "unfit", "broken")
"""Kinds of fault that befall guests."""
_FULL_NAME = re.compile(r"projects/([^/]+)/locations/([^/]+)/nodes/([^/]+)")
# google.cloud.tpu.v2.Node.State, 2026-10-01.
_STATES = frozenset(
    (
        *("CREATING", "READY", "RESTARTING", "REIMAGING", "DELETING", "REPAIRING", "STOPPED", "STOPPING", "STARTING"),
        *("PREEMPTED", "TERMINATED", "HIDING", "HIDDEN", "UNHIDING", "UNKNOWN"),
    )
)


@obeys("GET nodes")
def nodes(order: Order) -> JsonObject:
    return {"nodes": [node.public for node in each(order.cloud)]}


@obeys("POST nodes")
def add(order: Order) -> JsonObject:
    """A node that is READY at once. Raises 400 or 409."""
    cloud, name, sent = order.cloud, str(order.body.get("name", "")), order.body.get("node", {})
    match = _FULL_NAME.fullmatch(name)
    if match is None:
        raise invalid(f"{name!r} is not a full name: projects/P/locations/ZONE/nodes/ID.", field="name")
    if cloud.store.find(KIND, name):
        raise already_exists(name)
    project, zone, _ = match.groups()
    tpu_places.known_zone(zone)
    tpu_places.check_runtime(sent)
    accelerator = tpu_places.accelerator_of(sent, zone)
    public = {
        **tpu_places.accelerator_config(accelerator),
        "acceleratorType": accelerator.name,
        "health": "HEALTHY",
        "state": "READY",
        **sent,
        "name": name,
        "createTime": timestamp(cloud.now),
    }
    life = cloud.store.next_number(f"life of {name}")
    node = TpuNode(public, tpu_places.scope_of(project, zone, accelerator, sent), accelerator, life=life)
    cloud.limits.take(name, node.scope, accelerator.chips)
    save(cloud, node)
    plan(cloud, node)
    return node.public


@obeys("PATCH nodes")
def edit(order: Order) -> JsonObject:
    """Set fields of a node; null removes one. Raises 400 for a field that decides what chips it holds."""
    cloud, changes, node = order.cloud, order.body, named(order.cloud, order.rest)
    fixed = {"name", "acceleratorType", "acceleratorConfig", "schedulingConfig"} & changes.keys()
    if fixed:
        raise invalid(f"{', '.join(sorted(fixed))} of a node cannot change; remove it and add another.")
    state = changes.get("state", node.state)
    if state not in _STATES:
        raise invalid(f"{state!r} is not a state of a node; states: {', '.join(sorted(_STATES))}.", field="state")
    if node.state in AT_REST and state not in AT_REST:
        cloud.limits.take(node.name, node.scope, node.accelerator.chips)
    node.public = {key: value for key, value in {**node.public, **changes}.items() if value is not None}
    save(cloud, node)
    return node.public


@obeys("DELETE nodes")
def remove(order: Order) -> JsonObject:
    """Gone at once, without an operation."""
    forget(order.cloud, named(order.cloud, order.rest).name)
    return {}


@obeys("POST preempt")
def take_away(order: Order) -> JsonObject:
    node = named(order.cloud, order.body.get("node", ""))
    preempt(order.cloud, node)
    return node.public


@obeys("POST maintain")
def begin_maintenance(order: Order) -> JsonObject:
    node = named(order.cloud, order.body.get("node", ""))
    seconds = order.body.number("seconds", at_most=LONGEST_SECONDS, default=tpu_node.MAINTENANCE_SECONDS)
    tpu_node.maintain(order.cloud, node, seconds)
    return node.public


@obeys("GET faults")
def faults(order: Order) -> JsonObject:
    return {"faults": [rule.to_json() for rule in order.cloud.faults.each(order.cloud.now)]}


@obeys("POST faults")
def fail(order: Order) -> JsonObject:
    rule = order.cloud.faults.add(FaultRule.from_json(order.body), now=order.cloud.now)
    if rule.kind == "preempt":
        apply_rule(order.cloud, rule)
    return rule.to_json()


@obeys("DELETE faults")
def mend(order: Order) -> JsonObject:
    """One, or all; what hangs by it goes on."""
    number = whole(order.rest, "id") if order.rest else None
    if number is None:
        order.cloud.faults.clear()
    else:
        order.cloud.faults.remove(number)
    release(order.cloud, number)
    return {}


@obeys("GET guests")
def told(order: Order) -> JsonObject:
    """seconds: now. queued: jobs that wait. faults: whether anything goes wrong on purpose.

    nodes: `node` as the API shows it, `hosts` of its slice, `since` when it is so, `due` when something that is planned
        befalls it or None.
    disks: by a node's full name; those of nodes that are gone too.
    """
    cloud = order.cloud
    return {
        "seconds": cloud.now,
        "compression": cloud.compression,
        "queued": sum(job.body["status"] == "queued" for job in cloud.store.each(records.JOB)),
        "faults": cloud.faults.any,
        "nodes": [_told(cloud, node) for node in each(cloud)],
        "disks": {found.name: found.body for found in cloud.store.each(_DISK)},
    }


@obeys("POST guests")
def write(order: Order) -> JsonObject:
    """Replace the disks named; None takes one away."""
    disks = order.body.get("disks")
    if not isinstance(disks, dict) or not all(isinstance(disk, dict | None) for disk in disks.values()):
        raise invalid("'disks' is an object: by full name of a node its disk, or null.", field="disks")
    for name, disk in disks.items():
        if disk is None:
            order.cloud.store.delete(_DISK, name)
        else:
            order.cloud.store.put(_DISK, name, disk, now=order.cloud.now)
    return {}


@obeys("POST guest-faults")
def struck(order: Order) -> JsonObject:
    """The fault of that kind that strikes the guest of a node now, and counts as one use of it.

    running: the image or bundle that it is about to run.
    """
    cloud, kind = order.cloud, order.body.get("kind")
    name, running = (str(order.body.get(key, "")) for key in ("node", "running"))
    if kind not in FAULTS:
        raise invalid(f"kind is one of {', '.join(FAULTS)}, not {kind!r}.", field="kind")
    rule = cloud.faults.strike(kind, replace(load(cloud, name).target("guest"), running=running), cloud.now)
    return {"fault": rule.to_json() if rule else None}


def _told(cloud: Cloud, node: TpuNode) -> JsonObject:
    planned = cloud.timeline.planned(node.name)
    return {
        "node": node.public,
        "hosts": node.accelerator.hosts,
        "since": node.resource.updated if node.resource else cloud.now,
        "due": planned[0].due if planned else None,
    }
