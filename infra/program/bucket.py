"""Who has which part of the fleet bucket: the arguments of the component that makes it.

Owns how long records are kept. Leaves who has access to `infra.model.bucket_access`, and the objects that the program
declares to `infra.program.records`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from infra.components.bucket import FleetBucketArgs, PrefixAccess
from infra.components.identities import Identities
from infra.model import bucket_access, bucket_names, federation
from infra.model.schema import StackConfig
from infra.program.shared import grantee, labels

FORGOTTEN = {bucket_names.REPORTS_PREFIX: 30, bucket_names.BROKER_PREFIX: 400}
"""Days after their last write for which records of VMs are kept, by prefix.

A VM that lives writes its report every few minutes. Which VM a machine is, is written once, and must outlast it.
"""
OF_RUNS = {bucket_names.RUN_WORK_PREFIX: 14, bucket_names.RUN_DAYS_PREFIX: 400}
"""The same of a stack with runs: what a year cost is told by the days, as by those of pools' VMs."""


def fleet_bucket(
    config: StackConfig,
    identities: Identities,
    image_builder: pulumi.Input[str] | None,
    workflows: Mapping[str, pulumi.Input[str]],
    siblings: Sequence[StackConfig] = (),
) -> FleetBucketArgs:
    """image_builder: None where a stack has none. workflows: members that they act as, by key.

    siblings: other stacks, which may let in workflows that make VMs as a pool of this one.
    """
    outside = {federation.IMAGE_BUILDER[0]: image_builder, **workflows}

    def member(key: str) -> pulumi.Input[str] | None:
        return outside[key] if key in outside else identities.member(key)

    return FleetBucketArgs(
        project=config.project,
        bucket=config.bucket.name,
        location=config.bucket.location,
        labels=labels(config),
        access=[
            PrefixAccess(name=grantee(part.key), member=found, prefix=part.prefix, writes=part.writes)
            for part in bucket_access.parts(config, siblings)
            if (found := member(part.key)) is not None
        ],
        forgotten=FORGOTTEN | {bucket_names.stood_days_prefix(config.stack): 400} | (OF_RUNS if config.runs else {}),
        listers={key: identities.member(key) for key in bucket_access.LISTERS},
    )
