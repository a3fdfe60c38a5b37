"""A bucket that only named identities reach and that no run of this program deletes: what the components of buckets
are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_gcp as gcp


def private_bucket(
    parent: pulumi.Resource,
    name: str,
    *,
    project: str,
    location: str,
    labels: Mapping[str, str],
    versioned: bool | None = None,
    rules: Sequence[gcp.storage.BucketLifecycleRuleArgs] | None = None,
) -> gcp.storage.Bucket:
    """The bucket, below its component. versioned: None leaves it to Google, which keeps one version."""
    return gcp.storage.Bucket(
        name,
        project=project,
        name=name,
        location=location,
        labels=dict(labels),
        uniform_bucket_level_access=True,
        public_access_prevention="enforced",
        versioning=None if versioned is None else gcp.storage.BucketVersioningArgs(enabled=versioned),
        lifecycle_rules=rules,
        force_destroy=False,
        opts=pulumi.ResourceOptions(parent=parent, protect=True, retain_on_delete=True),
    )


def deletes(condition: gcp.storage.BucketLifecycleRuleConditionArgs) -> gcp.storage.BucketLifecycleRuleArgs:
    """The rule by which a bucket deletes what meets a condition."""
    return gcp.storage.BucketLifecycleRuleArgs(
        action=gcp.storage.BucketLifecycleRuleActionArgs(type="Delete"), condition=condition
    )


def grant(
    bucket: gcp.storage.Bucket,
    parent: pulumi.Resource,
    name: str,
    role: str,
    member: pulumi.Input[str],
    condition: gcp.storage.BucketIAMMemberConditionArgs | None = None,
) -> gcp.storage.BucketIAMMember:
    """One identity's right on the bucket, beside those of others."""
    opts = pulumi.ResourceOptions(parent=parent)
    return gcp.storage.BucketIAMMember(
        name, bucket=bucket.name, role=role, member=member, condition=condition, opts=opts
    )
