"""Compute Engine: persistent disks, so far as TPU nodes attach them.

Owns their size and type, and that one which a node holds is not deleted. Nothing is stored on them.
Source: cloud.google.com/compute/docs/reference/rest/v1/disks, read 2026-11.
"""

from __future__ import annotations

from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import bodies
from infra.local.cloud.services import compute_base as base
from infra.local.cloud.services.collection import page
from infra.local.cloud.store import Resource

DISK = "compute.disk"
# The kind in which the TPU service keeps its nodes.
_TPU_NODE = "tpu.node"
_SMALLEST_GB, _LARGEST_GB = 10, 65536
_DEFAULT_GB = "500"


@handles("compute.disks.insert")
def insert_disk(call: Call) -> JsonObject:
    name = base.new_name(call, "disks")
    size = call.params.get("sizeGb") or call.body.get("sizeGb", _DEFAULT_GB)
    if not _SMALLEST_GB <= int(size) <= _LARGEST_GB:
        raise base.bad_value("sizeGb", size, f"Must be from {_SMALLEST_GB} to {_LARGEST_GB}.")
    bodies.check_labels(call.body.get("labels", {}))
    where = base.scope(call)
    body = {"type": f"{where}/diskTypes/pd-standard", **call.body, "sizeGb": str(size), "zone": where}
    return base.insert(call, DISK, name, {**body, "physicalBlockSizeBytes": "4096", "status": "READY"})


@handles("compute.disks.aggregatedList")
def list_everywhere(call: Call) -> JsonObject:
    """The disks of every zone, by zone."""
    prefix = f"projects/{base.project_of(call)}/"
    found = [_shown(call, held) for held in call.cloud.store.each(DISK, prefix)]
    answer = page(call, "items", found, identity="selfLink")
    scopes: JsonObject = {}
    for disk in answer.get("items", []):
        scopes.setdefault(f"zones/{disk['zone'].rpartition('/')[2]}", {"disks": []})["disks"].append(disk)
    head = {"kind": "compute#diskAggregatedList", "id": f"{prefix}aggregated/disks"}
    return {**head, "selfLink": call.base + head["id"], **answer, "items": scopes}


@handles("compute.disks.delete")
def delete_disk(call: Call) -> JsonObject:
    held = base.find(call, DISK, f"{base.scope(call)}/disks/{call.ids['disk']}")
    # A node attaches disks of its own zone alone, by whatever form of link.
    for node in call.cloud.store.each(_TPU_NODE, f"projects/{base.project_of(call)}/locations/{call.ids['zone']}/"):
        attached = {disk.get("sourceDisk", "").rpartition("/")[2] for disk in node.body["public"].get("dataDisks", [])}
        if call.ids["disk"] in attached:
            raise base.in_use(held.name, node.name)
    return base.delete(call, held)


def _shown(call: Call, held: Resource) -> JsonObject:
    return base.shown(call, held, "compute#disk")


base.serve_reads("disks", DISK, "disk", _shown)
