"""What `up` says of the manifest afterwards is about the manifest, and about no other object of the bucket."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bench.cloud.testing import TestCloud
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.plan import Op, Plan, Status, Step
from infra.model.planned_records import OBJECT_TYPE
from infra.model.schema import StackConfig
from infra.operations.stacks.aftermath import look_after
from tests.model.given import parse, stack_text

MANIFEST = bucket_names.manifest_object("ci")
BUNDLE = bucket_names.bundle_object("ab" * 32)


@pytest.fixture
def config(ticking_cloud: TestCloud) -> StackConfig:
    """A stack whose bucket has a manifest that names no bundle."""
    ticking_cloud.control.reset()
    found = parse(stack_text())
    with clients(found.project, ticking_cloud.url) as google:
        body = {"name": found.bucket.name, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project=found.project, body=body), "making a bucket")
        Records(google=google, bucket=found.bucket.name).update(MANIFEST, lambda _: {"slots": []})
    return found


@pytest.mark.parametrize(
    ("op", "name", "status", "changed"),
    [
        (Op.UPDATE, MANIFEST, Status.DONE, True),
        (Op.CREATE, MANIFEST, Status.DONE, True),
        (Op.UPDATE, MANIFEST, Status.FAILED, False),
        (Op.SAME, MANIFEST, Status.DONE, False),
        (Op.RETAIN, BUNDLE, Status.DONE, False),
        (Op.DELETE, BUNDLE, Status.DONE, False),
        (Op.CREATE, bucket_names.startup_object(), Status.DONE, False),
    ],
)
def test_a_manifest_is_published_by_its_own_step_alone(
    config: StackConfig, ticking_cloud: TestCloud, op: Op, name: str, status: Status, changed: bool
) -> None:
    step = Step(op=op, urn=f"urn::{name}", type=OBJECT_TYPE, name=name, status=status)
    run = Plan(stack="ci", engine="local", cloud="local", steps=(step,), outputs={}, diagnostics=())
    found = look_after(config, run, ticking_cloud.url, datetime(2026, 11, 24, tzinfo=UTC)).manifest
    assert found is not None
    assert (found.changed, found.bundle) == (changed, None)
