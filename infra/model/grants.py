"""Whose grants stand in the policies of what stacks declare, and which of a policy no stack declares.

Owns the members that stacks, bootstrap and Google itself put into policies of registries, buckets, service accounts and
secrets, each with its role and its condition: a declared member with a stronger role by hand, or without the condition
that the stack gives, is a stranger too. Derived from stack files alone; reading policies is `infra.fleet.policies`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from infra.model import bucket_access, bucket_names, federation, names
from infra.model.facts import continent
from infra.model.json_shape import JsonShape
from infra.model.queue_objects import TRAINER
from infra.model.schema import StackConfig

Kind = Literal["registry", "bucket", "account", "secret"]

_READS: Final = "roles/artifactregistry.reader"
_WRITES: Final = "roles/artifactregistry.writer"
OPENS: Final = "roles/secretmanager.secretAccessor"
"""Reads the values of a secret."""
DATES: Final = "roles/secretmanager.viewer"
"""Seeing a secret and when its versions were made, and none of their values."""
USES_FIRESTORE: Final = "roles/datastore.user"
"""Reads and writes documents. A database has no policy of its own, so it stands on the project, under a condition."""
FEDERATED: Final = "roles/iam.workloadIdentityUser"
ACTS_AS: Final = "roles/iam.serviceAccountUser"
"""Gives an account to VMs: a pool's controller does, and workflows that make VMs for runs as that pool."""
_IMPERSONATES: Final = "roles/iam.serviceAccountTokenCreator"
"""Of people on the deploying account: bootstrap gives it, and no stack knows to whom."""
NODE_ROLES: Final = (
    "roles/logging.logWriter",
    "roles/monitoring.metricWriter",
    "roles/monitoring.viewer",
    "roles/stackdriver.resourceMetadata.writer",
)
"""What a cluster's nodes do on their project, which has no narrower resource for it: write its logs and metrics. Pods
act as accounts of their own (cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster, read 2026-08)."""
_ROLES: Final = (
    "broker",
    "controller",
    "builder",
    "starter",
    "clock",
    "nodes",
    federation.IMAGE_BUILDER[0],
)
"""Accounts that a stack may have beside its pools'."""
_SET: Final = re.compile(
    r"principalSet://iam\.googleapis\.com/projects/[^/]+/locations/global/workloadIdentityPools/([^/]+)/(.+)"
)
_OF_GOOGLE: Final = re.compile(r"serviceAccount:service-[0-9]+@gcp-sa-[a-z0-9-]+\.iam\.gserviceaccount\.com")
"""Service agents act for Google's services in a project (cloud.google.com/iam/docs/service-agents, read 2026-11)."""
_LEGACY: Final = re.compile(r"roles/storage\.legacy\w+")
"""A new bucket has these of its project's owners, editors and viewers
(cloud.google.com/storage/docs/access-control/iam-roles, read 2026-11)."""


Grant = tuple[str, str, str]
"""Role, member (or the key of an identity), and the expression of its condition, empty for none."""


@dataclass(frozen=True, slots=True, order=True)
class Guarded:
    """Something whose policy matters. name: as its API has it."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True, order=True)
class StrangeGrant(JsonShape):
    """A grant that no stack declares. resource: of what, as its API names it. condition: in CEL, empty for none."""

    kind: Kind
    resource: str
    role: str
    member: str
    condition: str = ""

    @property
    def says(self) -> str:
        where = f" where {self.condition}" if self.condition else ""
        return f"{self.member} has {self.role}{where}, which no stack declares"


def guarded(config: StackConfig) -> tuple[Guarded, ...]:
    """Everything of a stack whose policy is worth a look; what is not made yet among it."""
    project = config.project
    found = [Guarded("bucket", config.bucket.name)]
    found += [Guarded("bucket", bucket) for bucket in _checkpoints(config)]
    if config.results:
        found.append(Guarded("bucket", config.results.bucket.name))
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
    found += [Guarded("account", account_path(email)) for email in _accounts(config).values()]
    return tuple(sorted(set(found)))


def strange(thing: Guarded, policy: Mapping[str, Any], stacks: Sequence[StackConfig]) -> Iterator[StrangeGrant]:
    """The grants of a policy that none of the stacks declares. stacks: all of the checkout."""
    declared = frozenset(grant for config in stacks for grant in _declared(thing, config, stacks))
    for binding in policy.get("bindings") or ():
        role = str(binding.get("role", ""))
        condition = str((binding.get("condition") or {}).get("expression", ""))
        for member in map(str, binding.get("members") or ()):
            if (role, member, condition) not in declared and not _is_no_strangers(thing, role, member, stacks):
                yield StrangeGrant(thing.kind, thing.name, role, member, condition)


def _is_no_strangers(thing: Guarded, role: str, member: str, stacks: Sequence[StackConfig]) -> bool:
    """Whether a grant is Google's own, bootstrap's, or lets runs of GitHub Actions in that a stack declares."""
    if member.startswith("deleted:") or _OF_GOOGLE.fullmatch(member):
        return True  # nobody can act as what was deleted
    if thing.kind == "bucket" and member.startswith("project") and _LEGACY.fullmatch(role):
        return True
    return thing.kind == "account" and _acts_as(thing, role, member, stacks)


def _declared(thing: Guarded, config: StackConfig, stacks: Sequence[StackConfig]) -> Iterator[Grant]:
    """What one stack grants to accounts of its own in the policy of a thing: role, member and condition."""
    emails = _accounts(config)
    if thing.kind == "account":
        yield from _of_pods(thing, config)
    match thing.kind:
        case "registry":
            found = _on_registry(thing, config, stacks)
        case "bucket":
            found = _on_bucket(thing.name, config, stacks)
        case "secret":
            found = _on_secret(thing, config)
        case "account":
            found = _on_account(thing, config, stacks)
    yield from ((role, f"serviceAccount:{emails[key]}", condition) for role, key, condition in found if key in emails)


def _on_registry(thing: Guarded, config: StackConfig, stacks: Sequence[StackConfig]) -> Iterator[Grant]:
    """Pools pull from the repositories that their stack uses, mirrors too; what builds images knows its own alone.

    Nodes of a cluster pull from repositories of its region, and from mirrors of its continent.
    """
    used = config.registry_stack.rpartition("/")[2] if config.registry_stack else config.stack
    for owner in stacks:
        if owner.stack == used and thing in guarded(owner):
            yield from ((_READS, f"pool/{pool.name}", "") for pool in config.pools)
            near = (config.cluster.region, continent(config.cluster.region)) if config.cluster else ()
            if any(f"/locations/{place}/" in thing.name for place in near):
                yield _READS, "nodes", ""
    if thing not in guarded(config):
        return
    if any(thing.name.endswith(f"/{mirror.name}") for mirror in config.mirrors):
        yield _READS, "builder", ""
    else:
        yield _WRITES, "builder", ""
        yield _READS, federation.IMAGE_BUILDER[0], ""


def _checkpoints(config: StackConfig) -> Mapping[str, str]:
    """The buckets that groups declare, with the team whose pods write there."""
    return {own.bucket: group.team for group in config.groups if (own := group.own_bucket) is not None}


def _on_bucket(bucket: str, config: StackConfig, stacks: Sequence[StackConfig]) -> Iterator[Grant]:
    for owner in stacks:
        if owner.runs and owner.bucket.name == bucket:
            below = bucket_access.only_below(bucket, bucket_names.RUNS_PREFIX)
            for pool in owner.runs.pools:
                makers = federation.makers_as(pool, owner.project, [config])
                yield from ((bucket_access.WRITER, maker.key, below) for maker in makers)
        if owner.results and owner.results.bucket.name == bucket:
            writers = [each for each in federation.result_writers(config) if each.project == owner.project]
            for writer in writers:
                for role, condition in bucket_access.on_results(bucket, writer.declared.repository):
                    yield role, writer.key, condition
    if team := _checkpoints(config).get(bucket):
        yield bucket_access.WRITER, f"team/{team}", ""
    if bucket == config.bucket.name:
        for part in bucket_access.parts(config):
            role = bucket_access.WRITER if part.writes else bucket_access.READER
            yield role, part.key, bucket_access.only_below(bucket, part.prefix)
        yield from ((bucket_access.LISTER, key, "") for key in bucket_access.LISTERS)
    elif bucket == names.build_log_bucket(config.bucket.name):
        yield from ((role, "builder", "") for role in (bucket_access.LISTER, bucket_access.WRITER))


def _on_account(thing: Guarded, config: StackConfig, stacks: Sequence[StackConfig]) -> Iterator[Grant]:
    """A pool's account is given to VMs by the controller of its stack, and by workflows that make VMs as that pool."""
    for owner in stacks:
        for pool in owner.pools:
            if _accounts(owner)[f"pool/{pool.name}"] != thing.name.rpartition("/")[2]:
                continue
            if owner.stack == config.stack:
                yield ACTS_AS, "controller", ""
            yield from ((ACTS_AS, each.key, "") for each in federation.makers_as(pool.name, owner.project, [config]))


def _of_pods(account: Guarded, config: StackConfig) -> Iterator[Grant]:
    """Pods of a team, those of one service account of its namespace, act as the team's account."""
    for team in config.queues.teams if config.queues else ():
        if team.account and account_path(team.account) == account.name:
            yield FEDERATED, pods_member(config.project, team.name), ""


def pods_member(project: str, team: str) -> str:
    """The pods of a team's service account, as policies name them
    (cloud.google.com/kubernetes-engine/docs/concepts/workload-identity, read 2026-11)."""
    return f"serviceAccount:{project}.svc.id.goog[{team}/{TRAINER}]"


def account_path(email: str) -> str:
    """A service account's full name; its project stands in its address."""
    return f"projects/{email.partition('@')[2].partition('.')[0]}/serviceAccounts/{email}"


def only_in_database(project: str, database: str) -> str:
    """The condition that holds for one database of Firestore
    (cloud.google.com/firestore/docs/manage-databases, read 2026-11)."""
    return f'resource.name == "projects/{project}/databases/{database}"'


def _on_secret(thing: Guarded, config: StackConfig) -> Iterator[Grant]:
    """The controller sees when the app's key was made, and not the key."""
    for secret in config.secrets:
        if thing.name == f"projects/{config.project}/secrets/{secret.name}":
            yield from ((OPENS, key, "") for key in secret.readers)
            if config.runners.app and config.runners.app.key_secret == secret.name:
                yield DATES, "controller", ""


def _acts_as(account: Guarded, role: str, member: str, stacks: Sequence[StackConfig]) -> bool:
    """Whether somebody from outside may act as an account: people as the deploying one, and runs of GitHub Actions.

    Neither has a condition by what a stack declares; one can only take something away.
    """
    email = account.name.rpartition("/")[2]
    if role == _IMPERSONATES:
        return any(email == _accounts(config).get("deployer") for config in stacks)
    found = _SET.fullmatch(member)
    return (
        role == FEDERATED
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
        **{each.email: each.attributes for each in federation.workflow_accounts(config)},
    }
    return attribute in allowed.get(email, ())


def _accounts(config: StackConfig) -> dict[str, str]:
    """Addresses of the accounts that a stack has or may have, by key, and of those that pods of its teams act as."""
    ids = {role: names.role_account_id(config.stack, role) for role in _ROLES}
    ids |= {f"pool/{pool.name}": names.pool_account_id(config.stack, pool.name) for pool in config.pools}
    if config.github:
        ids |= {"deployer": federation.DEPLOYER[0], "previewer": federation.PREVIEWER[0]}
    ids |= {each.key: each.account_id for each in federation.workflow_accounts(config)}
    teams = config.queues.teams if config.queues else ()
    own = {f"team/{team.name}": team.account for team in teams if team.account}
    return own | {key: names.account_email(account, config.project) for key, account in ids.items()}
