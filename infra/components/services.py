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
"""What the other components call. At most 20: the provider enables them in one batch, and a batch holds no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicesArgs:
    """project: where to enable the APIs."""

    project: str


class Services(pulumi.ComponentResource):
    """Every API of `APIS`, enabled."""

    enabled: list[str]

    def __init__(self, name: str, args: ServicesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:services:Services", name, None, opts)
        for api in APIS:
            gcp.projects.Service(
                api.removesuffix(".googleapis.com"),
                project=args.project,
                service=api,
                disable_on_destroy=False,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.enabled = list(APIS)
        self.register_outputs({"enabled": self.enabled})
