"""Rules of what runs: the account that it runs as, addresses of its own, and traffic that is let in.

Owns where each resource type says these things. Does not own the stricter rules of fork pools (forks).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from infra.rules.finding import Level
from infra.rules.grants import is_grant, members
from infra.rules.rule import Broken, ResourceContext, ResourceRule
from infra.rules.view import ResourceView, is_known

VM_TYPE: Final = "gcp:tpu/v2Vm:V2Vm"
POOL_LABEL: Final = "tidepool-pool"

_RUNS_AS: Final[dict[str, tuple[str, ...]]] = {
    VM_TYPE: ("serviceAccount", "email"),
    "gcp:compute/instance:Instance": ("serviceAccount", "email"),
    "gcp:compute/instanceTemplate:InstanceTemplate": ("serviceAccount", "email"),
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate": ("serviceAccount", "email"),
    "gcp:cloudbuild/trigger:Trigger": ("serviceAccount",),
    "gcp:cloudrunv2/job:Job": ("template", "template", "serviceAccount"),
    "gcp:cloudrunv2/service:Service": ("template", "serviceAccount"),
    "gcp:cloudrunv2/workerPool:WorkerPool": ("template", "serviceAccount"),
    "gcp:container/nodePool:NodePool": ("nodeConfig", "serviceAccount"),
}
"""Where each type names its account; where it names none, Google takes a default one."""
_DEFAULT_ACCOUNT: Final = re.compile(
    r"(?:.*/)?(?:default|\d+-compute@developer\.gserviceaccount\.com|.+@appspot\.gserviceaccount\.com"
    r"|\d+@cloudbuild\.gserviceaccount\.com)"
)
_ADDRESSES: Final = ("gcp:compute/address:Address", "gcp:compute/globalAddress:GlobalAddress")
_FIREWALL: Final = "gcp:compute/firewall:Firewall"
_ANYWHERE: Final = frozenset(("0.0.0.0/0", "::/0"))


def account(view: ResourceView) -> str | None:
    """E-mail address of the account that a resource runs as; None where it names none, or none that is known."""
    return view.text(*_RUNS_AS.get(view.type, ()))


def has_external_ip(view: ResourceView) -> bool:
    """Whether what runs here has an address that the internet reaches."""
    if view.type == VM_TYPE:
        configs = (*view.items("networkConfig"), *view.items("networkConfigs"))
        return any(isinstance(each, dict) and each.get("enableExternalIps") is True for each in configs)
    if view.type.startswith("gcp:compute/"):
        return any(
            isinstance(each, dict) and (each.get("accessConfigs") or each.get("ipv6AccessConfigs"))
            for each in view.items("networkInterfaces")
        )
    return False


def _own_account(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    if view.type in _RUNS_AS:
        named = _named(view, _RUNS_AS[view.type])
        if named is None:
            yield Broken(view.subject, "it names no service account, so it runs as the project's default one")
        elif _is_default(named):
            yield Broken(view.subject, f"it runs as {named}, a default account of Google's")
    elif is_grant(view):
        for member in members(view):
            if member.startswith("serviceAccount:") and _is_default(member.partition(":")[2]):
                yield Broken(view.subject, f"it grants a role to {member}, a default account that others run as too")


def _named(view: ResourceView, path: tuple[str, ...]) -> object:
    """What stands at a path or, above it, in place of it: a value that is not known yet or hidden."""
    for length in range(len(path) + 1):
        value = view.get(*path[:length])
        if value is not None and not is_known(value):
            return value
    return view.get(*path) or None


def _is_default(email: object) -> bool:
    return isinstance(email, str) and _DEFAULT_ACCOUNT.fullmatch(email) is not None


def _declared_address(view: ResourceView, around: ResourceContext) -> Iterator[Broken]:
    if view.type in _ADDRESSES:
        if view.get("addressType") in (None, "EXTERNAL"):
            yield Broken(view.subject, "it reserves an external address, and no stack file says so")
    elif has_external_ip(view):
        pool = view.text("labels", POOL_LABEL)
        # Of a fork pool's VM the rule of forks speaks, and one finding is enough.
        if pool not in around.addressed and pool not in around.fork_accounts.values():
            of_pool = f"pool {pool}" if pool else "no pool"
            yield Broken(view.subject, f"it has an external IP; it is of {of_pool}, which the stack gives none")


def _no_way_in(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    if view.type != _FIREWALL or view.get("direction") == "EGRESS" or view.get("disabled") is True:
        return
    ranges = {each for each in view.items("sourceRanges") if isinstance(each, str)}
    filters: tuple[Any, ...] = (*ranges, *view.items("sourceTags"), *view.items("sourceServiceAccounts"))
    if view.items("denies"):
        return
    if ranges & _ANYWHERE or not filters:
        yield Broken(view.subject, "it lets traffic in from anywhere, to VMs that run other people's code")


RULES: Final = (
    ResourceRule(
        id="no-default-account",
        level=Level.STOP,
        reason="Google's default accounts are shared by all that runs in a project, and often editors of it.",
        fix="name the account that the stack makes for this purpose",
        check=_own_account,
    ),
    ResourceRule(
        id="external-ip-declared",
        level=Level.STOP,
        reason="An address of its own is a way in, and costs money; a pool has one by its trust alone.",
        fix="leave by Cloud NAT, or declare the pool with trust member or protected",
        check=_declared_address,
    ),
    ResourceRule(
        id="no-way-in",
        level=Level.STOP,
        reason="Runners call out and nobody calls them.",
        fix="name the source ranges, such as 35.235.240.0/20 for access through Identity-Aware Proxy",
        check=_no_way_in,
    ),
)
