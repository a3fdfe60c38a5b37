"""Where Cloud Build writes the logs of builds.

Owns the bucket, how long a log stays and who writes there. A bucket of their own keeps builds from needing a role on
the project: Cloud Logging can be written by such a role alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from infra.components.private_bucket import deletes, grant, private_bucket
from infra.model.bucket_access import LISTER, WRITER

ROLES: Final = (LISTER, WRITER)
"""Seeing that the bucket is there, and writing objects to it: a log grows as an object that is put together anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildLogsArgs:
    """bucket: its globally unique name. keep_days: after these a log is deleted. writer: the IAM member of builds."""

    project: str
    bucket: str
    location: str
    labels: dict[str, str]
    keep_days: int
    writer: pulumi.Input[str]


class BuildLogs(pulumi.ComponentResource):
    """A private bucket that forgets. ready: what must stand before a build can write its log."""

    bucket: pulumi.Output[str]
    ready: list[pulumi.Resource]

    def __init__(self, name: str, args: BuildLogsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:build_logs:BuildLogs", name, None, opts)
        bucket = private_bucket(
            self,
            args.bucket,
            project=args.project,
            location=args.location,
            labels=args.labels,
            rules=[deletes(gcp.storage.BucketLifecycleRuleConditionArgs(age=args.keep_days, with_state="ANY"))],
        )
        self.ready = [
            grant(bucket, self, f"builder-{role.rpartition('.')[2]}-{args.bucket}", role, args.writer) for role in ROLES
        ]
        self.bucket = bucket.name
        self.register_outputs({"bucket": self.bucket})
