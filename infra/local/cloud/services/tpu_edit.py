"""Changes to TPU nodes that no API call made: nodes that appear, differ or vanish behind a fleet's back.

For the control surface: tests of drift and of a controller need what a console user or a failure of Google's would do.
Limits are counted and not enforced.
"""

from __future__ import annotations

import re

from infra.local.cloud.clock import timestamp
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import JsonObject, already_exists, invalid
from infra.local.cloud.services import tpu_fate, tpu_shapes
from infra.local.cloud.services.tpu_node import AT_REST, KIND, Node, forget, save

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
    tpu_shapes.known_zone(zone)
    tpu_shapes.check_runtime(sent)
    accelerator = tpu_shapes.accelerator_of(sent, zone)
    config = tpu_shapes.accelerator_config(accelerator)
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
    node = Node(public, tpu_shapes.pot_of(project, zone, accelerator, sent), accelerator, life=life)
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
