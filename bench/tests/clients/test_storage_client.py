"""google-cloud-storage walks the life of a bucket and its objects."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage


@pytest.fixture(scope="module")
def store(google):
    options = {"api_endpoint": google.url}
    made = storage.Client(project="client-lab", credentials=AnonymousCredentials(), client_options=options)
    yield made
    made.close()


def test_a_bucket_lives_from_create_to_delete(store):
    made = store.create_bucket("client-lab-life", location="us-east1")
    made.labels = {"team": "a"}
    made.patch(if_metageneration_match=made.metageneration)
    assert store.get_bucket("client-lab-life").labels == {"team": "a"}
    assert [each.name for each in store.list_buckets(prefix="client-lab-l", page_size=1)] == ["client-lab-life"]
    made.delete()
    assert not made.exists()


def test_an_object_lives_from_upload_to_delete(store):
    bucket = store.create_bucket("client-lab-shared", location="us-east1")
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
    bucket.delete_blobs(list(bucket.list_blobs(prefix="life/")))
    assert not blob.exists()
