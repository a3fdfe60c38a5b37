"""The controller as a job of Cloud Run, and the clock that runs it.

Owns the job, its schedule, who may run it (the clock's account and nobody else), and that it may give pools' accounts
to the VMs that it makes. What a sweep does is `infra.fleet.controller`. Its role on TPU nodes stands on the project,
which is the narrowest place that Google has for it, so the project's owner gives it (`./tidepool bootstrap`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from infra.model.grants import ACTS_AS

INVOKER: Final = "roles/run.invoker"
SWEEP_SECONDS: Final = 600
"""A sweep asks every source with a deadline of its own; one that takes longer than this is stuck. A job looks for lost
VMs until the next one starts, and may begin another sweep until then."""

LIMITS: Final = {"cpu": "1", "memory": "1Gi"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerArgs:
    """image: by digest. arguments: of its command. environment: where its fleet is, none of it secret.

    every_minutes: between two sweeps. account, clock: what the job and its schedule run as.
    pools: accounts of pools by the name that says which. ready: what it needs to be there.
    """

    project: str
    region: str
    name: str
    labels: dict[str, str]
    image: str
    arguments: tuple[str, ...]
    environment: Mapping[str, pulumi.Input[str]]
    every_minutes: int
    account: gcp.serviceaccount.Account
    clock: gcp.serviceaccount.Account
    pools: Mapping[str, gcp.serviceaccount.Account]
    ready: Sequence[pulumi.Resource]


class Controller(pulumi.ComponentResource):
    """A job with one task that is never tried again: the next sweep comes anyway. job: its name."""

    job: pulumi.Output[str]

    def __init__(self, name: str, args: ControllerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:controller:Controller", name, None, opts)
        for who, account in args.pools.items():
            gcp.serviceaccount.IAMMember(
                f"controller-acts-as-{who}",
                service_account_id=account.name,
                role=ACTS_AS,
                member=args.account.member,
                opts=pulumi.ResourceOptions(parent=self),
            )
        job = gcp.cloudrunv2.Job(
            args.name,
            project=args.project,
            location=args.region,
            name=args.name,
            labels=args.labels,
            deletion_protection=False,
            template=gcp.cloudrunv2.JobTemplateArgs(task_count=1, template=self._task(args)),
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.ready)),
        )
        runs = gcp.cloudrunv2.JobIamMember(
            f"clock-runs-{args.name}",
            project=args.project,
            location=args.region,
            name=job.name,
            role=INVOKER,
            member=args.clock.member,
            opts=pulumi.ResourceOptions(parent=self),
        )
        gcp.cloudscheduler.Job(
            args.name,
            project=args.project,
            region=args.region,
            name=args.name,
            description="Runs the controller",
            schedule=f"*/{args.every_minutes} * * * *" if args.every_minutes < 60 else "0 * * * *",
            time_zone="Etc/UTC",
            http_target=gcp.cloudscheduler.JobHttpTargetArgs(
                uri=pulumi.Output.concat("https://run.googleapis.com/v2/", job.id, ":run"),
                http_method="POST",
                oauth_token=gcp.cloudscheduler.JobHttpTargetOauthTokenArgs(
                    service_account_email=args.clock.email,
                    scope="https://www.googleapis.com/auth/cloud-platform",
                ),
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[runs]),
        )
        self.job = job.name
        self.register_outputs({"job": self.job})

    def _task(self, args: ControllerArgs) -> gcp.cloudrunv2.JobTemplateTemplateArgs:
        return gcp.cloudrunv2.JobTemplateTemplateArgs(
            service_account=args.account.email,
            timeout=f"{SWEEP_SECONDS + 60 * args.every_minutes}s",
            max_retries=0,
            containers=[
                gcp.cloudrunv2.JobTemplateTemplateContainerArgs(
                    image=args.image,
                    args=list(args.arguments),
                    envs=[
                        gcp.cloudrunv2.JobTemplateTemplateContainerEnvArgs(name=key, value=value)
                        for key, value in sorted(args.environment.items())
                    ],
                    resources=gcp.cloudrunv2.JobTemplateTemplateContainerResourcesArgs(limits=LIMITS),
                )
            ],
        )
