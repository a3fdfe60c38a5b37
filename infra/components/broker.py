"""The token broker as a service of Cloud Run.

Owns the service and who may call it: the accounts of pools, the controller, and nobody else. They call from the
internet, since a TPU VM's network may have no way into Cloud Run's: every address is let through to Google's own check
of an identity. The broker then checks the token again by itself, and much more: `infra.fleet.broker`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

INVOKER: Final = "roles/run.invoker"
REQUEST_SECONDS: Final = 60
"""Longer than the broker gives GitHub and Google together."""

CONCURRENT: Final = 64
MOST_INSTANCES: Final = 4
"""Instances agree through their records in the bucket. Four serve more VMs at once than a fleet has; none is kept."""

LIMITS: Final = {"cpu": "1", "memory": "512Mi"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerArgs:
    """url: the address by which VMs call it, which is the audience of their tokens.

    image: by digest. arguments: of its command. environment: its settings, none of them secret.
    account: what it runs as. callers: IAM members by the name that says who.
    ready: what it needs to be there.
    """

    project: str
    region: str
    name: str
    labels: dict[str, str]
    url: pulumi.Input[str]
    image: str
    arguments: tuple[str, ...]
    environment: Mapping[str, pulumi.Input[str]]
    account: gcp.serviceaccount.Account
    callers: Mapping[str, pulumi.Input[str]]
    ready: Sequence[pulumi.Resource]


class Broker(pulumi.ComponentResource):
    """A service that scales to nothing. url: where VMs reach it."""

    url: pulumi.Output[str]

    def __init__(self, name: str, args: BrokerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:broker:Broker", name, None, opts)
        service = gcp.cloudrunv2.Service(
            args.name,
            project=args.project,
            location=args.region,
            name=args.name,
            description="Registers runners with GitHub",
            labels=args.labels,
            ingress="INGRESS_TRAFFIC_ALL",
            # A service keeps nothing: what it remembers is in the fleet bucket.
            deletion_protection=False,
            custom_audiences=[args.url],
            template=self._template(args),
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.ready)),
        )
        for who, member in args.callers.items():
            gcp.cloudrunv2.ServiceIamMember(
                f"{who}-calls-{args.name}",
                project=args.project,
                location=args.region,
                name=service.name,
                role=INVOKER,
                member=member,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.url = service.custom_audiences.apply(lambda audiences: (audiences or [""])[0])
        self.register_outputs({"url": self.url})

    def _template(self, args: BrokerArgs) -> gcp.cloudrunv2.ServiceTemplateArgs:
        return gcp.cloudrunv2.ServiceTemplateArgs(
            service_account=args.account.email,
            timeout=f"{REQUEST_SECONDS}s",
            max_instance_request_concurrency=CONCURRENT,
            scaling=gcp.cloudrunv2.ServiceTemplateScalingArgs(max_instance_count=MOST_INSTANCES),
            containers=[
                gcp.cloudrunv2.ServiceTemplateContainerArgs(
                    image=args.image,
                    args=list(args.arguments),
                    envs=[
                        gcp.cloudrunv2.ServiceTemplateContainerEnvArgs(name=key, value=value)
                        for key, value in sorted(args.environment.items())
                    ],
                    resources=gcp.cloudrunv2.ServiceTemplateContainerResourcesArgs(limits=LIMITS, cpu_idle=True),
                )
            ],
        )
