"""The Google APIs that a project needs before anything else can be made in it.

Owns enabling them. Never disables one: another program of the same project may rely on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

APIS: Final = (
    "artifactregistry.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "compute.googleapis.com",
    "iam.googleapis.com",
    "iamcredentials.googleapis.com",
    "secretmanager.googleapis.com",
    "serviceusage.googleapis.com",
    "storage.googleapis.com",
    "sts.googleapis.com",
    "tpu.googleapis.com",
)
"""What every stack calls. At most 20 with those of builds: the provider enables one batch, which holds no more."""

BUILD_APIS: Final = ("cloudbuild.googleapis.com", "cloudscheduler.googleapis.com", "pubsub.googleapis.com")
"""What a stack that builds images calls besides."""

SERVING_APIS: Final = (
    "cloudscheduler.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "run.googleapis.com",
)
"""What a stack with a broker and a controller calls besides."""

CLUSTER_APIS: Final = (
    "container.googleapis.com",
    "containerfilesystem.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
)
"""What a stack with a GKE cluster calls besides; the second streams images to its nodes."""


BUDGET_APIS: Final = ("billingbudgets.googleapis.com", "monitoring.googleapis.com")
"""What a stack with a budget at Google calls besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicesArgs:
    """project: where to enable the APIs.

    builds, serving, cluster: whether those of builds, of broker and controller, of a cluster too. store: the API of the
    store of jobs' locks, empty without one. budget: whether those of a budget at Google.
    """

    project: str
    builds: bool = False
    serving: bool = False
    cluster: bool = False
    store: str = ""
    budget: bool = False


class Services(pulumi.ComponentResource):
    """Every API that the stack calls, enabled."""

    enabled: list[str]

    def __init__(self, name: str, args: ServicesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:services:Services", name, None, opts)
        wanted = (
            *APIS,
            *(BUILD_APIS if args.builds else ()),
            *(SERVING_APIS if args.serving else ()),
            *(CLUSTER_APIS if args.cluster else ()),
            *((args.store,) if args.store else ()),
            *(BUDGET_APIS if args.budget else ()),
        )
        self.enabled = list(dict.fromkeys(wanted))
        for api in self.enabled:
            gcp.projects.Service(
                api.removesuffix(".googleapis.com"),
                project=args.project,
                service=api,
                disable_on_destroy=False,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({"enabled": self.enabled})
