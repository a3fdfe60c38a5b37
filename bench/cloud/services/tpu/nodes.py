"""Cloud TPU nodes as a client sees them: create, read, list, patch, delete, start and stop.

Owns the checks of a request, of what it refers to too (what is of other projects, and Google's own accounts, are taken
as they are), and what is echoed: every field that was sent comes back as it was sent, and what the service adds is
either output-only or a default of an input nobody sent. What happens to a node over time is `lifecycle`'s.
"""

from __future__ import annotations

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import JsonObject, already_exists, failed_precondition, invalid
from bench.cloud.services import bodies
from bench.cloud.services.compute import base as compute
from bench.cloud.services.compute.networks import NETWORKS, SUBNETWORKS, begin_project
from bench.cloud.services.listings import page
from bench.cloud.services.policies import check_account
from bench.cloud.services.tpu import lifecycle, places
from bench.cloud.services.tpu.node import KIND, TpuNode, load, new
from infra.model.catalogue import region_of

_MUTABLE = frozenset({"description", "labels", "metadata", "tags", "dataDisks"})


@handles("tpu.projects.locations.nodes.create")
def create_node(call: ApiCall) -> JsonObject:
    project, zone = call.ids["projectsId"], places.known_zone(call.ids["locationsId"])
    name, sent = f"{call.params['parent']}/nodes/{call.params.get('nodeId', '')}", call.body
    if call.cloud.store.find(KIND, name) is not None:
        raise already_exists(name)
    bodies.check_labels(sent.get("labels", {}))
    _check_references(call.cloud, project, zone, sent)
    return lifecycle.create(call, new(call.cloud, name, {**_defaults(call, project, zone), **sent}))


@handles("tpu.projects.locations.nodes.get")
def get_node(call: ApiCall) -> JsonObject:
    return lifecycle.shown(call, load(call.cloud, call.params["name"]).public)


@handles("tpu.projects.locations.nodes.list")
def list_nodes(call: ApiCall) -> JsonObject:
    """`locations/-` lists every zone."""
    parent = f"projects/{call.ids['projectsId']}/locations/"
    if call.ids["locationsId"] != "-":
        parent += f"{places.known_zone(call.ids['locationsId'])}/nodes/"
    found = [lifecycle.shown(call, node.body["public"]) for node in call.cloud.store.each(KIND, parent)]
    return {"nodes": [], **page(call, "nodes", found)}


@handles("tpu.projects.locations.nodes.patch")
def patch_node(call: ApiCall) -> JsonObject:
    node = load(call.cloud, call.params["name"])
    mask = bodies.mask_paths(call.params.get("updateMask"))
    if not mask or any(path.partition(".")[0] not in _MUTABLE for path in mask):
        raise invalid(f"An update mask names some of {', '.join(sorted(_MUTABLE))}, not {mask}.", field="update_mask")
    node.public = bodies.with_paths(node.public, call.body, mask)
    bodies.check_labels(node.public.get("labels", {}))
    return lifecycle.update(call, node)


@handles("tpu.projects.locations.nodes.delete")
def delete_node(call: ApiCall) -> JsonObject:
    return lifecycle.delete(call, load(call.cloud, call.params["name"]))


@handles("tpu.projects.locations.nodes.stop")
def stop_node(call: ApiCall) -> JsonObject:
    return lifecycle.stop(call, _single_host(call, "stop", "READY"))


@handles("tpu.projects.locations.nodes.start")
def start_node(call: ApiCall) -> JsonObject:
    return lifecycle.start(call, _single_host(call, "start", "STOPPED"))


def _defaults(call: ApiCall, project: str, zone: str) -> JsonObject:
    """What the service fills in; a field that was sent replaces its default as a whole."""
    email = f"{call.cloud.project(project).number}-compute@developer.gserviceaccount.com"
    account = {"email": email, "scope": ["https://www.googleapis.com/auth/cloud-platform"]}
    network = {
        "network": f"projects/{project}/global/networks/default",
        "subnetwork": f"projects/{project}/regions/{region_of(zone)}/subnetworks/default",
    }
    return {"serviceAccount": account, **({} if "networkConfigs" in call.body else {"networkConfig": network})}


def _single_host(call: ApiCall, verb: str, state: str) -> TpuNode:
    """The node of a call, in this state. Raises 400."""
    node = load(call.cloud, call.params["name"])
    if node.accelerator.multi_host or node.state != state:
        raise failed_precondition(
            f"Cannot {verb} '{node.name}' in state {node.state} with {node.accelerator.hosts} hosts: it must be "
            f"{state}, and only single-host nodes stop and start."
        )
    return node


def _check_references(cloud: Cloud, project: str, zone: str, node: JsonObject) -> None:
    """Raises 400 for the first network, subnetwork or account of the project that does not exist.

    node: as it was sent. Short names and links of any form are read; what was not sent is not looked for.
    """
    begin_project(cloud, project)
    places_of = {
        "network": (NETWORKS.kind, "global/networks"),
        "subnetwork": (SUBNETWORKS.kind, f"regions/{region_of(zone)}/subnetworks"),
    }
    for config in (node.get("networkConfig", {}), *node.get("networkConfigs", [])):
        for field in places_of.keys() & config.keys():
            kind, place = places_of[field]
            link = config[field] if "/" in config[field] else f"{place}/{config[field]}"
            name = compute.relative(f"projects/{project}", link)
            if name.startswith(f"projects/{project}/") and cloud.store.find(kind, name) is None:
                raise invalid(f"The {field} '{link}' was not found.", field=f"node.network_config.{field}")
    check_account(cloud, project, node.get("serviceAccount", {}).get("email", ""))
