"""Cloud TPU nodes as a client sees them: create, read, list, patch, delete, start and stop.

Owns the checks of a request, of what it refers to too (what is of other projects, and Google's own accounts, are taken
as they are), and what is echoed: every field that was sent comes back as it was sent, and what the service adds is
either output-only or a default of an input nobody sent. What happens to a node over time is `tpu_lifecycle`'s.
"""

from __future__ import annotations

import re

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, already_exists, failed_precondition, invalid
from bench.cloud.services import bodies
from bench.cloud.services.compute.networks import NETWORKS, SUBNETWORKS, begin_project
from bench.cloud.services.compute.places import DISKS
from bench.cloud.services.listings import page
from bench.cloud.services.policies import check_account
from bench.cloud.services.tpu import lifecycle as tpu_lifecycle
from bench.cloud.services.tpu import places as tpu_places
from bench.cloud.services.tpu.node import KIND, TpuNode, load, maintain
from infra.model.catalogue import region_of

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_MUTABLE = frozenset({"description", "labels", "metadata", "tags", "dataDisks"})
_MAX_DESCRIPTION = 512
# In bytes; the metadata server of a TPU VM is that of Compute Engine.
# cloud.google.com/compute/docs/metadata/setting-custom-metadata#limitations, read 2026-11.
_METADATA_KEY = re.compile(r"[A-Za-z0-9_-]{1,128}")
_LONGEST_METADATA_VALUE = 256 * 1024
_MOST_METADATA = 512 * 1024
_URL = re.compile(r"(?:https?:)?//[^/]+/(?:compute/)?(?:v1|beta|alpha)/")


@handles("tpu.projects.locations.nodes.create")
def create_node(call: ApiCall) -> JsonObject:
    project, zone = call.ids["projectsId"], tpu_places.known_zone(call.ids["locationsId"])
    name = f"{call.params['parent']}/nodes/{_node_id(call)}"
    if (begun := tpu_lifecycle.repeated(call, "create")) is not None:
        return begun
    if call.cloud.store.find(KIND, name) is not None:
        raise already_exists(name)
    sent = call.body
    _check_fields(sent)
    tpu_places.check_runtime(sent)
    accelerator = tpu_places.accelerator_of(sent, zone)
    check_node(call.cloud, project, zone, sent)
    scope = tpu_places.scope_of(project, zone, accelerator, sent)
    refusal = call.cloud.limits.refusal(scope, accelerator.chips)
    if refusal is not None and refusal[0].refuse == "request":
        raise refusal[1]
    config = tpu_places.accelerator_config(accelerator)
    public: JsonObject = {
        **({"acceleratorConfig": config} if config else {}),
        "acceleratorType": accelerator.name,
        **_defaults(call, project, zone),
        **sent,
        "name": name,
        "createTime": timestamp(call.cloud.now),
    }
    return tpu_lifecycle.create(call, TpuNode(public, scope, accelerator), refusal[1] if refusal else None)


@handles("tpu.projects.locations.nodes.get")
def get_node(call: ApiCall) -> JsonObject:
    return tpu_lifecycle.shown(call, load(call.cloud, call.params["name"]).public)


@handles("tpu.projects.locations.nodes.list")
def list_nodes(call: ApiCall) -> JsonObject:
    """`locations/-` lists every zone."""
    parent = f"projects/{call.ids['projectsId']}/locations/"
    if call.ids["locationsId"] != "-":
        parent += f"{tpu_places.known_zone(call.ids['locationsId'])}/nodes/"
    found = [tpu_lifecycle.shown(call, node.body["public"]) for node in call.cloud.store.each(KIND, parent)]
    return {"nodes": [], **page(call, "nodes", found)}


@handles("tpu.projects.locations.nodes.patch")
def patch_node(call: ApiCall) -> JsonObject:
    node = load(call.cloud, call.params["name"])
    mask = bodies.mask_paths(call.params.get("updateMask"))
    if not mask:
        raise invalid("updateMask is required.", field="update_mask")
    unknown = [path for path in mask if path.partition(".")[0] not in _MUTABLE]
    if unknown:
        raise invalid(
            f"Update mask paths {unknown} cannot be changed. A node's mutable fields: description, labels, metadata, "
            "tags, data_disks.",
            field="update_mask",
        )
    node.public = bodies.with_paths(node.public, call.body, mask)
    _check_fields(node.public)
    check_disks(call.cloud, call.ids["projectsId"], call.ids["locationsId"], node.public)
    return tpu_lifecycle.update(call, node)


@handles("tpu.projects.locations.nodes.delete")
def delete_node(call: ApiCall) -> JsonObject:
    if (begun := tpu_lifecycle.repeated(call, "delete")) is not None:
        return begun
    return tpu_lifecycle.delete(call, load(call.cloud, call.params["name"]))


@handles("tpu.projects.locations.nodes.stop")
def stop_node(call: ApiCall) -> JsonObject:
    node = _single_host(call, "stop")
    _in_state(node, "READY", "stop")
    return tpu_lifecycle.stop(call, node)


@handles("tpu.projects.locations.nodes.start")
def start_node(call: ApiCall) -> JsonObject:
    node = _single_host(call, "start")
    _in_state(node, "STOPPED", "start")
    refusal = call.cloud.limits.refusal(node.scope, node.accelerator.chips)
    if refusal is not None and refusal[0].refuse == "request":
        raise refusal[1]
    return tpu_lifecycle.start(call, node, refusal[1] if refusal else None)


@handles("tpu.projects.locations.nodes.simulateMaintenanceEvent", "tpu.projects.locations.nodes.performMaintenance")
def maintain_node(call: ApiCall) -> JsonObject:
    node = load(call.cloud, call.params["name"])
    maintain(call.cloud, node)
    return tpu_lifecycle.update(call, node)


def _node_id(call: ApiCall) -> str:
    node_id = call.params.get("nodeId", "")
    if not _NAME.fullmatch(node_id):
        raise invalid(
            f"Invalid node id '{node_id}'. It is a lower-case letter, then up to 62 lower-case letters, digits or "
            "hyphens, and does not end with a hyphen.",
            field="node_id",
        )
    return node_id


def _check_fields(sent: JsonObject) -> None:
    if len(sent.get("description", "")) > _MAX_DESCRIPTION:
        raise invalid(f"A description has at most {_MAX_DESCRIPTION} characters.", field="node.description")
    bodies.check_labels(sent.get("labels", {}), field="node.labels")
    _check_metadata(sent.get("metadata", {}))
    if "networkConfig" in sent and "networkConfigs" in sent:
        raise invalid("networkConfig and networkConfigs exclude each other.", field="node.network_config")
    scheduling = sent.get("schedulingConfig", {})
    if scheduling.get("reserved") and (scheduling.get("spot") or scheduling.get("preemptible")):
        raise invalid("A reserved node is neither spot nor preemptible.", field="node.scheduling_config")


def _check_metadata(metadata: JsonObject) -> None:
    for key, value in metadata.items():
        if not _METADATA_KEY.fullmatch(key):
            raise invalid(
                f"Invalid metadata key '{key}': it must have 1 to 128 letters, digits, hyphens and underscores.",
                field="node.metadata",
            )
        if (size := len(value.encode())) > _LONGEST_METADATA_VALUE:
            raise invalid(
                f"Value for metadata key '{key}' is too large: it has {size} bytes, and at most "
                f"{_LONGEST_METADATA_VALUE} are allowed.",
                field="node.metadata",
            )
    whole = sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items())
    if whole > _MOST_METADATA:
        raise invalid(
            f"The metadata has {whole} bytes with its keys, and at most {_MOST_METADATA} are allowed.",
            field="node.metadata",
        )


def _defaults(call: ApiCall, project: str, zone: str) -> JsonObject:
    """What the service fills in; a field that was sent replaces its default as a whole."""
    defaults: JsonObject = {
        "serviceAccount": {
            "email": f"{call.cloud.project(project).number}-compute@developer.gserviceaccount.com",
            "scope": ["https://www.googleapis.com/auth/cloud-platform"],
        }
    }
    if "networkConfigs" not in call.body:
        defaults["networkConfig"] = {
            "network": f"projects/{project}/global/networks/default",
            "subnetwork": f"projects/{project}/regions/{region_of(zone)}/subnetworks/default",
        }
    return defaults


def _single_host(call: ApiCall, verb: str) -> TpuNode:
    node = load(call.cloud, call.params["name"])
    if node.accelerator.multi_host:
        raise failed_precondition(
            f"Cannot {verb} '{node.name}': {node.accelerator.name} has {node.accelerator.hosts} hosts, and only "
            "single-host nodes stop and start."
        )
    return node


def _in_state(node: TpuNode, state: str, verb: str) -> None:
    if node.state != state:
        raise failed_precondition(f"Cannot {verb} '{node.name}' in state {node.state}; it must be {state}.")


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
