"""The operations of every API that has `google.longrunning` ones below `/v1` and `/v1beta1`.

At one root these APIs share their paths, so one answer serves them all. TPU and Compute Engine have their own; the
operations of builds are made from their builds.
"""

from __future__ import annotations

from infra.local.cloud.registry import Call, JsonObject, handles
from infra.local.cloud.services import cloudbuild_builds

# What Service Usage names an operation that had nothing to do.
NOTHING_TO_DO = "operations/noop.DONE_OPERATION"


@handles(
    "artifactregistry.projects.locations.operations.get",
    "cloudbuild.projects.locations.operations.get",
    "iam.projects.locations.workloadIdentityPools.operations.get",
    "iam.projects.locations.workloadIdentityPools.providers.operations.get",
    "serviceusage.operations.get",
)
def get_operation(call: Call) -> JsonObject:
    name = call.params["name"]
    if name == NOTHING_TO_DO:
        return {"name": name, "done": True}
    return cloudbuild_builds.operation_named(call.cloud, name) or call.cloud.operations.get(name)
