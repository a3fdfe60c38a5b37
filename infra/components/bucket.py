"""The bucket that keeps what the fleet is meant to be: manifests, the runner bundle and its pointer, the image record.

Owns the bucket and who may read or write which part of it. Leaves its objects to `infra.fleet.records`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pulumi
import pulumi_gcp as gcp

from infra.components.private_bucket import deletes, grant, private_bucket
from infra.model.bucket_access import LISTER, READER, WRITER, only_below

KEPT_DAYS: Final = 30
"""For which versions are kept of what is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixAccess:
    """One identity that may read the objects whose names start with `prefix`, and no others; write them if it `writes`.

    name: says who, in resource names.
    member: its IAM member (`serviceAccount:EMAIL`).
    """

    name: str
    member: pulumi.Input[str]
    prefix: str
    writes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBucketArgs:
    """bucket: its globally unique name. location: a region or multi-region. listers: who sees all names, by key.

    forgotten: by prefix, the days after its last write after which an object goes.
    """

    project: str
    bucket: str
    location: str
    labels: dict[str, str]
    access: Sequence[PrefixAccess]
    forgotten: Mapping[str, int] = field(default_factory=dict)
    listers: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)


class FleetBucket(pulumi.ComponentResource):
    """A private, versioned bucket that no run of this program deletes. project_number: of the project that it is in."""

    bucket: pulumi.Output[str]
    project_number: pulumi.Output[str]

    def __init__(self, name: str, args: FleetBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:bucket:FleetBucket", name, None, opts)
        bucket = private_bucket(
            self,
            args.bucket,
            project=args.project,
            location=args.location,
            labels=args.labels,
            versioned=True,
            rules=[_forget_old_versions(), *_forget(args.forgotten)],
        )
        for each in args.access:
            name = f"{each.name}-{'writes' if each.writes else 'reads'}-{each.prefix.strip('/').replace('/', '-')}"
            role = WRITER if each.writes else READER
            grant(bucket, self, name, role, each.member, _below(args.bucket, each.prefix))
        for name, member in args.listers.items():
            grant(bucket, self, f"{name}-lists-{args.bucket}", LISTER, member)
        self.bucket = bucket.name
        # A state keeps numbers as JSON does.
        self.project_number = bucket.project_number.apply(lambda number: str(int(number)))
        self.register_outputs({"bucket": self.bucket})


def _forget_old_versions() -> gcp.storage.BucketLifecycleRuleArgs:
    """Versions that were replaced go once 50 newer ones stand before them; the live one never does."""
    return deletes(gcp.storage.BucketLifecycleRuleConditionArgs(num_newer_versions=50, with_state="ARCHIVED"))


def _forget(forgotten: Mapping[str, int]) -> Iterator[gcp.storage.BucketLifecycleRuleArgs]:
    """An object's age begins anew with every write. Of one that went, its versions go as well."""
    for prefix, days in forgotten.items():
        yield deletes(
            gcp.storage.BucketLifecycleRuleConditionArgs(age=days, matches_prefixes=[prefix], with_state="LIVE")
        )
    if forgotten:
        yield deletes(
            gcp.storage.BucketLifecycleRuleConditionArgs(
                days_since_noncurrent_time=KEPT_DAYS, matches_prefixes=sorted(forgotten), with_state="ARCHIVED"
            )
        )


def _below(bucket: str, prefix: str) -> gcp.storage.BucketIAMMemberConditionArgs:
    return gcp.storage.BucketIAMMemberConditionArgs(title=f"only {prefix}", expression=only_below(bucket, prefix))
