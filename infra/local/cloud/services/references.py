"""What a TPU node refers to must be there: its networks, its subnetworks, its disks and its service account.

Owns that check alone; the resources are their own services'. What is of other projects and Google's own accounts are
taken as they are.
"""

from __future__ import annotations

import re

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import invalid
from infra.local.cloud.registry import JsonObject
from infra.local.cloud.services.compute_networks import NETWORKS, SUBNETWORKS, begin_project
from infra.local.cloud.services.compute_places import DISKS
from infra.local.cloud.services.policies import check_account
from infra.model.catalogue import region_of

_URL = re.compile(r"(?:https?:)?//[^/]+/(?:compute/)?(?:v1|beta|alpha)/")


def check_node(cloud: Cloud, project: str, zone: str, node: JsonObject) -> None:
    """Raises 400 for the first network, subnetwork, disk or account of the project that does not exist.

    node: as it was sent. Short names and links of any form are read; what was not sent is not looked for.
    """
    begin_project(cloud, project)
    for config in (node.get("networkConfig", {}), *node.get("networkConfigs", [])):
        _check_network(cloud, project, region_of(zone), config)
    check_disks(cloud, project, zone, node)
    check_account(cloud, project, node.get("serviceAccount", {}).get("email", ""), "node.service_account.email")


def check_disks(cloud: Cloud, project: str, zone: str, node: JsonObject) -> None:
    """Raises 400 for a disk that does not exist, or lies in another zone than the node."""
    place = f"projects/{project}/zones/{zone}"
    for at, disk in enumerate(node.get("dataDisks", [])):
        _check(cloud, DISKS.kind, f"{place}/disks", disk.get("sourceDisk", ""), f"node.data_disks[{at}].source_disk")


def _check_network(cloud: Cloud, project: str, region: str, config: JsonObject) -> None:
    places = {
        "network": (NETWORKS.kind, f"projects/{project}/global/networks"),
        "subnetwork": (SUBNETWORKS.kind, f"projects/{project}/regions/{region}/subnetworks"),
    }
    for field, (kind, place) in places.items():
        if field in config:
            _check(cloud, kind, place, config[field], f"node.network_config.{field}")


def _check(cloud: Cloud, kind: str, place: str, link: str, field: str) -> None:
    """Raises 400 unless a link leads to something that stands in `place`, or to another project."""
    name = _full_name(cloud, place, link)
    project, collection = place.split("/")[1], place.rpartition("/")[2]
    if name.startswith("projects/") and name.split("/")[1] != project:
        return
    noun = collection.removesuffix("s")
    if name.rpartition("/")[0] != place:
        raise invalid(f"Invalid {noun} '{link}': it must be in '{place}'.", field=field)
    if cloud.store.find(kind, name) is None:
        raise invalid(f"The {noun} '{link}' was not found.", field=field)


def _full_name(cloud: Cloud, place: str, link: str) -> str:
    """A short name, a partial path or a URL as a full name with the project's id."""
    path = _URL.sub("", link)
    project = place.split("/")[1]
    if "/" not in path:
        return f"{place}/{path}"
    if not path.startswith("projects/"):
        return f"projects/{project}/{path}"
    _, named, rest = path.split("/", 2)
    return f"projects/{cloud.project(named).id}/{rest}"
