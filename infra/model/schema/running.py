"""The sections that say how a fleet is kept: secrets, GitHub, runners, the controller, freezes and exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from infra.model.fields.common import (
    BY_KEY,
    WRITTEN,
    BucketLocation,
    BucketName,
    Day,
    Dollars,
    Reason,
    ResourceName,
    RuleId,
    SecretName,
    Subject,
    TimeZone,
    some,
)
from infra.model.fields.fleet import Accelerator, GitHubRepository, Zone
from infra.model.fields.images import InstallationId
from infra.model.fields.results import BillingAccount, Threshold
from infra.model.fields.running import (
    AppId,
    BootMinutes,
    EmailAddress,
    EnvironmentName,
    EveryMinutes,
    GraceMinutes,
    JobMinutes,
    Reader,
    Replacements,
    RepositoryId,
    RunMinutes,
    RunnerGroup,
    RunsADay,
    RunsAtOnce,
    ServiceImage,
    ServiceRegion,
    Share,
    WorkflowFile,
)
from infra.model.schema.base import Section, Span
from infra.model.schema.fleet import Trust


class SecretDecl(Section):
    """A container in Secret Manager and who may read it; never a value."""

    name: SecretName
    readers: tuple[Reader, ...]


class RunMakers(Section):
    """Workflows of one repository, by file, that make TPU VMs for single runs, all as one pool of the project.

    pool: of any stack; they act as an account that may give VMs this pool's account and no other.
    """

    repository: GitHubRepository
    repository_id: Annotated[RepositoryId | None, WRITTEN] = None
    pool: ResourceName
    workflows: Annotated[tuple[WorkflowFile, ...], some("no workflow is named", "the files of workflows")]


class ResultWriters(Section):
    """Workflows of one repository, by file, that keep results of test runs, all as one account that does only that."""

    repository: GitHubRepository
    repository_id: Annotated[RepositoryId | None, WRITTEN] = None
    workflows: Annotated[tuple[WorkflowFile, ...], some("no workflow is named", "the files of workflows")]


class Runs(Section):
    """TPU VMs that are made for one run each and deleted after it: as which pool, of which types, where, how many.

    pool: of this stack; it says their trust, account, network and runtime, and how they are obtained where nobody says
        it. fork_pool: the same of runs of strangers' pull requests, which share no account with others. per_day,
        at_once: the most that may be made in a day (UTC), and stand at one time. time_to_live_minutes: the longest that
        one may stand, from when it is asked for.
    """

    pool: ResourceName
    fork_pool: Annotated[ResourceName | None, WRITTEN] = None
    accelerators: Annotated[
        tuple[Accelerator, ...], some("no accelerator type is named, so no VM can be made", "name one")
    ]
    zones: Annotated[tuple[Zone, ...], some("no zone is named, so no VM can be made", "name one")]
    per_day: RunsADay
    at_once: RunsAtOnce
    time_to_live_minutes: RunMinutes

    @property
    def pools(self) -> tuple[str, ...]:
        """Every pool as which runs make VMs."""
        return (self.pool,) if self.fork_pool is None else (self.pool, self.fork_pool)


class GitHub(Section):
    """The repository whose workflows preview and apply this stack's project, and where they may apply.

    environments: GitHub environments that let their jobs act as the deploying account, on the main branch alone.
    run_makers: workflows, of other repositories too, that make VMs; on their main branch alone, and each repository
        and pool as an account of its own.
    result_writers: workflows that keep results of tests, on their main branch alone, each repository as one account.
    """

    repository: GitHubRepository
    repository_id: Annotated[RepositoryId | None, WRITTEN] = None
    environments: Annotated[
        tuple[EnvironmentName, ...], some("no environment may apply", "the environment of the apply workflow")
    ]
    run_makers: tuple[RunMakers, ...] = ()
    result_writers: tuple[ResultWriters, ...] = ()


class Bucket(Section):
    """Where the stack's fleet records live: the manifest and the start-up bundles."""

    name: BucketName
    location: BucketLocation


class App(Section):
    """The GitHub App that registers runners. key_secret: a container of `secrets` that holds its private key."""

    id: AppId
    installation: InstallationId
    key_secret: SecretName


class Runners(Section):
    """How runners are registered, and how long one may take.

    app: None while there is none; nobody registers runners then. groups: the organisation's runner group by trust, None
    where runners are a repository's own. boot_minutes: from READY to a runner online. job_minutes: what a drain waits.
    """

    app: Annotated[App | None, WRITTEN] = None
    groups: Annotated[Mapping[Trust, RunnerGroup] | None, BY_KEY, WRITTEN] = None
    boot_minutes: BootMinutes = 20
    job_minutes: JobMinutes = 120


class Controller(Section):
    """How often and how boldly the fleet is kept, and where the broker and the controller run.

    replacements_per_hour: of one pool. grace_minutes: before what is not declared is deleted. share: of a pool that a
    rollout has in work at once. image: what both run, None while there is none; neither is declared then.
    """

    region: Annotated[ServiceRegion | None, WRITTEN] = None
    image: Annotated[ServiceImage | None, WRITTEN] = None
    every_minutes: EveryMinutes = 2
    replacements_per_hour: Replacements = 6
    grace_minutes: GraceMinutes = 10
    share: Share = 0.34
    notify: tuple[EmailAddress, ...] = ()


class FreezeOverride(Section):
    """Why changes may pass during a freeze, and the last day on which they may."""

    until: Day
    reason: Reason


class Freeze(Span):
    """A time in which the fleet is not changed; `to` is its last day or moment."""

    name: ResourceName
    time_zone: TimeZone
    override: Annotated[FreezeOverride | None, WRITTEN] = None


class Budget(Section):
    """What the stack may cost by list prices; reserved chips are paid already and count for nothing here.

    billing_account: Google watches what is billed there too, None where only the rules do. thresholds: shares at which
        people are told, of what is billed and of what Google forecasts. notify: their e-mail addresses.
    """

    usd_per_month: Dollars
    billing_account: Annotated[BillingAccount | None, WRITTEN] = None
    thresholds: tuple[Threshold, ...] = (0.5, 0.9, 1.0)
    notify: tuple[EmailAddress, ...] = ()


class RuleException(Section):
    """One finding of one rule that is accepted, why, and the last day on which it is."""

    rule: RuleId
    subject: Subject
    reason: Reason
    expires: Day
