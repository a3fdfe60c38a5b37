"""Objects in buckets: content is uploaded again where it differs, whoever changed it, and is never read back."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
import urllib3

from bench.cloud.testing import TestCloud
from bench.engine.provider import UNKNOWN
from bench.providers.google import GoogleProvider

TOKEN = "gcp:storage/bucketObject:BucketObject"
NAME = "fleet/manifest v1.json"
INPUTS = {"bucket": "fleet-records", "name": NAME, "content": "one\n", "contentType": "text/plain"}


@pytest.fixture
def bucket(provider: GoogleProvider, virtual: Any) -> None:
    token = "gcp:storage/bucket:Bucket"
    checked = provider.check(token, {"name": "fleet-records", "location": "US"})
    provider.create(token, checked.inputs, None, virtual)


def checked(provider: GoogleProvider, **changed: Any) -> dict[str, Any]:
    return provider.check(TOKEN, {**INPUTS, **changed}).inputs


@pytest.mark.usefixtures("bucket")
def test_content_that_somebody_else_wrote_is_written_over(
    cloud: TestCloud, provider: GoogleProvider, virtual: Any
) -> None:
    inputs = checked(provider)
    made = provider.create(TOKEN, inputs, None, virtual)
    url = f"{cloud.url}/upload/storage/v1/b/fleet-records/o?uploadType=media&name={quote(NAME, safe='')}"
    assert urllib3.request("POST", url, body=b"drift", headers={"Content-Type": "text/plain"}).status == 200

    read = provider.read(TOKEN, made.id, inputs)
    assert read is not None
    assert read.outputs["content"] == "one\n", "content itself is never read"
    assert provider.diff(TOKEN, made.id, read.inputs, read.outputs, inputs).detailed.keys() == {
        "detectMd5hash",
        "md5hash",
        "crc32c",
        "generation",
    }
    outputs = provider.update(TOKEN, made.id, read.outputs, inputs, virtual)
    url = f"{cloud.url}/storage/v1/b/fleet-records/o/{quote(NAME, safe='')}?alt=media"
    assert urllib3.request("GET", url).data == b"one\n"
    assert provider.diff(TOKEN, made.id, inputs, outputs, inputs).detailed == {}


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize("content", ["two\n", UNKNOWN])
def test_a_preview_of_new_content_does_not_know_its_hashes(
    content: Any, provider: GoogleProvider, virtual: Any
) -> None:
    inputs, edited = checked(provider), checked(provider, content=content)
    made = provider.create(TOKEN, inputs, None, virtual)
    assert provider.diff(TOKEN, made.id, inputs, made.outputs, edited).detailed["content"].replaces is False
    foreseen = provider.preview_outputs(TOKEN, edited, made.outputs)
    assert not {"md5hash", "crc32c", "generation"} & foreseen.keys()
    assert foreseen["selfLink"] == made.outputs["selfLink"]
    assert provider.preview_outputs(TOKEN, inputs, made.outputs)["md5hash"] == made.outputs["md5hash"]
