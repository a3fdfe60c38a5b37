"""What `publish` leaves in the bucket, and what it leaves alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from infra.fleet.bundle import runner_bundle
from infra.fleet.google import Api, GoogleError, clients, execute
from infra.fleet.publish import publish
from infra.fleet.records import Records
from infra.model import fleet, names
from infra.model.images.record import EMPTY
from infra.model.schema import StackConfig
from infra.model.stack import load_stack
from tests.shipped_stacks import of_this_lab

if TYPE_CHECKING:
    from infra.local.cloud.testing import TestCloud

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def config() -> StackConfig:
    return load_stack(ROOT, "ci")


@pytest.fixture
def records(cloud: TestCloud, config: StackConfig) -> Iterator[Records]:
    """The fleet bucket as an apply leaves it, all else failed."""
    with clients(config.project, cloud.url) as google:
        body = {"name": config.bucket.name, "location": config.bucket.location}
        execute(google.api(Api.STORAGE).buckets().insert(project=config.project, body=body), "making the bucket")
        yield Records(google=google, bucket=config.bucket.name)


def test_with_nothing_but_the_bucket_the_whole_desired_fleet_is_published(
    cloud: TestCloud, config: StackConfig, records: Records
) -> None:
    published = publish(config, cloud.url)
    manifest = records.read(names.manifest_object("ci"))
    assert manifest is not None
    assert published.changed
    assert manifest.body["version"] == 1
    assert [slot["name"] for slot in manifest.body["slots"]] == [slot.name for slot in fleet.slots(config)]
    assert manifest.body["bundle"] == f"sha256:{published.bundle_sha256}"


@of_this_lab
def test_the_pointer_names_a_bundle_that_is_there_and_whole(
    cloud: TestCloud, config: StackConfig, records: Records
) -> None:
    publish(config, cloud.url)
    pointer = records.read(names.pointer_object())
    assert pointer is not None
    digest = pointer.body["bundle"]
    request = (
        records.google.api(Api.STORAGE).objects().get_media(bucket=records.bucket, object=names.bundle_object(digest))
    )
    content = execute(request, "reading the bundle")
    assert hashlib.sha256(content).hexdigest() == digest
    assert pointer.body["serves"]["tpu-ci"] == ["marin-community/marin"]


def test_what_is_as_it_should_be_is_not_written_again(cloud: TestCloud, config: StackConfig, records: Records) -> None:
    first = publish(config, cloud.url)
    second = publish(config, cloud.url)
    assert not second.changed
    assert second.manifest.generation == first.manifest.generation


def test_a_changed_count_changes_the_manifest_alone(cloud: TestCloud, config: StackConfig, records: Records) -> None:
    publish(config, cloud.url)
    pool = config.pools[0]
    grown = pool.model_copy(update={"zones": {**pool.zones, "us-west4-a": 3}})
    published = publish(config.model_copy(update={"pools": (grown, *config.pools[1:])}), cloud.url)
    assert published.manifest.changed
    assert not published.bundle.changed
    assert not published.pointer.changed


def test_images_that_were_promoted_are_kept(cloud: TestCloud, config: StackConfig, records: Records) -> None:
    records.update(names.pointer_object(), lambda _: {"images": {"tpu-ci": {"us-west4": "an image"}}})
    publish(config, cloud.url)
    pointer = records.read(names.pointer_object())
    assert pointer is not None
    assert pointer.body["images"] == {"tpu-ci": {"us-west4": "an image"}}


def test_a_stack_that_builds_images_has_a_record_before_the_first_build_and_keeps_it(
    cloud: TestCloud, config: StackConfig, records: Records
) -> None:
    publish(config, cloud.url)
    empty = records.read(names.images_record_object())
    assert empty is not None
    assert empty.body == EMPTY.to_json()
    records.update(names.images_record_object(), lambda body: {**(body or {}), "later": True})
    publish(config, cloud.url)
    kept = records.read(names.images_record_object())
    assert kept is not None
    assert kept.body["later"] is True


def test_a_stack_that_builds_no_images_has_no_record(cloud: TestCloud, config: StackConfig, records: Records) -> None:
    publish(config.model_copy(update={"builds": None}), cloud.url)
    assert records.read(names.images_record_object()) is None


@of_this_lab
def test_a_stack_without_registries_of_its_own_names_those_it_reads(cloud: TestCloud, records: Records) -> None:
    nightly, ci = load_stack(ROOT, "nightly"), load_stack(ROOT, "ci")
    body = {"name": nightly.bucket.name, "location": nightly.bucket.location}
    execute(records.google.api(Api.STORAGE).buckets().insert(project=nightly.project, body=body), "making the bucket")
    publish(nightly, cloud.url, registry=ci)
    manifest = Records(google=records.google, bucket=nightly.bucket.name).read(names.manifest_object("nightly"))
    assert manifest is not None
    assert manifest.body["registries"]["us-east1/marin"] == "us-east1-docker.pkg.dev/hai-gcp-models/marin"


def test_without_the_bucket_the_error_names_it(cloud: TestCloud, config: StackConfig) -> None:
    with pytest.raises(GoogleError, match=config.bucket.name):
        publish(config, cloud.url)


def test_nothing_secret_is_published(cloud: TestCloud, config: StackConfig, records: Records) -> None:
    publish(config, cloud.url)
    for name in (names.manifest_object("ci"), names.pointer_object()):
        record = records.read(name)
        assert record is not None
        assert "tidepool-github-app-key" not in json.dumps(record.body), "not even the name of a secret"


def test_equal_shell_files_are_equal_bundles_whenever_they_were_written(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "steps").mkdir(parents=True)
        for file in ("start.sh", "stub.sh", "steps/a.sh"):
            (tmp_path / name / file).write_text("echo\n")
    (tmp_path / "two" / "start.sh").touch()
    (tmp_path / "two" / "start.sh").chmod(0o700)
    (tmp_path / "two" / "stub.sh").write_text("the stub is not in the bundle\n")
    assert runner_bundle(tmp_path / "one") == runner_bundle(tmp_path / "two")


def test_a_changed_shell_file_is_another_bundle(tmp_path: Path) -> None:
    (tmp_path / "start.sh").write_text("echo one\n")
    one = runner_bundle(tmp_path)
    (tmp_path / "start.sh").write_text("echo two\n")
    assert runner_bundle(tmp_path).sha256 != one.sha256


@of_this_lab
def test_vms_are_told_where_the_broker_is_once_it_is_there(
    cloud: TestCloud, config: StackConfig, records: Records
) -> None:
    image = f"us-central1-docker.pkg.dev/{config.project}/marin/controller@sha256:{'0' * 64}"
    settings = config.controller.model_copy(update={"region": "us-central1", "image": image})
    served = config.model_copy(update={"controller": settings})
    publish(served, cloud.url)
    assert _published_broker(records) == (None, None), "it is declared and not made yet"
    with clients(config.project, cloud.url) as google:
        execute(
            google.api(Api.RUN)
            .projects()
            .locations()
            .services()
            .create(
                parent=f"projects/{config.project}/locations/us-central1",
                serviceId=names.broker_service("ci"),
                body={"customAudiences": ["https://b.example"], "template": {"containers": [{"image": image}]}},
            ),
            "making the broker",
        )
    publish(served, cloud.url)
    assert _published_broker(records) == ("https://b.example", "https://b.example")
    publish(config, cloud.url)
    assert _published_broker(records) == (None, "https://b.example"), "what others put there is theirs"


def _published_broker(records: Records) -> tuple[str | None, str | None]:
    manifest, pointer = records.read(names.manifest_object("ci")), records.read(names.pointer_object())
    assert manifest is not None
    assert pointer is not None
    return manifest.body["broker"], pointer.body.get("broker")
