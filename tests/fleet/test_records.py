"""Records of a fleet bucket: what is read is what is built on, and nothing is written twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.records import ATTEMPTS, Body, Newest, Records, UnreadableRecordError, encode

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

BUCKET = "a-lab-tidepool-ci"


@pytest.fixture
def google(cloud: TestCloud) -> Iterator[Clients]:
    with clients("a-lab", cloud.url) as made:
        yield made


@pytest.fixture
def records(google: Clients) -> Records:
    body = {"name": BUCKET, "location": "us"}
    execute(google.api(Api.STORAGE).buckets().insert(project="a-lab", body=body), "making a bucket")
    return Records(google=google, bucket=BUCKET)


def constant(body: Mapping[str, Any] | bytes) -> Any:
    return lambda _: body


def test_a_missing_bucket_is_an_error_and_not_a_missing_record(google: Clients) -> None:
    with pytest.raises(GoogleError, match="no-such-bucket") as raised:
        Records(google=google, bucket="no-such-bucket").read("manifests/ci.json")
    assert raised.value.status == 404


def test_the_newest_version_that_can_be_read_stands_in_and_the_other_is_kept(google: Clients) -> None:
    body = {"name": "versioned", "location": "us", "versioning": {"enabled": True}}
    execute(google.api(Api.STORAGE).buckets().insert(project="a-lab", body=body), "making a bucket")
    records, name = Records(google=google, bucket="versioned"), "control/ci/lease.json"
    assert records.newest(name, dict) == Newest()
    one, two = (records.update(name, constant({"turn": turn})).generation for turn in (1, 2))
    assert records.newest(name, dict) == Newest(value={"turn": 2}, generation=two, content=encode({"turn": 2}))
    for damage in (b"{", b"[]"):
        damaged = records.update_content(name, constant(damage), "application/json").generation
    found = records.newest(name, dict)
    assert (found.value, found.generation, found.unreadable) == ({"turn": 2}, damaged, "it is not a JSON object")
    assert found.fix == f"gcloud storage cp 'gs://versioned/{name}#{two}' gs://versioned/{name}"
    first = records.newest(name, lambda body: body if body["turn"] == 1 else int("of another shape"))
    assert first.fix == f"gcloud storage cp 'gs://versioned/{name}#{one}' gs://versioned/{name}"
    alone = records.newest(name, lambda _: int("of another shape"))
    assert (alone.value, alone.fix) == (None, f"gcloud storage rm gs://versioned/{name}")
    with pytest.raises(UnreadableRecordError, match="it is not a JSON object"):
        records.update(name, constant({"turn": 3}))
    records.update(name, lambda body: {"turn": (body or {})["turn"] + 1}, mends=True)
    assert records.body(name) == {"turn": 3}
    assert records.content(f"control/.unreadable/{name}/{damaged}") == b"[]"


def test_the_names_below_a_prefix_are_listed(records: Records) -> None:
    for name in ("images/begun/a.json", "images/begun/b.json", "images/begun/c.json", "images/record.json"):
        records.update(name, constant({}))
    assert list(records.below("images/begun/")) == [f"images/begun/{each}.json" for each in "abc"]
    assert list(records.below("nothing/")) == []


def test_a_record_that_stays_as_it_is_is_not_written(records: Records) -> None:
    first = records.update("manifests/ci.json", constant({"pools": ["a"], "version": 1}))
    second = records.update("manifests/ci.json", constant({"version": 1, "pools": ("a",)}))
    assert second.changed is False
    same = [records.update_content("runner/x", lambda _: b"a", "text/plain").changed for _ in range(2)]
    assert same == [True, False]
    assert second.generation == first.generation


def test_a_writer_that_loses_a_race_decides_again_on_the_newer_record(records: Records) -> None:
    records.update("runner/current.json", constant({"images": {}}))
    seen: list[Body | None] = []

    def decide(current: Body | None) -> Body:
        if not seen:
            records.update("runner/current.json", constant({"images": {"us-west4": "new"}}))
        seen.append(current)
        return {**(current or {}), "bundle": "b"}

    assert records.update("runner/current.json", decide).changed
    read = records.read("runner/current.json")
    assert read is not None
    assert read.body == {"images": {"us-west4": "new"}, "bundle": "b"}
    assert len(seen) == 2


def test_a_writer_that_always_loses_gives_up_and_says_so(records: Records) -> None:
    count = iter(range(100))

    def decide(_: Body | None) -> Body:
        records.update("manifests/ci.json", constant({"n": next(count)}))
        return {"by": "me"}

    with pytest.raises(GoogleError, match=f"{ATTEMPTS} times in a row; run the command again"):
        records.update("manifests/ci.json", decide)


def test_an_object_named_by_its_content_is_written_once(records: Records) -> None:
    first = records.put_once("runner/bundles/abc.tar.gz", b"content", "application/gzip")
    second = records.put_once("runner/bundles/abc.tar.gz", b"other content", "application/gzip")
    assert first.changed
    assert not second.changed
    assert first.generation == second.generation


@pytest.mark.parametrize("content", [b"no JSON", b"", b"\xff", b"[" * 100_000], ids=["text", "empty", "bytes", "deep"])
def test_a_record_that_is_not_json_is_an_error_that_names_it(records: Records, content: bytes) -> None:
    records.put_once("manifests/ci.json", content, "application/json")
    with pytest.raises(GoogleError, match=r"reading gs://a-lab-tidepool-ci/manifests/ci.json failed: it is not JSON"):
        records.read("manifests/ci.json")


def test_an_object_is_put_without_being_looked_up_which_a_writer_that_may_not_list_could_not(
    cloud: TestCloud, records: Records
) -> None:
    cloud.control.fail("error", code=403, method="storage.objects.get")
    assert records.put_once("images/tpu-ci/abc/sbom.json", b"{}", "application/json").changed
