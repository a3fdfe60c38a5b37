"""Cloud Storage through Google's own client: buckets, objects, preconditions, uploads."""

from __future__ import annotations

import base64
import hashlib
import io
import itertools
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import urllib3
from googleapiclient.errors import HttpError
from googleapiclient.http import MediaInMemoryUpload, MediaIoBaseDownload
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

PROJECT = "storage-lab"
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def storage(client):
    return client("storage")


@pytest.fixture(scope="module")
def make_bucket(storage):
    def make(**body):
        name = f"storage-lab-{next(NUMBERS)}"
        storage.buckets().insert(project=PROJECT, body={"name": name, **body}).execute()
        return name

    return make


@pytest.fixture
def bucket(make_bucket):
    return make_bucket()


@pytest.fixture(scope="module")
def put(storage):
    """Write an object in one request; further arguments are those of `objects.insert`."""

    def put(bucket, name, data=b"data", kind="text/plain", **more):
        body = more.pop("body", {})
        media = MediaInMemoryUpload(data, mimetype=kind)
        return storage.objects().insert(bucket=bucket, name=name, body=body, media_body=media, **more).execute()

    return put


@pytest.fixture(scope="module")
def read(storage):
    def read(bucket, name, **more):
        return storage.objects().get_media(bucket=bucket, object=name, **more).execute()

    return read


# Buckets


def test_a_bucket_gives_back_what_it_was_sent_and_the_service_s_defaults(storage, client):
    sent: dict[str, Any] = {
        "name": "echoed-bucket",
        "storageClass": "NEARLINE",
        "labels": {"team": "ci"},
        "versioning": {"enabled": True},
        "lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"numNewerVersions": 5, "isLive": False}}]},
        "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"},
    }
    storage.buckets().insert(project=PROJECT, body={**sent, "location": "us-central1"}).execute()
    got = storage.buckets().get(bucket="echoed-bucket").execute()
    configuration = sent.pop("iamConfiguration")
    assert {key: got[key] for key in sent} == sent
    assert got["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"] is True
    assert got["iamConfiguration"]["publicAccessPrevention"] == configuration["publicAccessPrevention"]
    assert (got["location"], got["locationType"]) == ("US-CENTRAL1", "region")
    assert got["softDeletePolicy"]["retentionDurationSeconds"] == "604800"
    number = client("cloudresourcemanager").projects().get(projectId=PROJECT).execute()["projectNumber"]
    assert got["projectNumber"] == number


def test_a_patch_merges_and_null_removes(storage, make_bucket):
    bucket = make_bucket(labels={"a": "1", "b": "2"}, versioning={"enabled": True})
    patch = {"labels": {"a": None, "c": "3"}, "versioning": None, "softDeletePolicy": {"retentionDurationSeconds": "0"}}
    got = storage.buckets().patch(bucket=bucket, body=patch).execute()
    assert got["labels"] == {"b": "2", "c": "3"}
    assert "versioning" not in got
    assert got["softDeletePolicy"]["retentionDurationSeconds"] == "0"
    assert got["metageneration"] == "2"


def test_location_and_name_of_a_bucket_never_change(storage, bucket, refused):
    refused(400, storage.buckets().patch(bucket=bucket, body={"location": "EU"}))
    storage.buckets().patch(bucket=bucket, body={"location": "us"}).execute()


@pytest.mark.parametrize(
    "name", ["ab", "Upper", "-dash", "dash-", "goog-x", "my-google-x", "10.0.0.1", "a..b", "x" * 64]
)
def test_a_bucket_name_outside_the_rule_is_refused(storage, refused, name):
    assert (
        refused(400, storage.buckets().insert(project=PROJECT, body={"name": name}))["errors"][0]["reason"] == "invalid"
    )


def test_bucket_names_are_one_for_all_projects(storage, bucket, refused):
    assert "already own" in refused(409, storage.buckets().insert(project=PROJECT, body={"name": bucket}))["message"]
    other = refused(409, storage.buckets().insert(project="other-lab", body={"name": bucket}))
    assert "not available" in other["message"]


def test_a_bucket_with_anything_in_it_stays(storage, make_bucket, put, refused):
    bucket = make_bucket(versioning={"enabled": True})
    put(bucket, "a")
    refused(409, storage.buckets().delete(bucket=bucket))
    storage.objects().delete(bucket=bucket, object="a").execute()
    refused(409, storage.buckets().delete(bucket=bucket))
    for each in storage.objects().list(bucket=bucket, versions=True).execute()["items"]:
        storage.objects().delete(bucket=bucket, object="a", generation=each["generation"]).execute()
    assert storage.buckets().delete(bucket=bucket).execute() == ""
    refused(404, storage.buckets().get(bucket=bucket))


def test_metageneration_preconditions_guard_a_bucket(storage, bucket, refused):
    storage.buckets().patch(bucket=bucket, body={"labels": {"a": "1"}}, ifMetagenerationMatch="1").execute()
    refused(412, storage.buckets().patch(bucket=bucket, body={"labels": {"a": "2"}}, ifMetagenerationMatch="1"))
    refused(412, storage.buckets().delete(bucket=bucket, ifMetagenerationNotMatch="2"))


def test_buckets_are_listed_for_one_project_alone(storage, make_bucket):
    names = {make_bucket(), make_bucket()}
    storage.buckets().insert(project="listing-lab", body={"name": "listing-lab-bucket"}).execute()
    listed = storage.buckets().list(project="listing-lab").execute()["items"]
    assert [each["name"] for each in listed] == ["listing-lab-bucket"]
    assert names <= {each["name"] for each in storage.buckets().list(project=PROJECT).execute()["items"]}


def test_a_new_bucket_grants_the_basic_roles_of_its_project(storage, bucket):
    got = storage.buckets().getIamPolicy(bucket=bucket).execute()
    assert {each["role"] for each in got["bindings"]} == {
        "roles/storage.legacyBucketOwner",
        "roles/storage.legacyBucketReader",
    }
    assert got["resourceId"] == f"projects/_/buckets/{bucket}"


def test_the_slash_that_the_provider_adds_is_forgiven(google, bucket):
    with urllib.request.urlopen(f"{google.url}/storage/v1/b/{bucket}/anywhereCaches/?alt=json") as answer:
        assert answer.status == 200


# Objects


def test_an_object_says_its_checksums_size_and_generation(put, bucket, storage):
    made = put(bucket, "dir/a file.txt", b"hello", body={"metadata": {"k": "v"}})
    assert made["md5Hash"] == base64.b64encode(hashlib.md5(b"hello").digest()).decode()
    assert made["crc32c"] == "mnG7TA=="
    assert (made["size"], made["metageneration"], made["contentType"]) == ("5", "1", "text/plain")
    assert storage.objects().get(bucket=bucket, object="dir/a file.txt").execute() == made


def test_a_wrong_checksum_stores_nothing(put, bucket, storage, refused):
    media = MediaInMemoryUpload(b"hello", mimetype="text/plain")
    body = {"md5Hash": base64.b64encode(bytes(16)).decode()}
    refused(400, storage.objects().insert(bucket=bucket, name="x", body=body, media_body=media))
    refused(404, storage.objects().get(bucket=bucket, object="x"))


@settings(deadline=None, max_examples=40)
@given(data=st.binary(max_size=3000), resumable=st.booleans())
@example(data=b"ends with a return\r", resumable=False)
@example(data=b"\r\nlines\n\r\n", resumable=False)
@example(data=b"", resumable=True)
def test_any_bytes_come_back_by_every_way_of_upload(storage, make_bucket, read, data, resumable):
    bucket = _shared(make_bucket)
    media = MediaInMemoryUpload(data, mimetype="application/octet-stream", resumable=resumable)
    storage.objects().insert(bucket=bucket, name="any", body={}, media_body=media).execute()
    assert read(bucket, "any") == data


_SHARED: list[str] = []


def _shared(make_bucket):
    if not _SHARED:
        _SHARED.append(make_bucket())
    return _SHARED[0]


def test_a_large_file_goes_up_and_down_in_chunks(storage, bucket):
    data = bytes(range(256)) * 4096
    upload = MediaInMemoryUpload(data, mimetype="application/gzip", chunksize=256 * 1024, resumable=True)
    request = storage.objects().insert(bucket=bucket, name="large", body={}, media_body=upload, ifGenerationMatch="0")
    answer = None
    while answer is None:
        _, answer = request.next_chunk()
    assert answer["size"] == str(len(data))
    target = io.BytesIO()
    download = MediaIoBaseDownload(
        target, storage.objects().get_media(bucket=bucket, object="large"), chunksize=300_000
    )
    done = False
    while not done:
        _, done = download.next_chunk()
    assert target.getvalue() == data


def test_metadata_changes_raise_the_metageneration_alone(storage, put, bucket):
    made = put(bucket, "a", body={"metadata": {"x": "1", "y": "2"}})
    changed = storage.objects().patch(bucket=bucket, object="a", body={"metadata": {"x": None, "z": "3"}}).execute()
    assert changed["metadata"] == {"y": "2", "z": "3"}
    assert (changed["generation"], changed["metageneration"]) == (made["generation"], "2")
    assert changed["etag"] != made["etag"]


def test_versioning_keeps_what_was_overwritten_or_deleted(storage, make_bucket, put, read, refused):
    bucket = make_bucket(versioning={"enabled": True})
    first, second = put(bucket, "a", b"one"), put(bucket, "a", b"two")
    storage.objects().delete(bucket=bucket, object="a").execute()
    refused(404, storage.objects().get(bucket=bucket, object="a"))
    assert "items" not in storage.objects().list(bucket=bucket).execute()
    listed = storage.objects().list(bucket=bucket, versions=True).execute()["items"]
    assert [each["generation"] for each in listed] == [first["generation"], second["generation"]]
    assert all("timeDeleted" in each for each in listed)
    assert read(bucket, "a", generation=first["generation"]) == b"one"


def test_without_versioning_an_overwritten_generation_is_gone(storage, put, bucket, refused):
    first = put(bucket, "a", b"one")
    put(bucket, "a", b"two")
    refused(404, storage.objects().get(bucket=bucket, object="a", generation=first["generation"]))


def test_listing_folds_names_at_the_delimiter(storage, put, bucket):
    for name in ("a.txt", "b/1", "b/2", "b/c/3", "d/4"):
        put(bucket, name)
    top = storage.objects().list(bucket=bucket, delimiter="/").execute()
    assert ([each["name"] for each in top["items"]], top["prefixes"]) == (["a.txt"], ["b/", "d/"])
    below = storage.objects().list(bucket=bucket, delimiter="/", prefix="b/").execute()
    assert ([each["name"] for each in below["items"]], below["prefixes"]) == (["b/1", "b/2"], ["b/c/"])
    glob = storage.objects().list(bucket=bucket, matchGlob="b/*").execute()
    assert [each["name"] for each in glob["items"]] == ["b/1", "b/2"]
    bounds = storage.objects().list(bucket=bucket, startOffset="b/2", endOffset="d/4").execute()
    assert [each["name"] for each in bounds["items"]] == ["b/2", "b/c/3"]


@settings(deadline=None, max_examples=20)
@given(
    names=st.sets(st.text(st.sampled_from("ab/#é"), min_size=1, max_size=5), min_size=1, max_size=8),
    size=st.integers(1, 4),
    delimiter=st.sampled_from(["", "/"]),
)
def test_pages_of_a_listing_join_to_the_whole(storage, make_bucket, put, names, size, delimiter):
    bucket = make_bucket(versioning={"enabled": True})
    for name in sorted(names):
        put(bucket, name)
        put(bucket, name)
    for versions in (False, True):
        shape = {"bucket": bucket, "versions": versions, **({"delimiter": delimiter} if delimiter else {})}
        whole = storage.objects().list(**shape).execute()
        seen, prefixes, request = [], [], storage.objects().list(maxResults=size, **shape)
        while request is not None:
            answer = request.execute()
            items = answer.get("items", [])
            assert len(items) + len(answer.get("prefixes", [])) <= size
            seen += items
            prefixes += answer.get("prefixes", [])
            request = storage.objects().list_next(request, answer)
        assert seen == whole.get("items", [])
        assert prefixes == whole.get("prefixes", [])
        if not delimiter:
            expected = [name for name in sorted(names) for _ in range(2 if versions else 1)]
            assert [each["name"] for each in seen] == expected


def test_copy_rewrite_and_compose_make_new_objects(storage, put, make_bucket, bucket, read, refused):
    other = make_bucket()
    made = put(bucket, "a", b"one", body={"metadata": {"k": "v"}})
    where = {"sourceBucket": bucket, "sourceObject": "a", "destinationBucket": other}
    copied = storage.objects().copy(**where, destinationObject="copy", body={}).execute()
    assert (copied["metadata"], copied["md5Hash"]) == ({"k": "v"}, made["md5Hash"])
    refused(412, storage.objects().copy(**where, destinationObject="no", body={}, ifSourceGenerationMatch="1"))
    rewritten = storage.objects().rewrite(**where, destinationObject="rewrite", body={}).execute()
    assert rewritten["done"] is True
    body = {"sourceObjects": [{"name": "copy"}, {"name": "rewrite"}]}
    storage.objects().compose(destinationBucket=other, destinationObject="both", body=body).execute()
    assert read(other, "both") == b"oneone"


def test_part_of_an_object_is_read_by_range(google, put, bucket):
    made = put(bucket, "a", b"0123456789")
    for asked, expected in (("bytes=2-4", b"234"), ("bytes=7-", b"789"), ("bytes=-2", b"89"), ("bytes=8-99", b"89")):
        request = urllib.request.Request(made["mediaLink"], headers={"Range": asked})
        with urllib.request.urlopen(request) as answer:
            assert (answer.status, answer.read()) == (206, expected)


def test_a_read_can_ask_for_what_changed_alone(storage, put, bucket):
    made = put(bucket, "a")
    request = storage.objects().get(bucket=bucket, object="a", ifGenerationNotMatch=made["generation"])
    with pytest.raises(HttpError) as caught:
        request.execute()
    assert caught.value.status_code == 304


def test_an_unknown_bucket_and_object_are_told_apart(storage, bucket, refused):
    assert "bucket" in refused(404, storage.objects().get(bucket="no-such-bucket-here", object="a"))["message"]
    assert f"{bucket}/a" in refused(404, storage.objects().get(bucket=bucket, object="a"))["message"]


# Preconditions


def test_generation_zero_means_only_when_absent(storage, put, bucket, refused):
    put(bucket, "lock", ifGenerationMatch="0")
    media = MediaInMemoryUpload(b"second")
    insert = storage.objects().insert(bucket=bucket, name="lock", body={}, media_body=media, ifGenerationMatch="0")
    assert refused(412, insert)["errors"][0]["reason"] == "conditionNotMet"


class Writers(RuleBasedStateMachine):
    """Several writers of one object, each with the generation it read last: compare-and-swap must hold throughout."""

    storage: Any
    make_bucket: Any
    put: Any
    seen = Bundle("seen")

    @initialize(versioned=st.booleans(), target=seen)
    def begin(self, versioned):
        self.bucket = self.make_bucket(**({"versioning": {"enabled": True}} if versioned else {}))
        self.current, self.last, self.content = 0, 0, None
        return 0

    def _write(self, **conditions):
        self.text = f"write {next(NUMBERS)}".encode()
        return int(self.put(self.bucket, "record", self.text, **conditions)["generation"])

    def _wrote(self, generation):
        assert generation > self.last, "a generation must be above all before it, deletions included"
        self.current = self.last = generation
        self.content = self.text
        return generation

    @rule(target=seen)
    def write_anyway(self):
        return self._wrote(self._write())

    @rule(target=seen, known=seen)
    def swap(self, known):
        if known == self.current:
            return self._wrote(self._write(ifGenerationMatch=str(known)))
        with pytest.raises(HttpError, match="412"):
            self._write(ifGenerationMatch=str(known))
        return self.current

    @rule(target=seen, known=seen)
    def write_unless(self, known):
        if known != self.current:
            return self._wrote(self._write(ifGenerationNotMatch=str(known)))
        with pytest.raises(HttpError, match="412"):
            self._write(ifGenerationNotMatch=str(known))
        return self.current

    @rule(known=seen)
    def delete_if(self, known):
        request = self.storage.objects().delete(bucket=self.bucket, object="record", ifGenerationMatch=str(known))
        if self.current and known == self.current:
            request.execute()
            self.current, self.content = 0, None
        else:
            with pytest.raises(HttpError, match=r"412|404"):
                request.execute()

    @rule()
    def look(self):
        request = self.storage.objects().get_media(bucket=self.bucket, object="record")
        if self.current:
            assert request.execute() == self.content
        else:
            with pytest.raises(HttpError, match="404"):
                request.execute()


def test_a_precondition_never_lets_two_writers_win(still_client):
    """Also while the clock stands still, so nothing but the generation tells two writes apart."""
    storage = still_client("storage")

    def make_bucket(**body):
        name = f"writers-{next(NUMBERS)}"
        storage.buckets().insert(project=PROJECT, body={"name": name, **body}).execute()
        return name

    def put(bucket, name, data, **conditions):
        media = MediaInMemoryUpload(data)
        return storage.objects().insert(bucket=bucket, name=name, media_body=media, **conditions).execute()

    class Bound(Writers):
        pass

    Bound.storage, Bound.make_bucket, Bound.put = storage, staticmethod(make_bucket), staticmethod(put)
    run_state_machine_as_test(Bound, settings=settings(deadline=None, max_examples=25, stateful_step_count=20))


def test_racing_writers_over_real_connections_have_one_winner(google, make_bucket):
    """Eight threads send the same precondition at once, ten rounds."""
    bucket, generation = make_bucket(), "0"

    def write(known):
        url = f"{google.url}/upload/storage/v1/b/{bucket}/o?uploadType=media&name=race&ifGenerationMatch={known}"
        return pool.request("POST", url, body=b"x", headers={"Content-Type": "text/plain"}, retries=False)

    with urllib3.PoolManager(maxsize=8) as pool, ThreadPoolExecutor(8) as threads:
        for _ in range(10):
            answers = list(threads.map(write, [generation] * 8))
            assert sorted(answer.status for answer in answers) == [200, *[412] * 7]
            newer = next(answer.json()["generation"] for answer in answers if answer.status == 200)
            assert int(newer) > int(generation)
            generation = newer
