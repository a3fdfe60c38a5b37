"""google-cloud-storage walks the life of a bucket and its objects."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def store(google):
    options = {"api_endpoint": google.url}
    made = storage.Client(project="client-lab", credentials=AnonymousCredentials(), client_options=options)
    yield made
    made.close()


@pytest.fixture(scope="module")
def bucket(store):
    return store.create_bucket("client-lab-shared", location="us-east1")


def test_a_bucket_lives_from_create_to_delete(store):
    made = store.create_bucket("client-lab-life", location="us-east1")
    with pytest.raises(exceptions.Conflict):
        store.create_bucket("client-lab-life")
    made.labels = {"team": "a"}
    made.patch(if_metageneration_match=made.metageneration)
    with pytest.raises(exceptions.PreconditionFailed):
        made.patch(if_metageneration_match=1)
    assert store.get_bucket("client-lab-life").labels == {"team": "a"}
    assert [each.name for each in store.list_buckets(prefix="client-lab-l", page_size=1)] == ["client-lab-life"]
    made.delete()
    with pytest.raises(exceptions.NotFound):
        store.get_bucket("client-lab-life")


def test_an_object_lives_from_upload_to_delete(bucket):
    blob = bucket.blob("life/one")
    blob.upload_from_string("one", if_generation_match=0)
    first = blob.generation
    with pytest.raises(exceptions.PreconditionFailed):
        blob.upload_from_string("two", if_generation_match=0)
    blob.upload_from_string("two", if_generation_match=first)
    assert blob.download_as_text(start=1) == "wo"
    blob.metadata = {"who": "me"}
    blob.patch(if_metageneration_match=1)
    assert bucket.get_blob("life/one").metadata == {"who": "me"}
    assert bucket.rename_blob(blob, "life/two").download_as_text() == "two"
    bucket.blob("life/both").compose([bucket.blob("life/two"), bucket.blob("life/two")])
    assert bucket.blob("life/both").download_as_text() == "twotwo"
    bucket.delete_blobs(list(bucket.list_blobs(prefix="life/")))
    assert not bucket.blob("life/two").exists()


def test_lists_have_pages_globs_and_prefixes(bucket):
    for name in ("list/a/1", "list/a/2", "list/b"):
        bucket.blob(name).upload_from_string("")
    pages = bucket.list_blobs(prefix="list/", page_size=2, fields="items(name),nextPageToken").pages
    assert [[blob.name for blob in page] for page in pages] == [["list/a/1", "list/a/2"], ["list/b"]]
    assert [blob.name for blob in bucket.list_blobs(match_glob="list/*/2")] == ["list/a/2"]
    folded = bucket.list_blobs(prefix="list/", delimiter="/")
    assert ([blob.name for blob in folded], folded.prefixes) == (["list/b"], {"list/a/"})


def test_a_large_object_comes_in_pieces(bucket):
    content = bytes(range(256)) * 4096
    blob = bucket.blob("large", chunk_size=MEGABYTE // 4)
    blob.upload_from_string(content)
    assert bucket.blob("large").download_as_bytes() == content


def test_a_policy_is_written_with_its_etag(bucket):
    policy = bucket.get_iam_policy(requested_policy_version=3)
    stale = bucket.get_iam_policy(requested_policy_version=3)
    policy.bindings.append({"role": "roles/storage.objectViewer", "members": {"allUsers"}})
    bucket.set_iam_policy(policy)
    with pytest.raises(exceptions.Conflict):
        bucket.set_iam_policy(stale)
    assert bucket.test_iam_permissions(["storage.objects.get"]) == ["storage.objects.get"]
