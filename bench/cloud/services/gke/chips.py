"""The chips of GKE node pools: what they are counted against, and why there are none.

A quota refuses a request at once (403), or its operation ends with an error, as the limit says; a stockout and a
reservation that is used up always show in the operation. Source of the words: issues of
hashicorp/terraform-provider-google and cloud.google.com/kubernetes-engine/docs/troubleshooting, read 2026-11.
"""

from __future__ import annotations

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import ApiError, JsonObject, rpc_status
from bench.cloud.limits import Limit, LimitScope
from bench.cloud.services.gke import base as gke_base
from bench.cloud.services.gke.base import changed
from bench.cloud.services.gke.pool_rules import PoolShape
from bench.cloud.store import Resource


def scopes(project: str, shape: PoolShape) -> list[LimitScope]:
    """What the chips of a pool are counted against, zone by zone; nothing for machines without chips."""
    generation = shape.machine.generation
    return [LimitScope(project, zone, generation.name, shape.capacity) for zone in shape.zones] if generation else []


def check_chips(cloud: Cloud, project: str, shape: PoolShape, nodes: int) -> JsonObject | None:
    """The error by which an operation ends for want of chips. Raises 403 where the quota refuses at once."""
    for scope in scopes(project, shape):
        refusal = cloud.limits.refusal(scope, shape.chips(nodes))
        if refusal is None:
            continue
        limit, error = refusal
        if limit.refuse == "request" and scope.capacity != "reserved":
            raise _over_quota(limit, cloud.limits.held(limit.scope), shape.chips(nodes))
        return {**rpc_status("RESOURCE_EXHAUSTED", error.message), "condition": "GCE_QUOTA_EXCEEDED"}
    return None


def _over_quota(limit: Limit, held: int, asked: int) -> ApiError:
    left = max(0, limit.chips - held - limit.held_elsewhere)
    kind = "PREEMPTIBLE_TPU" if limit.scope.capacity == "preemptible" else "TPU"
    return ApiError(
        403,
        f'Insufficient regional quota to satisfy request: resource "{kind}_{limit.scope.generation.upper()}": request '
        f"requires '{asked}.0' and is short '{asked - left}.0'. project has a quota of '{limit.chips}.0' with "
        f"'{left}.0' available.",
        reason="forbidden",
    )


def hold_chips(cloud: Cloud, held: Resource, shape: PoolShape, nodes: int) -> Resource:
    """Let a pool hold the chips of so many nodes a zone, and no others."""
    holders = []
    for scope in scopes(held.name.split("/")[1], shape):
        holder = f"{held.name}@{scope.zone}"
        cloud.limits.give_back(holder)
        if nodes:
            cloud.limits.take(holder, scope, shape.chips(nodes))
        holders.append(holder)
    return changed(cloud, held, holders=holders)


def strike(call: ApiCall, name: str, shape: PoolShape, nodes: int) -> JsonObject | None:
    """The error that a fault puts into an operation that gives a pool so many machines; none are never lacking."""
    zone = shape.zones[0]
    target = gke_base.target_of(call, name, zone=zone, accelerator=shape.accelerator)
    if nodes and (rule := call.cloud.faults.strike("stockout", target, call.cloud.now)):
        project = name.split("/")[1]
        text = rule.message or (
            f"Google Compute Engine: [GCE_STOCKOUT] Instance creation failed: The zone 'projects/{project}/zones/"
            f"{zone}' does not have enough resources available to fulfill the request. Try a different zone, or try "
            "again later."
        )
        return {**rpc_status("RESOURCE_EXHAUSTED", text), "condition": "GCE_STOCKOUT"}
    return gke_base.struck(call, target)


def told(error: JsonObject) -> JsonObject:
    """How a pool shows why it has not all of its nodes; takes from the error what is not an operation's to say."""
    code, text = error.pop("condition", "UNKNOWN"), error["message"]
    return {"statusMessage": text, "conditions": [{"code": code, "message": text}]}
