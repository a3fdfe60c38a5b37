"""What the parts of Cloud Build share: where a call is, identifiers that the service makes, listings by age.

Owns that a path without a location means `global`, as the first version of the API has it, and the UUIDs of triggers
and builds. Leaves what they are to `cloudbuild_triggers` and `cloudbuild_builds`.
"""

from __future__ import annotations

import re
import uuid

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import not_found
from infra.local.cloud.registry import Call
from infra.local.cloud.services import places
from infra.local.cloud.store import Resource

GLOBAL = "global"
_PARENT = re.compile(r"projects/([^/]+)/locations/([^/]+)(?:/|$)")


def parent(call: Call) -> str:
    """`projects/P/locations/L` with the project's id. Raises 404 for a location that is neither global nor a region.

    Generated clients call the path without a location and name the place, or all of what they ask for, beside it.
    """
    named = call.params.get("parent") or call.params.get("name") or call.body.get("name", "")
    if "locationsId" not in call.ids and (hit := _PARENT.match(named)):
        return _place(call.cloud.project(hit[1]).id, hit[2])
    project = call.cloud.project(call.ids.get("projectsId") or call.ids["projectId"]).id
    return _place(project, call.ids.get("locationsId", GLOBAL))


def _place(project: str, location: str) -> str:
    if location != GLOBAL and location not in places.REGIONS:
        raise not_found(f"locations/{location}")
    return f"projects/{project}/locations/{location}"


def project_of(name: str) -> str:
    return name.split("/")[1]


def location_of(name: str) -> str:
    return name.split("/")[3]


def new_id(cloud: Cloud, kind: str) -> str:
    """A UUID that no other resource of this cloud has; the same requests give the same ones."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind} {cloud.store.next_number(kind)}"))


def newest_first(cloud: Cloud, kind: str, prefix: str) -> list[Resource]:
    """What there is by its creation, the youngest first."""
    held = cloud.store.each(kind, prefix)
    return sorted(held, key=lambda each: (each.created, each.body.get("number", 0)), reverse=True)
