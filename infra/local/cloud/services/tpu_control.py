"""What the control surface does to TPU nodes and tells their guests.

Owns changes that no API call made, for tests of drift and of a controller (nodes appear, differ or vanish behind a
fleet's back; limits are counted and not enforced), and what is kept for guests. The cloud does not know what a disk
says and steps no guest; who does is `infra.local.guests`. A disk outlives its node until a guest has been told, so that
whatever ran on it can be ended.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import JsonObject, already_exists, invalid
from infra.local.cloud.github import records
from infra.local.cloud.services import tpu_fate, tpu_places
from infra.local.cloud.services.tpu_node import AT_REST, KIND, Node, each, forget, load, save

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


def add(cloud: Cloud, name: str, sent: JsonObject) -> Node:
    """A node that is READY at once. Raises 400 or 409."""
    match = _FULL_NAME.fullmatch(name)
    if match is None:
        raise invalid(f"{name!r} is no full name: projects/P/locations/ZONE/nodes/ID.", field="name")
    if cloud.store.find(KIND, name):
        raise already_exists(name)
    project, zone, _ = match.groups()
    tpu_places.known_zone(zone)
    tpu_places.check_runtime(sent)
    accelerator = tpu_places.accelerator_of(sent, zone)
    config = tpu_places.accelerator_config(accelerator)
    public = {
        **({"acceleratorConfig": config} if config else {}),
        "acceleratorType": accelerator.name,
        "health": "HEALTHY",
        "state": "READY",
        **sent,
        "name": name,
        "createTime": timestamp(cloud.now),
    }
    life = cloud.store.next_number(f"life of {name}")
    node = Node(public, tpu_places.pot_of(project, zone, accelerator, sent), accelerator, life=life)
    cloud.limits.take(name, node.pot, accelerator.chips)
    save(cloud, node)
    tpu_fate.plan(cloud, node)
    return node


def edit(cloud: Cloud, node: Node, changes: JsonObject) -> Node:
    """Set fields of a node; null removes one. Raises 400 for a field that decides what chips it holds."""
    fixed = {"name", "acceleratorType", "acceleratorConfig", "schedulingConfig"} & changes.keys()
    if fixed:
        raise invalid(f"{', '.join(sorted(fixed))} of a node cannot change; remove it and add another.")
    state = changes.get("state", node.state)
    if state not in _STATES:
        raise invalid(f"{state!r} is no node state; states: {', '.join(sorted(_STATES))}.", field="state")
    if node.state in AT_REST and state not in AT_REST:
        cloud.limits.take(node.name, node.pot, node.accelerator.chips)
    for field, value in changes.items():
        if value is None:
            node.public.pop(field, None)
        else:
            node.public[field] = value
    save(cloud, node)
    return node


def remove(cloud: Cloud, node: Node) -> None:
    """Gone at once, without an operation."""
    forget(cloud, node.name)


def told(cloud: Cloud) -> JsonObject:
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


def write(cloud: Cloud, disks: Any) -> None:
    """Replace the disks named; None takes one away."""
    if not isinstance(disks, dict) or not all(isinstance(disk, dict | None) for disk in disks.values()):
        raise invalid("'disks' is an object: by full name of a node its disk, or null.", field="disks")
    for name, disk in disks.items():
        if disk is None:
            cloud.store.delete(_DISK, name)
        else:
            cloud.store.put(_DISK, name, disk, now=cloud.now)


def struck(cloud: Cloud, name: str, kind: Any, running: str = "") -> JsonObject | None:
    """The fault of that kind that strikes the guest of a node now, and counts as one use of it.

    running: the image or bundle that it is about to run.
    """
    if kind not in FAULTS:
        raise invalid(f"kind is one of {', '.join(FAULTS)}, not {kind!r}.", field="kind")
    target = replace(load(cloud, name).target("guest"), running=running)
    rule = cloud.faults.strike(kind, target, cloud.now)
    return rule.to_json() if rule else None


def _told(cloud: Cloud, node: Node) -> JsonObject:
    planned = cloud.timeline.planned(node.name)
    return {
        "node": node.public,
        "hosts": node.accelerator.hosts,
        "since": node.resource.updated if node.resource else cloud.now,
        "due": planned[0].due if planned else None,
    }
