"""The way into a VM by Google's own tools, and what must be allowed before it works.

No VM of the fleet has a way in (docs/runs.md): no firewall rule lets anything through, and no role of a stack opens
tunnels. So what lacks is said with the command that allows it, which a person decides; nothing is changed here.
Sources: https://docs.cloud.google.com/iap/docs/using-tcp-forwarding and
https://docs.cloud.google.com/compute/docs/oslogin/set-up-oslogin, read 2026-11.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any, Final

from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.model import names, runner_names
from infra.model.json_shape import JsonShape
from infra.operations.errors import Failure
from infra.operations.fleet.looks import Fleet, open_fleet
from infra.operations.fleet.subjects import stack_of
from infra.operations.ports import SILENT, CloudName, Teller

TUNNELS: Final = "35.235.240.0/20"
"""Addresses that Google's tunnels come from."""
_SSH: Final = 22
_ROLES: Final[Mapping[str, str]] = {
    "iap.tunnelInstances.accessViaIAP": "roles/iap.tunnelResourceAccessor",
    "compute.instances.osLogin": "roles/compute.osLogin",
    "tpu.nodes.get": "roles/tpu.viewer",
}
"""Permissions that a person needs in the project, and a role that gives each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack(JsonShape):
    """One thing that is not allowed yet, and the command that allows it."""

    what: str
    allow: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WayIn(JsonShape):
    """command: of gcloud, word by word. lacks: what must be allowed first. notes: what could not be looked at."""

    vm: str
    stack: str
    zone: str
    command: tuple[str, ...]
    lacks: tuple[Lack, ...]
    notes: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The command as a person types it."""
        return shlex.join(self.command)


def way_in(
    name: str, *, worker: int = 0, stack: str | None = None, cloud: CloudName | None = None, teller: Teller = SILENT
) -> WayIn:
    """The way into a VM, or a runner's VM, that stands. worker: which host of a slice.

    Refusal where no pool has such a VM, Failure where it stands nowhere or is a simulated guest.
    """
    vm = runner_names.vm_of(name) or name
    fleet = open_fleet(stack_of(vm, stack), cloud, teller)
    scene = fleet.look()
    node = next(iter(scene.observed.nodes_of(vm) if scene.observed else ()), None)
    if node is None:
        raise Failure(f"{vm} stands in no zone that answers; `./tidepool why {vm}` says why")
    if fleet.place.endpoint is not None:
        raise Failure(f"{vm} is a simulated guest of the local cloud: there is no machine; `./tidepool logs {vm}`")
    project = fleet.config.project
    where = (f"--zone={node.zone}", f"--project={project}", f"--worker={worker}", "--tunnel-through-iap")
    lacks: list[Lack] = []
    notes = []
    with clients(project, None) as google:
        for look in (_rules, _roles):
            try:
                lacks += look(google, fleet)
            except GoogleError as error:
                notes.append(str(error))
    command = ("gcloud", "compute", "tpus", "tpu-vm", "ssh", vm, *where)
    return WayIn(vm=vm, stack=fleet.stack, zone=node.zone, command=command, lacks=tuple(lacks), notes=tuple(notes))


def _rules(google: Clients, fleet: Fleet) -> Iterator[Lack]:
    """A VPC lets nothing in unless a rule does."""
    network = names.network_path(fleet.config.project, fleet.stack)
    found = execute(google.api(Api.COMPUTE).firewalls().list(project=google.project), "listing firewall rules")
    if any(lets_tunnels_in(rule, network) for rule in found.get("items", ())):
        return
    tag = names.network_name(fleet.stack)
    yield Lack(
        what=f"no firewall rule of {tag} lets Google's tunnels ({TUNNELS}) reach port {_SSH}",
        allow=f"gcloud compute firewall-rules create {tag}-ssh --project={google.project} --network={tag} "
        f"--direction=INGRESS --allow=tcp:{_SSH} --source-ranges={TUNNELS} --target-tags={tag}",
    )


def lets_tunnels_in(rule: Mapping[str, Any], network: str) -> bool:
    """Whether a firewall rule of Compute Engine lets all of the tunnels reach the port of ssh on a stack's VMs.

    They have a tag of the name of their network; a rule with targets is for VMs with one of its tags alone.
    """
    if rule.get("direction") != "INGRESS" or rule.get("disabled") or not str(rule.get("network")).endswith(network):
        return False
    if (tags := rule.get("targetTags")) and network.rpartition("/")[2] not in tags:
        return False
    tunnels = IPv4Network(TUNNELS)
    ranges = [IPv4Network(each) for each in rule.get("sourceRanges", ()) if ":" not in each]
    return any(tunnels.subnet_of(each) for each in ranges) and any(map(_lets_ssh, rule.get("allowed", ())))


def _lets_ssh(allowed: Mapping[str, Any]) -> bool:
    """One that names no ports lets all of them."""
    if allowed.get("IPProtocol") not in ("tcp", "6", "all"):
        return False
    bounds = [each.partition("-") for each in allowed.get("ports", ())]
    return not bounds or any(int(low) <= _SSH <= int(high or low) for low, _, high in bounds)


def _roles(google: Clients, fleet: Fleet) -> Iterator[Lack]:
    project = fleet.config.project
    request = (
        google.api(Api.PROJECTS).projects().testIamPermissions(resource=project, body={"permissions": list(_ROLES)})
    )
    has = execute(request, f"asking what you may in {project}").get("permissions", ())
    for permission, role in _ROLES.items():
        if permission not in has:
            given = f"gcloud projects add-iam-policy-binding {project} --member=user:YOU --role={role}"
            yield Lack(what=f"you may not {permission} in {project}", allow=given)
