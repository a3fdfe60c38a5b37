"""Uploads of bytes: whatever way a client chooses, the same bytes arrive, or none."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cloud.errors import ApiError
from bench.cloud.testing import TestCloud
from bench.cloud.wire import Media, multipart
from bench.tests.cloud.cloud_clients import ask

UPLOAD = "/upload/storage/v1/b/bucket-of-tests/o"


@given(
    st.binary(), st.dictionaries(st.text(), st.text()), st.sampled_from([b"\r\n", b"\n"]), st.sampled_from(["", "'"])
)
def test_a_multipart_body_loses_no_byte(data: bytes, described: dict[str, str], end: bytes, quote: str) -> None:
    """google-api-python-client ends lines with a bare newline, and gcloud puts the boundary between apostrophes."""
    boundary = b"edge-of-a-part-that-is-in-no-data"
    lines = [b"--" + boundary, b"Content-Type: application/json", b"", json.dumps(described).encode()]
    lines += [b"--" + boundary, b"Content-Type: text/x-test", b"", data, b"--" + boundary + b"--"]
    content_type = f"multipart/related; boundary={quote}{boundary.decode()}{quote}"
    assert multipart(content_type, end.join(lines)) == (described, Media("text/x-test", data))


@pytest.mark.parametrize("body", [b"", b"--b--", b"--b\r\n\r\n{}\r\n--b--", b"--b\r\nx\r\n--b\r\ny\r\n--b--"])
def test_a_broken_multipart_body_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError):
        multipart("multipart/related; boundary=b", body)


def test_an_upload_whose_client_goes_away_in_its_middle_writes_nothing(cloud: TestCloud) -> None:
    """As Ctrl-C ends a command that writes a record: half of it must not take the place of the whole."""
    ask(cloud.url, "POST", "/storage/v1/b?project=lab", {"name": "bucket-of-tests"})
    host, port = str(urlsplit(cloud.url).hostname), urlsplit(cloud.url).port
    with socket.create_connection((host, port), timeout=10) as client:
        head = f"POST {UPLOAD}?uploadType=media&name=half HTTP/1.1"
        client.sendall(f"{head}\r\nHost: {host}:{port}\r\nContent-Length: 100\r\n\r\n8 bytes.".encode())
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1000) == b""
    assert ask(cloud.url, "GET", "/storage/v1/b/bucket-of-tests/o/half")[0] == 404
