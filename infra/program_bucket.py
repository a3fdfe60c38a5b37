"""Who has which part of the fleet bucket: the arguments of the component that makes it.

Owns the access of every identity and how long records are kept. Leaves the objects that the program declares to
`infra.program_records`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pulumi

from infra.components.bucket import FleetBucketArgs, PrefixAccess
from infra.components.identities import Identities
from infra.model import federation, names
from infra.model.schema import StackConfig
from infra.program_shared import grantee, labels, pool_key

FORGOTTEN = {names.REPORTS_PREFIX: 30, names.BROKER_PREFIX: 400}
"""Days after their last write for which records of VMs are kept, by prefix.

A VM that lives writes its report every few minutes. Which VM a machine is, is written once, and must outlast it.
"""


def fleet_bucket(
    config: StackConfig,
    identities: Identities,
    image_builder: pulumi.Input[str] | None,
    run_maker: pulumi.Input[str] | None,
) -> FleetBucketArgs:
    """Every pool reads the start-up bundle, forks' too: there is no secret in it. Manifests are not theirs.

    A VM writes its pool's reports and nothing else. What builds images writes their record, and nothing that a VM
    reads; what makes VMs for runs reads it, and so does the controller, which tells of builds that left none. The
    controller reads of the broker which machine is which VM.
    """
    writers: dict[str, pulumi.Input[str]] = {"builder": identities.member("builder")} if config.builds else {}
    if image_builder is not None:
        writers[federation.IMAGE_BUILDER[0]] = image_builder
    return FleetBucketArgs(
        project=config.project,
        bucket=config.bucket.name,
        location=config.bucket.location,
        labels=labels(config),
        access=[
            *(
                PrefixAccess(name=grantee(key), member=identities.member(key), prefix=prefix, writes=writes)
                for key, prefix, writes in _records(config)
            ),
            *(
                PrefixAccess(name=key, member=member, prefix=names.IMAGES_PREFIX, writes=True)
                for key, member in writers.items()
            ),
            *(
                PrefixAccess(name=federation.RUN_MAKER[0], member=member, prefix=names.IMAGES_PREFIX)
                for member in (run_maker,)
                if member is not None
            ),
        ],
        forgotten=FORGOTTEN,
        listers={key: identities.member(key) for key in ("controller", "broker")},
    )


def _records(config: StackConfig) -> Iterator[tuple[str, str, bool]]:
    """Who reads or writes which part of the fleet records: an identity, a prefix, and whether it writes."""
    for pool in config.pools:
        yield pool_key(pool), names.RUNNER_PREFIX, False
        yield pool_key(pool), names.reports_prefix(pool.name), True
    for prefix in (names.MANIFEST_PREFIX, names.RUNNER_PREFIX, names.REPORTS_PREFIX, names.BROKER_PREFIX):
        yield "controller", prefix, False
    if config.builds:
        yield "controller", names.IMAGES_PREFIX, False
    for prefix in (names.CONTROL_PREFIX, names.ORDERS_PREFIX):
        yield "controller", prefix, True
    for prefix in (names.MANIFEST_PREFIX, names.CONTROL_PREFIX):
        yield "broker", prefix, False
    yield "broker", names.BROKER_PREFIX, True
