"""A bucket for checkpoints, and who writes to it. Leaves what is in it to the programs that write there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from infra.components.private_bucket import grant, private_bucket
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
        bucket = private_bucket(
            self,
            args.bucket,
            project=args.project,
            location=args.location,
            labels=args.labels,
            # A checkpoint is written once, under a name of its own: each replaced version would cost as much again.
            versioned=False,
        )
        grant(bucket, self, f"{args.bucket}-writer", WRITER, f"serviceAccount:{args.account}")
        self.bucket = bucket.name
        self.register_outputs({"bucket": self.bucket})
