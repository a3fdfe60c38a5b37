"""Who has which part of a stack's fleet bucket, by the keys of its identities.

Owns the table and the conditions that keep a grant to one prefix. The program grants by it (`infra.program.bucket`),
and what it does not have is a grant by hand (`infra.model.grants`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from infra.model import bucket_names, federation
from infra.model.schema import StackConfig

READER: Final = "roles/storage.objectViewer"
WRITER: Final = "roles/storage.objectUser"
"""Reads too, and deletes, which replacing an object is to Cloud Storage."""
LISTER: Final = "roles/storage.legacyBucketReader"
"""Sees the bucket and the names in it. Without it an object that is not there looks like one that is closed."""
LISTERS: Final = ("controller", "broker")
"""Identities that list objects, which is a right on the whole bucket."""


class Part(NamedTuple):
    """One identity's access to the objects below a prefix."""

    key: str
    prefix: str
    writes: bool


def parts(config: StackConfig, siblings: Sequence[StackConfig] = ()) -> Iterator[Part]:
    """Every access that a stack gives, or may give once its images are made by workflows.

    Every pool reads the start-up bundle, forks' too: there is no secret in it. Manifests are not theirs. A VM writes
    its pool's reports and nothing else. What builds images writes their record, and nothing that a VM reads; what makes
    VMs for runs reads it, and so does the controller, which tells of builds that left none. The controller reads of
    the broker which machine is which VM. VMs for runs are given and leave their work below a prefix of their own, and
    those that make them write what is counted of them, and of VMs whose client was killed the controller does.
    """
    for pool in config.pools:
        yield Part(f"pool/{pool.name}", bucket_names.RUNNER_PREFIX, writes=False)
        yield Part(f"pool/{pool.name}", bucket_names.reports_prefix(pool.name), writes=True)
    read = (
        bucket_names.MANIFEST_PREFIX,
        bucket_names.RUNNER_PREFIX,
        bucket_names.REPORTS_PREFIX,
        bucket_names.BROKER_PREFIX,
        bucket_names.IMAGES_PREFIX,
    )
    for prefix in read:
        yield Part("controller", prefix, writes=False)
    for prefix in (bucket_names.CONTROL_PREFIX, bucket_names.ORDERS_PREFIX):
        yield Part("controller", prefix, writes=True)
    for prefix in (bucket_names.MANIFEST_PREFIX, bucket_names.CONTROL_PREFIX):
        yield Part("broker", prefix, writes=False)
    yield Part("broker", bucket_names.BROKER_PREFIX, writes=True)
    if config.builds:
        yield Part("builder", bucket_names.IMAGES_PREFIX, writes=True)
    yield Part(federation.IMAGE_BUILDER[0], bucket_names.IMAGES_PREFIX, writes=True)
    for maker in federation.run_makers(config):
        yield Part(maker.key, bucket_names.IMAGES_PREFIX, writes=False)
    if config.runs is not None:
        yield Part("controller", bucket_names.RUN_DAYS_PREFIX, writes=True)
        for pool in config.runs.pools:
            yield Part(f"pool/{pool}", bucket_names.run_work_prefix(pool), writes=True)
            for maker in federation.makers_as(pool, config.project, (config, *siblings)):
                yield Part(maker.key, bucket_names.RUNS_PREFIX, writes=True)


def former_results(bucket: str) -> str:
    """The condition of a grant on the results of every repository in one place, as the version before kept them."""
    return " || ".join(only_below(bucket, name) for name in (bucket_names.RESULT_RUNS, bucket_names.RESULT_INDEX))


def on_results(bucket: str, repository: str) -> tuple[tuple[str, str], ...]:
    """What a repository's result writer has on the bucket of results: roles, each with its condition.

    It writes below the prefix of its repository alone. It sees the names of all objects, since listing is a right on
    the bucket itself.
    """
    return (
        (WRITER, only_below(bucket, bucket_names.results_prefix(repository))),
        (READER, former_results(bucket)),
        (LISTER, ""),
    )


def only_below(bucket: str, prefix: str) -> str:
    """The condition of a grant on objects below a prefix.

    Listing is a right on the bucket itself, so under this condition objects can be read by name and not listed.
    """
    return f'resource.name.startsWith("projects/_/buckets/{bucket}/objects/{prefix}")'
