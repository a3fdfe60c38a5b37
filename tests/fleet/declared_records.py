"""A fleet bucket as an `up` leaves it, without the rest of the stack."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from infra.fleet.bundle import runner_bundle
from infra.fleet.controller.lease import Lease, LeaseKind
from infra.fleet.google import Clients
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.schema import StackConfig
from infra.program.records import fleet_documents


def declare(google: Clients, config: StackConfig, *, siblings: Sequence[StackConfig] = ()) -> Records:
    """Write what the program declares, and say that the `up` which did it has ended. The bucket is there."""
    records = Records(google=google, bucket=config.bucket.name)
    bundle = runner_bundle()
    documents = fleet_documents(config, bundle, siblings=siblings)
    records.put_once(bucket_names.bundle_object(bundle.sha256), bundle.content.encode(), "application/zip")
    records.update(bucket_names.startup_object(), lambda _: documents.startup)
    records.update(bucket_names.manifest_object(config.stack), lambda _: documents.manifest)
    end_up(records, config.stack)
    return records


def end_up(records: Records, stack: str) -> None:
    """Take the lease as `up` does, and give it back: the controller waits for nobody then."""
    long_ago = lambda: datetime.fromtimestamp(0, UTC)  # noqa: E731
    lease = Lease(
        records=records, stack=stack, kind=LeaseKind.UP, holder="up", time=timedelta(minutes=1), clock=long_ago
    )
    lease.take()
    lease.give_back()
