"""Uploads of bytes: whatever way a client chooses, the same bytes arrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest
from googleapiclient.http import MediaIoBaseUpload
from hypothesis import given
from hypothesis import strategies as st

from infra.local.cloud import media
from infra.local.cloud.errors import ApiError
from infra.local.cloud.registry import Media
from infra.local.cloud.store import Store
from infra.local.cloud.testing import TestCloud
from infra.local.cloud.uploads import Uploads
from infra.local.cloud.wire import Reply, Request

START = "/upload/storage/v1/b/bucket/o"


@given(st.binary(), st.dictionaries(st.text(), st.text()))
def test_a_multipart_body_gives_back_what_was_put_in(data: bytes, described: dict[str, str]) -> None:
    content_type, body = media.composed(json.dumps(described).encode(), Media("text/x-test", data))
    assert media.multipart(content_type, body) == (described, Media("text/x-test", data))


@given(st.binary())
def test_a_multipart_body_with_bare_newlines_loses_no_byte(data: bytes) -> None:
    opening = b"--b\nContent-Type: application/json\n\n{}\n--b\nContent-Type: a/b\n\n"
    assert media.multipart("multipart/related; boundary=b", opening + data + b"\n--b--")[1].data == data


@pytest.mark.parametrize("body", [b"", b"--b--", b"--b\r\n\r\n{}\r\n--b--", b"--b\r\nx\r\n--b\r\ny\r\n--b--"])
def test_a_broken_multipart_body_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError):
        media.multipart("multipart/related; boundary=b", body)


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store()
    yield made
    made.close()


def put(uploads: Uploads, location: str, data: bytes, content_range: str | None) -> Reply | Request:
    headers = {} if content_range is None else {"content-range": content_range}
    path, _, query = location.removeprefix("http://cloud").partition("?")
    return uploads.step(Request("PUT", path, query, headers, data, "http://cloud"), 0.0)


def begun(uploads: Uploads) -> str:
    headers = {"x-upload-content-type": "text/plain"}
    request = Request("POST", START, "uploadType=resumable&name=n", headers, b'{"metadata":{"a":"b"}}', "http://cloud")
    reply = uploads.step(request, 0.0)
    assert isinstance(reply, Reply)
    return reply.headers["location"]


def test_a_session_collects_chunks_and_becomes_one_upload(store: Store) -> None:
    uploads = Uploads(store)
    location = begun(uploads)
    first = put(uploads, location, b"abc", "bytes 0-2/*")
    assert isinstance(first, Reply)
    assert (first.status, first.headers["range"]) == (308, "bytes=0-2")
    asked = put(uploads, location, b"", "bytes */5")
    assert isinstance(asked, Reply)
    assert asked.headers["range"] == "bytes=0-2"
    again = put(uploads, location, b"cd", "bytes 2-3/5")
    assert isinstance(again, Reply), "a chunk may repeat what is there"
    whole = put(uploads, location, b"e", "bytes 4-4/5")
    assert isinstance(whole, Request)
    assert (whole.verb, whole.path, "name=n" in whole.query) == ("POST", START, True)
    described, attached = media.multipart(whole.headers["content-type"], whole.data)
    assert (described, attached) == ({"metadata": {"a": "b"}}, Media("text/plain", b"abcde"))
    with pytest.raises(ApiError):
        put(uploads, location, b"", None)


@pytest.mark.parametrize("content_range", ["bytes 7-8/9", "items 0-1/2", "bytes 0-1"])
def test_a_chunk_that_does_not_fit_is_refused(store: Store, content_range: str) -> None:
    uploads = Uploads(store)
    with pytest.raises(ApiError):
        put(uploads, begun(uploads), b"ab", content_range)


@pytest.mark.parametrize("resumable", [False, True])
def test_googles_client_uploads_and_downloads_the_same_bytes(
    cloud: TestCloud, google: Callable[..., Any], resumable: bool
) -> None:
    storage = google(cloud.url, "storage", "v1")
    storage.buckets().insert(project="lab", body={"name": "bucket-of-tests"}).execute()
    data = bytes(range(256)) * 3000
    upload = MediaIoBaseUpload(BytesIO(data), "application/x-bytes", chunksize=256 * 1024, resumable=resumable)
    request = storage.objects().insert(
        bucket="bucket-of-tests", name="a/b c", body={"metadata": {"k": "v"}}, media_body=upload
    )
    made = request.execute()
    assert (made["size"], made["contentType"], made["metadata"]) == (str(len(data)), "application/x-bytes", {"k": "v"})
    assert storage.objects().get_media(bucket="bucket-of-tests", object="a/b c").execute() == data
