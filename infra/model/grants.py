"""Whose grants stand in the policies of what stacks declare, and which of a policy no stack declares.

Owns the members that stacks, bootstrap and Google itself put into policies of registries, buckets, service accounts and
secrets. Derived from stack files alone; reading policies is `infra.fleet.policies`. Conditions are not compared, and of
roles only those on registries: of what a stack itself declares a refreshed plan tells every difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from infra.model import federation, names
from infra.model.schema import StackConfig

Kind = Literal["registry", "bucket", "account", "secret"]

_READS: Final = "roles/artifactregistry.reader"
_WRITES: Final = "roles/artifactregistry.writer"
_FEDERATED: Final = "roles/iam.workloadIdentityUser"
ACTS_AS: Final = "roles/iam.serviceAccountUser"
"""Gives an account to VMs: a pool's controller does, and workflows that make VMs for runs as that pool."""
_IMPERSONATES: Final = "roles/iam.serviceAccountTokenCreator"
"""Of people on the deploying account: bootstrap gives it, and no stack knows to whom."""
_ROLES: Final = (
    "broker",
    "controller",
    "builder",
    "starter",
    "clock",
    federation.IMAGE_BUILDER[0],
)
"""Accounts that a stack may have beside its pools'."""
_PUSHERS: Final = ("builder", federation.IMAGE_BUILDER[0])

_SET: Final = re.compile(
    r"principalSet://iam\.googleapis\.com/projects/[^/]+/locations/global/workloadIdentityPools/([^/]+)/(.+)"
)
_OF_GOOGLE: Final = re.compile(r"serviceAccount:service-[0-9]+@gcp-sa-[a-z0-9-]+\.iam\.gserviceaccount\.com")
"""Service agents act for Google's services in a project (cloud.google.com/iam/docs/service-agents, read 2026-11)."""
_LEGACY: Final = re.compile(r"roles/storage\.legacy\w+")
"""A new bucket has these of its project's owners, editors and viewers
(cloud.google.com/storage/docs/access-control/iam-roles, read 2026-11)."""


@dataclass(frozen=True, slots=True, order=True)
class Guarded:
    """Something whose policy matters. name: as its API has it."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True, order=True)
class StrangeGrant:
    """A grant that no stack declares. resource: of what, as its API names it."""

    kind: Kind
    resource: str
    role: str
    member: str

    @property
    def says(self) -> str:
        return f"{self.member} has {self.role}, which no stack declares"

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def guarded(config: StackConfig) -> tuple[Guarded, ...]:
    """Everything of a stack whose policy is worth a look; what is not made yet among it."""
    project = config.project
    found = [Guarded("bucket", config.bucket.name)]
    if config.builds:
        found.append(Guarded("bucket", names.build_log_bucket(config.bucket.name)))
    repositories = [
        (region, repository.name)
        for region in (config.registries.regions if config.registries else ())
        for repository in (config.registries.repositories if config.registries else ())
    ]
    repositories += [(location, mirror.name) for mirror in config.mirrors for location in mirror.locations]
    found += [
        Guarded("registry", f"projects/{project}/locations/{location}/repositories/{name}")
        for location, name in repositories
    ]
    found += [Guarded("secret", f"projects/{project}/secrets/{secret.name}") for secret in config.secrets]
    found += [Guarded("account", f"projects/{project}/serviceAccounts/{email}") for email in _accounts(config).values()]
    return tuple(sorted(found))


def strange(thing: Guarded, policy: Mapping[str, Any], stacks: Sequence[StackConfig]) -> Iterator[StrangeGrant]:
    """The grants of a policy that none of the stacks declares. stacks: all of the checkout."""
    for binding in policy.get("bindings") or ():
        role = str(binding.get("role", ""))
        for member in binding.get("members") or ():
            if not _is_ours(thing, role, str(member), stacks):
                yield StrangeGrant(thing.kind, thing.name, role, str(member))


def _is_ours(thing: Guarded, role: str, member: str, stacks: Sequence[StackConfig]) -> bool:
    if member.startswith("deleted:") or _OF_GOOGLE.fullmatch(member):
        return True  # nobody can act as what was deleted
    if thing.kind == "bucket" and member.startswith("project") and _LEGACY.fullmatch(role):
        return True
    if thing.kind == "account" and (role == _IMPERSONATES or _SET.fullmatch(member)):
        return _acts_as(thing, role, member, stacks)
    email = member.removeprefix("serviceAccount:")
    if thing.kind == "account" and role == ACTS_AS:
        return _makes_vms(thing, email, stacks)
    keys = {key for config in stacks for key, each in _accounts(config).items() if each == email}
    if thing.kind == "registry" and role != _READS:
        return role == _WRITES and not keys.isdisjoint(_PUSHERS)
    return bool(keys)


def _makes_vms(account: Guarded, email: str, stacks: Sequence[StackConfig]) -> bool:
    """Whether it may give VMs an account: of each pool the controller of its stack, and its workflows."""
    return any(
        account.name.rpartition("/")[2] == accounts[f"pool/{pool.name}"]
        and (
            email == accounts["controller"]
            or any(email == maker.email for maker in federation.makers_as(pool.name, config.project, stacks))
        )
        for config in stacks
        for accounts in (_accounts(config),)
        for pool in config.pools
    )


def _acts_as(account: Guarded, role: str, member: str, stacks: Sequence[StackConfig]) -> bool:
    """Whether somebody from outside may act as an account: people as the deploying one, and runs of GitHub Actions."""
    email = account.name.rpartition("/")[2]
    if role == _IMPERSONATES:
        return any(email == _accounts(config).get("deployer") for config in stacks)
    found = _SET.fullmatch(member)
    return (
        role == _FEDERATED
        and found is not None
        and any(
            found[1] == names.federation_pool_id(config.stack) and _is_declared(config, email, found[2])
            for config in stacks
        )
    )


def _is_declared(config: StackConfig, email: str, attribute: str) -> bool:
    """Whether a stack lets runs with an attribute act as an account.

    Which repositories have sources of images is not looked up: the provider's condition, a part of the plan, lets no
    others in.
    """
    if config.github is None:
        return False
    accounts = _accounts(config)
    if email == accounts[federation.IMAGE_BUILDER[0]]:
        workflow = f"/{federation.IMAGES_WORKFLOW}@{federation.MAIN}"
        return attribute.startswith("attribute.workflow/") and attribute.endswith(workflow)
    allowed = {
        accounts["deployer"]: federation.deployment_attributes(config.github),
        accounts["previewer"]: federation.preview_attributes(config.github),
        **{maker.email: maker.attributes for maker in federation.run_makers(config)},
    }
    return attribute in allowed.get(email, ())


def _accounts(config: StackConfig) -> dict[str, str]:
    """Addresses of the accounts that a stack has or may have, by key."""
    ids = {role: names.role_account_id(config.stack, role) for role in _ROLES}
    ids |= {f"pool/{pool.name}": names.pool_account_id(config.stack, pool.name) for pool in config.pools}
    if config.github:
        ids |= {"deployer": federation.DEPLOYER[0], "previewer": federation.PREVIEWER[0]}
    ids |= {maker.key: maker.account_id for maker in federation.run_makers(config)}
    return {key: names.account_email(account, config.project) for key, account in ids.items()}
