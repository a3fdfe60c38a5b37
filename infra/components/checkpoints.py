"""A bucket for checkpoints, and who writes to it. Leaves what is in it to the programs that write there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from infra.model.bucket_access import WRITER


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsArgs:
    """bucket: its globally unique name. location: a region or multi-region. account: e-mail of who writes there."""

    project: str
    bucket: str
    location: str
    labels: Mapping[str, str]
    account: str


class Checkpoints(pulumi.ComponentResource):
    """A private bucket that no run of this program deletes."""

    bucket: pulumi.Output[str]

    def __init__(self, name: str, args: CheckpointsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:checkpoints:Checkpoints", name, None, opts)
        bucket = gcp.storage.Bucket(
            args.bucket,
            project=args.project,
            name=args.bucket,
            location=args.location,
            labels=dict(args.labels),
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            # A checkpoint is written once, under a name of its own: each replaced version would cost as much again.
            versioning=gcp.storage.BucketVersioningArgs(enabled=False),
            force_destroy=False,
            opts=pulumi.ResourceOptions(parent=self, protect=True, retain_on_delete=True),
        )
        gcp.storage.BucketIAMMember(
            f"{args.bucket}-writer",
            bucket=bucket.name,
            role=WRITER,
            member=f"serviceAccount:{args.account}",
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.bucket = bucket.name
        self.register_outputs({"bucket": self.bucket})
