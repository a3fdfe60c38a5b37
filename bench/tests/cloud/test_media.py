"""Uploads of bytes: whatever way a client chooses, the same bytes arrive."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from googleapiclient.http import MediaIoBaseUpload
from hypothesis import given
from hypothesis import strategies as st

from bench.cloud.errors import ApiError
from bench.cloud.services.bodies import crc32c_base64
from bench.cloud.store import Store
from bench.cloud.testing import TestCloud
from bench.cloud.wire import HttpRequest, Media, Reply, Uploads, composed, multipart
from bench.tests.cloud.cloud_clients import ask

START = "/upload/storage/v1/b/bucket/o"


@given(st.binary(), st.dictionaries(st.text(), st.text()))
def test_a_multipart_body_gives_back_what_was_put_in(data: bytes, described: dict[str, str]) -> None:
    content_type, body = composed(json.dumps(described).encode(), Media("text/x-test", data))
    assert multipart(content_type, body) == (described, Media("text/x-test", data))


@given(st.binary())
def test_a_multipart_body_with_bare_newlines_loses_no_byte(data: bytes) -> None:
    opening = b"--b\nContent-Type: application/json\n\n{}\n--b\nContent-Type: a/b\n\n"
    assert multipart("multipart/related; boundary=b", opening + data + b"\n--b--")[1].data == data


@pytest.mark.parametrize("body", [b"", b"--b--", b"--b\r\n\r\n{}\r\n--b--", b"--b\r\nx\r\n--b\r\ny\r\n--b--"])
def test_a_broken_multipart_body_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError):
        multipart("multipart/related; boundary=b", body)


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store()
    yield made
    made.close()


def put(uploads: Uploads, location: str, data: bytes, content_range: str | None) -> Reply | HttpRequest:
    headers = {} if content_range is None else {"content-range": content_range}
    path, _, query = location.removeprefix("http://cloud").partition("?")
    return uploads.step(HttpRequest("PUT", path, query, headers, data, "http://cloud"), 0.0)


def begun(uploads: Uploads) -> str:
    headers = {"x-upload-content-type": "text/plain"}
    request = HttpRequest(
        "POST", START, "uploadType=resumable&name=n", headers, b'{"metadata":{"a":"b"}}', "http://cloud"
    )
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
    assert isinstance(whole, HttpRequest)
    assert (whole.verb, whole.path, "name=n" in whole.query) == ("POST", START, True)
    described, attached = multipart(whole.headers["content-type"], whole.data)
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


def session(cloud: TestCloud, **body: str) -> str:
    """The path of a new resumable session, opened as Go's client opens it."""
    ask(cloud.url, "POST", "/storage/v1/b?project=lab", {"name": "bucket-of-go"})
    query = "alt=json&name=dir%2Fbig&prettyPrint=false&uploadType=resumable"
    path = f"/upload/storage/v1/b/bucket-of-go/o?{query}"
    _, headers, _ = raw(cloud, "POST", path, json.dumps(body).encode(), {"X-Upload-Content-Type": "text/plain"})
    return headers["location"].removeprefix(cloud.url)


def raw(
    cloud: TestCloud, verb: str, path: str, data: bytes, headers: dict[str, str]
) -> tuple[int, dict[str, str], dict[str, Any]]:
    parts = urlsplit(cloud.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request(verb, path, data, headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, dict(response.getheaders()), json.loads(content) if content else {}


def test_a_session_of_gos_client_is_never_answered_with_a_redirect(cloud: TestCloud) -> None:
    """That client takes 308 for a redirect and asks for 200 with another header in its place."""
    path, go = session(cloud, bucket="bucket-of-go"), {"X-GUploader-No-308": "yes"}
    status, headers, _ = raw(cloud, "POST", path, b"x" * 262144, {**go, "Content-Range": "bytes 0-262143/*"})
    assert (status, headers["x-http-status-code-override"]) == (200, "308")
    assert headers["range"] == "bytes=0-262143"
    status, headers, made = raw(cloud, "POST", path, b"end", {**go, "Content-Range": "bytes 262144-262146/262147"})
    assert (status, made["name"], made["size"], made["contentType"]) == (200, "dir/big", "262147", "text/plain")
    assert "x-http-status-code-override" not in headers
    assert {"md5Hash", "crc32c", "generation", "mediaLink", "selfLink"} <= made.keys()


def test_a_session_that_is_cancelled_makes_no_object(cloud: TestCloud) -> None:
    path = session(cloud)
    assert raw(cloud, "DELETE", path, b"", {})[0] == 499
    assert raw(cloud, "POST", path, b"late", {"Content-Range": "bytes 0-3/4"})[0] == 404
    assert ask(cloud.url, "GET", "/storage/v1/b/bucket-of-go/o/dir%2Fbig")[0] == 404


def test_an_upload_whose_checksum_header_differs_is_refused(cloud: TestCloud) -> None:
    last = {"Content-Range": "bytes 0-3/4"}
    wrong = raw(cloud, "POST", session(cloud), b"late", {**last, "X-Goog-Hash": "crc32c=AAAAAA=="})
    assert wrong[0] == 400
    right = raw(cloud, "POST", session(cloud), b"late", {**last, "X-Goog-Hash": f"crc32c={crc32c_base64(b'late')}"})
    assert (right[0], right[2]["crc32c"]) == (200, crc32c_base64(b"late"))


def test_an_upload_whose_client_goes_away_in_its_middle_writes_nothing(cloud: TestCloud) -> None:
    """As Ctrl-C ends a command that writes a record: half of it must not take the place of the whole."""
    host, port = str(urlsplit(cloud.url).hostname), urlsplit(cloud.url).port
    with socket.create_connection((host, port), timeout=10) as client:
        head = "POST /upload/storage/v1/b/bucket-of-go/o?uploadType=media&name=half HTTP/1.1"
        client.sendall(f"{head}\r\nHost: {host}:{port}\r\nContent-Length: 100\r\n\r\n8 bytes.".encode())
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1000) == b""
    assert ask(cloud.url, "GET", "/storage/v1/b/bucket-of-go/o/half")[0] == 404


def test_an_object_under_a_hold_stays_until_the_hold_is_removed(cloud: TestCloud) -> None:
    path = session(cloud)
    made = raw(cloud, "POST", path, b"kept", {"Content-Range": "bytes 0-3/4"})[2]
    place = "/storage/v1/b/bucket-of-go/o/dir%2Fbig"
    held = ask(cloud.url, "PUT", f"{place}?projection=full", {**made, "temporaryHold": True})[1]
    assert held["temporaryHold"]
    assert ask(cloud.url, "DELETE", place)[0] == 403
    assert raw(cloud, "POST", session(cloud), b"over", {"Content-Range": "bytes 0-3/4"})[0] == 403
    free = {key: value for key, value in held.items() if key != "temporaryHold"}
    assert ask(cloud.url, "PUT", place, free)[1]["md5Hash"] == made["md5Hash"]
    until = {**free, "retention": {"mode": "Unlocked", "retainUntilTime": "2026-11-22T08:00:00Z"}}
    assert ask(cloud.url, "PUT", place, until)[0] == 200
    assert ask(cloud.url, "DELETE", place)[0] == 403
    cloud.control.advance(86401)
    assert ask(cloud.url, "DELETE", place)[0] == 204


def test_a_query_that_is_too_long_for_a_url_comes_as_a_body(cloud: TestCloud, google: Callable[..., Any]) -> None:
    buckets = google(cloud.url, "storage", "v1").buckets()
    buckets.insert(project="lab", body={"name": "bucket-of-many"}).execute()
    permissions = [f"storage.objects.get{number:04d}" for number in range(200)]
    assert buckets.testIamPermissions(bucket="bucket-of-many", permissions=permissions).execute()["permissions"]
