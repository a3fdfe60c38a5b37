"""What the parts of Cloud Build share: where a call is, identifiers that the service makes, listings by age.

Owns that a path without a location means `global`, as the first version of the API has it, and the UUIDs of triggers
and builds. Leaves what they are to `cloudbuild_triggers` and `cloudbuild_builds`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import invalid, not_found
from infra.local.cloud.registry import Call
from infra.local.cloud.services import places
from infra.local.cloud.store import Page, Resource, opened, page_size, sealed

GLOBAL = "global"


def parent(call: Call) -> str:
    """`projects/P/locations/L` with the project's id. Raises 404 for a location that is neither global nor a region."""
    project = call.cloud.project(call.ids.get("projectsId") or call.ids["projectId"]).id
    location = call.ids.get("locationsId", GLOBAL)
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


def newest_first(call: Call, kind: str, prefix: str, where: Callable[[Resource], bool] = lambda _: True) -> Page:
    """One page of a listing by creation, the youngest first. Raises 400 for a token of something that is gone."""
    held = [each for each in call.cloud.store.each(kind, prefix) if where(each)]
    held.sort(key=lambda each: (each.created, each.body.get("number", 0)), reverse=True)
    size, after = page_size(call.params), opened(call.params.get("pageToken"))
    if after:
        names = [each.name for each in held]
        if after not in names:
            raise invalid("Invalid page token.", field="pageToken")
        held = held[names.index(after) + 1 :]
    return Page(tuple(held[:size]), sealed(held[size - 1].name) if len(held) > size else None)
