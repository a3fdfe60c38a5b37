"""What a Google Cloud project needs once, before the first `pulumi up`: state, its encryption, and who deploys.

Owns what is wanted, with a reason for each role, and the plan as a pure function of what is there. Leaves reading and
writing to `infra.fleet.bootstrap_calls`. Nothing here is ever deleted, and no key of an account is ever made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from infra.fleet.bootstrap_steps import (
    ACCOUNT_ID,
    KEY,
    Action,
    AddGrants,
    BootstrapStep,
    BootstrapTarget,
    EnableApis,
    Grant,
    MakeAccount,
    MakeBucket,
    MakeKey,
    MakeKeyRing,
    MendBucket,
    Observed,
    Wanted,
)
from infra.model.schema import StackConfig

APIS: Final = (
    "cloudkms.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "iam.googleapis.com",
    "iamcredentials.googleapis.com",
    "serviceusage.googleapis.com",
    "storage.googleapis.com",
)
"""What bootstrap itself and a login as the deploying account call. The program enables the rest."""


BUCKET_SETTINGS: Final[Mapping[str, Any]] = {
    "versioning": {"enabled": True},
    "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"},
}
"""Settings that a state bucket must have; an existing bucket is brought to them."""

OLD_VERSIONS: Final[Mapping[str, Any]] = {
    "rule": [{"action": {"type": "Delete"}, "condition": {"numNewerVersions": 20, "daysSinceNoncurrentTime": 7}}]
}
"""Set on a new bucket alone. The CLI writes the whole state at every step, so a large `up` leaves many versions."""

DEPLOYER_ROLES: Final[Mapping[str, str]] = {
    "roles/artifactregistry.admin": "makes repositories and says who reads and writes each",
    "roles/cloudbuild.builds.editor": "makes the triggers of image builds",
    "roles/cloudbuild.connectionAdmin": "connects Cloud Build to the source repositories",
    "roles/cloudscheduler.admin": "makes the times at which images are built",
    "roles/compute.networkAdmin": "makes the network, its subnets, routers and NAT",
    "roles/compute.securityAdmin": "makes the firewall rules between hosts of a slice",
    "roles/iam.serviceAccountAdmin": "makes one account per pool and those of controller, broker and image builds",
    "roles/iam.workloadIdentityPoolAdmin": "makes the pool and provider by which workflows of GitHub are let in",
    "roles/iam.serviceAccountUser": "attaches a pool's account to its VMs",
    "roles/logging.configWriter": "makes the metrics that count lines of the broker and the controller",
    "roles/monitoring.alertPolicyEditor": "makes the alerts",
    "roles/monitoring.dashboardEditor": "makes the dashboard",
    "roles/monitoring.notificationChannelEditor": "makes the channels by which alerts reach people",
    "roles/pubsub.admin": "makes the topics that start builds and says who publishes to each",
    "roles/run.admin": "makes the broker's service and the controller's job and says who calls each",
    "roles/secretmanager.admin": "makes empty secrets and says who reads each",
    "roles/serviceusage.serviceUsageAdmin": "enables the APIs of the program",
    "roles/tpu.admin": "makes, changes and deletes TPU VMs",
}
"""Roles on the whole project and why the deploying account has each; `plan` adds storage, limited to named buckets."""

STORAGE_ROLE: Final = "roles/storage.admin"
STATE_ROLE: Final = "roles/storage.objectAdmin"
KEY_ROLE: Final = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
IMPERSONATION_ROLE: Final = "roles/iam.serviceAccountTokenCreator"


def plan(observed: Observed, wanted: Wanted) -> tuple[BootstrapStep, ...]:
    """Everything that is wanted, in the order in which it can be made."""
    return (_apis(observed), _bucket(observed, wanted), *_keys(observed, wanted), *_identity(observed, wanted))


def actions(steps: Sequence[BootstrapStep]) -> tuple[Action, ...]:
    """What is left to do."""
    return tuple(step.action for step in steps if step.action is not None)


def next_commands(wanted: Wanted, stack: str) -> tuple[str, str, str]:
    """What follows: login, the stack's state, the first deploy. Run them in the checkout."""
    return (
        f"pulumi login gs://{wanted.bucket}",
        f"pulumi stack init {stack} --secrets-provider=gcpkms://{wanted.key}",
        f"./tidepool up {stack}",
    )


def pin_commands(config: StackConfig) -> tuple[str, ...]:
    """For each repository that workflows of are let in by its name alone: what tells its number, and where it goes.

    A name can be taken by others after a move, a number cannot.
    """
    if config.github is None:
        return ()
    makers, writers = config.github.run_makers, config.github.result_writers
    entries = (
        (config.github, ""),
        *((each, f".run_makers[{at}]") for at, each in enumerate(makers)),
        *((each, f".result_writers[{at}]") for at, each in enumerate(writers)),
    )
    known = {each.repository for each, _ in entries if each.repository_id is not None}
    # One number holds for every entry of its repository.
    lacking = {each.repository: where for each, where in reversed(entries) if each.repository not in known}
    return tuple(
        f"gh api repos/{repository} --jq .id  # in quotes: tidepool:github{where}.repository_id, "
        f"stacks/Pulumi.{config.stack}.yaml"
        for repository, where in reversed(lacking.items())
    )


def grants(wanted: Wanted) -> dict[BootstrapTarget, tuple[Grant, ...]]:
    """Every grant that is wanted, by the policy in which it stands."""
    deployer = f"serviceAccount:{wanted.deployer}"
    on_project = [Grant(role=role, member=deployer, why=why) for role, why in DEPLOYER_ROLES.items()]
    on_project.append(
        Grant(
            role=STORAGE_ROLE,
            member=deployer,
            why=f"makes the buckets ({', '.join(wanted.fleet_buckets)}) and says who reads them; no other bucket",
            condition=only_buckets(wanted.fleet_buckets),
        )
    )
    return {
        BootstrapTarget.PROJECT: tuple(on_project),
        BootstrapTarget.BUCKET: (Grant(role=STATE_ROLE, member=deployer, why="reads and writes the state"),),
        BootstrapTarget.KEY: (Grant(role=KEY_ROLE, member=deployer, why="opens and closes the secrets in the state"),),
        BootstrapTarget.ACCOUNT: tuple(
            Grant(role=IMPERSONATION_ROLE, member=member, why="acts as the deploying account, without a key file")
            for member in sorted(wanted.impersonators)
        ),
    }


def only_buckets(buckets: Sequence[str]) -> str:
    """A condition that holds for these buckets and their objects, and for what is no bucket.

    Making a bucket is a right on the project, so it must not be cut off by a rule on names of buckets.
    Source: cloud.google.com/iam/docs/configuring-resource-based-access, read 2026-11.
    """
    storage = 'resource.type != "storage.googleapis.com/Bucket" && resource.type != "storage.googleapis.com/Object"'
    named = [
        f'resource.name == "projects/_/buckets/{name}" || resource.name.startsWith("projects/_/buckets/{name}/")'
        for name in sorted(buckets)
    ]
    return " || ".join([f"({storage})", *named])


def lacking(bucket: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of BUCKET_SETTINGS that this bucket does not have, as a patch."""
    return {key: value for key, value in BUCKET_SETTINGS.items() if not _within(value, bucket.get(key))}


def _apis(observed: Observed) -> BootstrapStep:
    off = tuple(api for api in APIS if api not in observed.enabled)
    return BootstrapStep(
        what="APIs " + ", ".join(api.removesuffix(".googleapis.com") for api in off or APIS),
        why="called by this command and by whoever deploys; the program enables its own",
        action=EnableApis(off) if off else None,
    )


def _bucket(observed: Observed, wanted: Wanted) -> BootstrapStep:
    what = f"state bucket gs://{wanted.bucket}"
    if observed.bucket is None:
        why = f"keeps Pulumi's state, in {wanted.location}: versioned, private, uniform access"
        return BootstrapStep(what=what, why=why, action=MakeBucket())
    if patch := lacking(observed.bucket):
        return BootstrapStep(what=what, why=f"must have {' and '.join(sorted(patch))} set", action=MendBucket(patch))
    return BootstrapStep(what=what, why="keeps Pulumi's state")


def _keys(observed: Observed, wanted: Wanted) -> tuple[BootstrapStep, BootstrapStep]:
    ring = BootstrapStep(
        what=f"key ring {wanted.key_ring}",
        why="holds the key; a ring can never be deleted",
        action=None if observed.key_ring else MakeKeyRing(),
    )
    key = BootstrapStep(
        what=f"key {KEY}",
        why="encrypts the secrets in the state",
        action=None if observed.key else MakeKey(),
    )
    return ring, key


def _identity(observed: Observed, wanted: Wanted) -> tuple[BootstrapStep, ...]:
    account = BootstrapStep(
        what=f"service account {wanted.deployer}",
        why="deploys; it has no key file and acts only through those who may impersonate it",
        action=None if observed.account else MakeAccount(),
    )
    places = {
        BootstrapTarget.PROJECT: "the project",
        BootstrapTarget.BUCKET: "the state bucket",
        BootstrapTarget.KEY: "the key",
        BootstrapTarget.ACCOUNT: "the deploying account",
    }
    given = []
    for target, all_of_it in grants(wanted).items():
        for grant in all_of_it:
            stands = grant.stands_in(observed.policies.get(target, {}))
            given.append(
                BootstrapStep(
                    what=f"{grant.role} on {places[target]} for {_short(grant.member, wanted)}",
                    why=grant.why,
                    action=None if stands else AddGrants(target, (grant,)),
                )
            )
    return account, *given


def _short(member: str, wanted: Wanted) -> str:
    return ACCOUNT_ID if member == f"serviceAccount:{wanted.deployer}" else member


def _within(wanted: Any, there: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(_within(value, there.get(key)) for key, value in wanted.items())
    return wanted == there
