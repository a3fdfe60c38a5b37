"""The way into a VM by Google's own tools, and what must be allowed before it works.

No VM of the fleet has a way in (docs/runs.md): no firewall rule lets anything through, and no role of a stack opens
tunnels. So what lacks is said with the command that allows it, which a person decides; nothing is changed here. Rules
of the VPC are judged as Google applies them; firewall policies of a folder or an organization are not looked at.
Sources: https://docs.cloud.google.com/iap/docs/using-tcp-forwarding,
https://docs.cloud.google.com/compute/docs/oslogin/set-up-oslogin and, of rules and their order,
https://docs.cloud.google.com/firewall/docs/firewalls, read 2026-11.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any, Final

from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.status.timeline import nowhere
from infra.model import runner_names
from infra.model.json_shape import JsonShape
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.looks import open_fleet
from infra.operations.fleet.subjects import stack_of
from infra.operations.ports import SILENT, CloudName, Teller

TUNNELS: Final = IPv4Network("35.235.240.0/20")
"""Addresses that Google's tunnels come from."""
_SSH: Final = 22
_USUAL_PRIORITY: Final = 1000
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
    """command: of gcloud, word by word. lacks: what must be allowed first. notes: what could not be looked at.

    simulated: whether it is a guest of the local cloud, which has no machine to get into.
    """

    vm: str
    stack: str
    zone: str
    command: tuple[str, ...]
    lacks: tuple[Lack, ...]
    notes: tuple[str, ...] = ()
    simulated: bool = False

    @property
    def line(self) -> str:
        """The command as a person types it."""
        return shlex.join(self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirewallTarget:
    """A VM as rules of a VPC know it. network: `P/global/networks/N`. account: email of its service account."""

    network: str
    tags: frozenset[str]
    account: str


def way_in(
    name: str, *, worker: int = 0, stack: str | None = None, cloud: CloudName | None = None, teller: Teller = SILENT
) -> WayIn:
    """The way into a VM, or a runner's VM, that stands. worker: which host of a slice.

    Refusal where no pool has such a VM, or it is neither declared nor there; Failure where it stands nowhere.
    """
    vm = runner_names.vm_of(name) or name
    fleet = open_fleet(stack_of(vm, stack), cloud, teller)
    scene = fleet.look()
    node = next(iter(scene.observed.nodes_of(vm) if scene.observed else ()), None)
    if node is None:
        if said := nowhere(vm, scene):
            raise Refusal(said)
        raise Failure(f"{vm} stands in no zone that answers; `./tidepool why {vm}` says why")
    project = fleet.config.project
    where = (f"--zone={node.zone}", f"--project={project}", f"--worker={worker}", "--tunnel-through-iap")
    lacks: list[Lack] = []
    notes = [f"{vm} is a simulated guest of the local cloud: there is no machine"] if fleet.place.endpoint else []
    with clients(project, fleet.place.endpoint) as google:
        for look in (lambda: rules_lacking(google, vm, node.zone), lambda: roles_lacking(google)):
            try:
                lacks += look()
            except GoogleError as error:
                notes.append(str(error))
    return WayIn(
        vm=vm,
        stack=fleet.stack,
        zone=node.zone,
        command=("gcloud", "compute", "tpus", "tpu-vm", "ssh", vm, *where),
        lacks=tuple(lacks),
        notes=tuple(notes),
        simulated=fleet.place.endpoint is not None,
    )


def rules_lacking(google: Clients, vm: str, zone: str) -> Iterator[Lack]:
    """What of a VPC's rules keeps Google's tunnels from a VM that stands: a VPC lets nothing in unless one does.

    Raises GoogleError.
    """
    at = f"projects/{google.project}/locations/{zone}/nodes/{vm}"
    node = execute(google.api(Api.TPU).projects().locations().nodes().get(name=at), f"looking up {vm}")
    target = firewall_target(node)
    rules = list(_rules(google))
    is_open, denied = tunnels_reach(rules, target)
    if is_open:
        return
    network = target.network.rpartition("/")[2]
    tags = f" --target-tags={network}" if network in target.tags else ""
    ours = f"{network}-ssh"
    made = any(each["name"] == ours for each in rules)
    where = "--no-disabled" if made else f"--network={network} --direction=INGRESS"
    allow = (
        f"gcloud compute firewall-rules {'update' if made else 'create'} {ours} --project={google.project} {where} "
        f"--allow=tcp:{_SSH} --source-ranges={TUNNELS}{tags}"
    )
    if denied is None:
        what = f"no firewall rule of {network} lets Google's tunnels ({TUNNELS}) reach port {_SSH}"
        yield Lack(what=what, allow=allow)
        return
    rule, priority = denied["name"], _priority(denied)
    if priority == 0:
        allow = f"gcloud compute firewall-rules update {rule} --project={google.project} --disabled"
    elif priority <= _USUAL_PRIORITY:
        allow += f" --priority={priority - 1}"
    what = f"firewall rule {rule} of {network} (DENY, priority {priority}) keeps Google's tunnels from port {_SSH}"
    yield Lack(what=what, allow=allow)


def _rules(google: Clients) -> Iterator[Mapping[str, Any]]:
    """All firewall rules of a project, of every network, page by page."""
    firewalls = google.api(Api.COMPUTE).firewalls()
    request = firewalls.list(project=google.project)
    while request is not None:
        page = execute(request, "listing firewall rules")
        yield from page.get("items", ())
        request = firewalls.list_next(request, page)


def firewall_target(node: Mapping[str, Any]) -> FirewallTarget:
    """A node of the TPU API, by its first network interface."""
    config = node.get("networkConfig") or next(iter(node.get("networkConfigs", ())), {})
    return FirewallTarget(
        network=_short(config.get("network", "")),
        tags=frozenset(node.get("tags", ())),
        account=str(node.get("serviceAccount", {}).get("email", "")),
    )


def _short(network: str) -> str:
    """Without the address of an API before it."""
    return network.rpartition("projects/")[2]


def tunnels_reach(rules: Iterable[Mapping[str, Any]], target: FirewallTarget) -> tuple[bool, Mapping[str, Any] | None]:
    """Whether all of Google's tunnels reach the port of ssh on a machine, and the DENY rule that keeps some from it.

    The rule with the lowest priority decides of each address, DENY before ALLOW in one; where none does, nothing is
    let in.
    """
    left = [TUNNELS]
    about = [rule for rule in rules if _is_about(rule, target)]
    for rule in sorted(about, key=lambda each: (_priority(each), "denied" not in each)):
        ranges = [IPv4Network(each, strict=False) for each in rule.get("sourceRanges", ()) if ":" not in each]
        if "denied" not in rule:
            left = list(_without(left, ranges))
        elif any(each.overlaps(block) for each in ranges for block in left):
            return False, rule
    return not left, None


def _is_about(rule: Mapping[str, Any], target: FirewallTarget) -> bool:
    """Whether a rule decides what reaches the port of ssh on a machine. One without targets is for every machine."""
    if rule.get("direction") != "INGRESS" or rule.get("disabled"):
        return False
    if _short(str(rule.get("network"))) != target.network:
        return False
    tags, accounts = rule.get("targetTags", ()), rule.get("targetServiceAccounts", ())
    if (tags or accounts) and not (target.tags.intersection(tags) or target.account in accounts):
        return False
    return any(map(_names_ssh, rule.get("denied") or rule.get("allowed", ())))


def _priority(rule: Mapping[str, Any]) -> int:
    """Of 0 to 65535; the lower comes first."""
    return int(rule.get("priority", _USUAL_PRIORITY))


def _without(blocks: Iterable[IPv4Network], taken: Collection[IPv4Network]) -> Iterator[IPv4Network]:
    """What is left of blocks of addresses."""
    for block in blocks:
        if any(block.subnet_of(each) for each in taken):
            continue
        inside = next((each for each in taken if each.subnet_of(block)), None)
        yield from _without(block.address_exclude(inside), taken) if inside else (block,)


def _names_ssh(traffic: Mapping[str, Any]) -> bool:
    """One that names no ports means all of them."""
    if traffic.get("IPProtocol") not in ("tcp", "6", "all"):
        return False
    bounds = [each.partition("-") for each in traffic.get("ports", ())]
    return not bounds or any(int(low) <= _SSH <= int(high or low) for low, _, high in bounds)


def roles_lacking(google: Clients) -> tuple[Lack, ...]:
    """What of a person's own roles in the project keeps them out. Raises GoogleError."""
    project = google.project
    request = (
        google.api(Api.PROJECTS).projects().testIamPermissions(resource=project, body={"permissions": list(_ROLES)})
    )
    return lacking(project, execute(request, f"asking what you may in {project}").get("permissions", ()))


def lacking(project: str, held: Collection[str]) -> tuple[Lack, ...]:
    """Each permission that lacks, and the role that gives it."""
    return tuple(
        Lack(
            what=f"you may not {permission} in {project}",
            allow=f"gcloud projects add-iam-policy-binding {project} --member=user:YOU --role={role}",
        )
        for permission, role in _ROLES.items()
        if permission not in held
    )
