"""Objects in buckets: content is uploaded again where it differs, whoever changed it, and is never read back."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
import urllib3

from bench.cloud.testing import TestCloud
from bench.engine.provider import UNKNOWN, ProviderError
from bench.providers.google import GoogleProvider

BUCKET, OBJECT = "gcp:storage/bucket:Bucket", "gcp:storage/bucketObject:BucketObject"
NAME = "fleet/manifest v1.json"
INPUTS = {"bucket": "fleet-records", "name": NAME, "content": "one\n", "contentType": "text/plain"}
HASHES = {"md5hash", "crc32c", "generation"}


def test_the_declared_content_stands(cloud: TestCloud, provider: GoogleProvider, virtual: Any) -> None:
    bucket = provider.create(BUCKET, {"name": "fleet-records", "location": "US"}, None, virtual)
    inputs = provider.check(OBJECT, INPUTS).inputs
    made = provider.create(OBJECT, inputs, None, virtual)
    for content in ("two\n", UNKNOWN):
        edited = {**inputs, "content": content}
        assert provider.diff(OBJECT, made.id, inputs, made.outputs, edited).detailed["content"].replaces is False
        foreseen = provider.preview_outputs(OBJECT, edited, made.outputs)
        assert made.outputs.keys() - foreseen.keys() == HASHES, "nobody knows the hashes of new content"
    assert provider.preview_outputs(OBJECT, inputs, made.outputs) == made.outputs

    url = f"{cloud.url}/upload/storage/v1/b/fleet-records/o?uploadType=media&name={quote(NAME, safe='')}"
    urllib3.request("POST", url, body=b"drift", headers={"Content-Type": "text/plain"})
    read = provider.read(OBJECT, made.id, inputs)
    assert read is not None
    assert read.outputs["content"] == "one\n", "content itself is never read"
    drift = provider.diff(OBJECT, made.id, read.inputs, read.outputs, inputs).detailed
    assert drift.keys() == {"detectMd5hash", *HASHES}
    outputs = provider.update(OBJECT, made.id, read.outputs, inputs, virtual)
    url = f"{cloud.url}/storage/v1/b/fleet-records/o/{quote(NAME, safe='')}?alt=media"
    assert urllib3.request("GET", url).data == b"one\n"
    assert provider.diff(OBJECT, made.id, inputs, outputs, inputs).detailed == {}
    with pytest.raises(ProviderError, match="containing objects without `forceDestroy`"):
        provider.delete(BUCKET, bucket.id, bucket.outputs, virtual)
