"""The manifest of a bucket while old and new VMs stand together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from infra.fleet.bundle import STUB
from infra.fleet.google import Api, GoogleError, clients, execute
from infra.fleet.records import Records
from infra.fleet.transition import declare_both
from infra.model import bucket_names
from infra.model.manifest import manifest, startup
from tests.model.given import parse, pool, stack_text

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

BEFORE = parse(stack_text(pools=pool(name="a", zones="{us-west4-a: 1}")))
AFTER = parse(stack_text(pools=pool(name="a", zones="{us-west1-c: 1}")))
OLD, NEW = "a-us-west4-a-0", "a-us-west1-c-0"


def published(cloud: TestCloud, body: dict[str, Any] | None) -> None:
    with clients("my-lab", cloud.url) as google:
        bucket = {"name": BEFORE.bucket.name, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project="my-lab", body=bucket), "making a bucket")
        if body is not None:
            Records(google=google, bucket=BEFORE.bucket.name).update(bucket_names.manifest_object("ci"), lambda _: body)


def record(cloud: TestCloud, name: str, body: dict[str, Any]) -> None:
    with clients("my-lab", cloud.url) as google:
        Records(google=google, bucket=BEFORE.bucket.name).update(name, lambda _: body)


def said(cloud: TestCloud) -> tuple[int, str, str]:
    """What the manifest says of the controller's grace, the bundle and the broker."""
    with clients("my-lab", cloud.url) as google:
        found = Records(google=google, bucket=BEFORE.bucket.name).read(bucket_names.manifest_object("ci"))
    assert found is not None
    return found.body["controller"]["grace_minutes"], found.body["bundle"], found.body["broker"]


def read(cloud: TestCloud) -> tuple[list[str], int]:
    """The declared VMs, and the generation."""
    with clients("my-lab", cloud.url) as google:
        found = Records(google=google, bucket=BEFORE.bucket.name).read(bucket_names.manifest_object("ci"))
    assert found is not None
    return [slot["name"] for slot in found.body["slots"]], found.generation


def test_both_are_declared_and_then_what_stays_alone(cloud: TestCloud) -> None:
    script = STUB.read_text(encoding="utf-8")
    published(cloud, manifest(BEFORE, bundle="a" * 64, startup_script=script))
    declare_both(AFTER, cloud.url, {OLD})
    once = read(cloud)
    assert once[0] == [NEW, OLD]
    declare_both(AFTER, cloud.url, {OLD})
    assert read(cloud) == once, "what is so already is not written again"
    declare_both(AFTER, cloud.url, ())
    assert read(cloud)[0] == [NEW]


def test_the_new_settings_are_in_force_with_the_bundle_that_vms_start_with(cloud: TestCloud) -> None:
    published(cloud, manifest(BEFORE, bundle="a" * 64, startup_script="x", broker="https://old"))
    after = parse(stack_text(pools=pool(name="a", zones="{us-west1-c: 1}"), controller="{grace_minutes: 30}"))
    declare_both(after, cloud.url, {OLD})
    assert said(cloud) == (30, "sha256:" + "a" * 64, "https://old"), "no record has another bundle yet"
    record(cloud, bucket_names.startup_object(), startup(after, bundle="b" * 64, broker="https://new"))
    declare_both(after, cloud.url, {OLD})
    assert said(cloud) == (30, "sha256:" + "b" * 64, "https://new")
    assert read(cloud)[0] == [NEW, OLD]


def test_where_nothing_is_published_nothing_is_declared(cloud: TestCloud) -> None:
    declare_both(AFTER, cloud.url, {OLD})
    published(cloud, None)
    declare_both(AFTER, cloud.url, {OLD})
    with pytest.raises(AssertionError):
        read(cloud)


def test_a_manifest_that_nobody_can_read_is_left_alone(cloud: TestCloud) -> None:
    published(cloud, {"bundle": "sha256:a", "slots": 7})
    with pytest.raises(GoogleError, match="slots must be a list"):
        declare_both(AFTER, cloud.url, {OLD})
