"""What the cloud keeps for the guests of its VMs and tells them: nodes, disks, and the faults that strike.

The cloud does not know what a disk says and steps no guest; who does is `infra.local.guests`. A disk outlives its node
until a guest has been told, so that whatever ran on it can be ended.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import invalid
from infra.local.cloud.github import records
from infra.local.cloud.registry import JsonObject
from infra.local.cloud.services.tpu_node import Node, each, load

KIND = "guest"
FAULTS = ("mute", "slow-boot", "unfit", "broken")
"""Kinds of fault that befall guests."""
_METHOD = "guest"


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
        "nodes": [_shown(cloud, node) for node in each(cloud)],
        "disks": {found.name: found.body for found in cloud.store.each(KIND)},
    }


def write(cloud: Cloud, disks: Any) -> None:
    """Replace the disks named; None takes one away."""
    if not isinstance(disks, dict) or not all(isinstance(disk, dict | None) for disk in disks.values()):
        raise invalid("'disks' is an object: by full name of a node its disk, or null.", field="disks")
    for name, disk in disks.items():
        found = cloud.store.find(KIND, name)
        if disk is None:
            cloud.store.delete(KIND, name)
        elif found is None:
            cloud.store.insert(KIND, name, disk, now=cloud.now)
        else:
            cloud.store.replace(found, disk, now=cloud.now)


def struck(cloud: Cloud, name: str, kind: Any, running: str = "") -> JsonObject | None:
    """The fault of that kind that strikes the guest of a node now, and counts as one use of it.

    running: the image or bundle that it is about to run.
    """
    if kind not in FAULTS:
        raise invalid(f"kind is one of {', '.join(FAULTS)}, not {kind!r}.", field="kind")
    target = replace(load(cloud, name).target(_METHOD), running=running)
    rule = cloud.faults.strike(kind, target, cloud.now)
    return rule.to_json() if rule else None


def _shown(cloud: Cloud, node: Node) -> JsonObject:
    planned = cloud.timeline.planned(node.name)
    return {
        "node": node.public,
        "hosts": node.accelerator.hosts,
        "since": node.resource.updated if node.resource else cloud.now,
        "due": planned[0].due if planned else None,
    }
