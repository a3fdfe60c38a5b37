"""No page in a browser of this machine drives the local cloud: not by its name nor its origin."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

import pytest

from bench.cloud.testing import TestCloud

PATHS = ("/_tidepool/status", "/_tidepool/reset", "/v2/projects/p/locations", "/github/user", "/storage/v1/b?project=p")


def status(cloud: TestCloud, path: str, verb: str = "GET", **headers: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(cloud.url).netloc, timeout=10)
    try:
        connection.putrequest(verb, path, skip_host=True)
        for name, value in ({"Host": urlsplit(cloud.url).netloc} | headers).items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", "0")
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("verb", ["GET", "POST"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "localhost.evil",
        "localhost",
        "127.0.0.1:1",
        "evil.example@127.0.0.1:{port}",
        "127.0.0.1:{port}/evil.example",
        "localhost:{port}.evil",
        "0:{port}",
    ],
)
def test_a_page_whose_name_leads_here_is_refused(cloud: TestCloud, path: str, verb: str, host: str) -> None:
    assert status(cloud, path, verb, Host=host.format(port=urlsplit(cloud.url).port)) == 403


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:1", "http://localhost", "null", ""])
def test_a_page_of_another_origin_is_refused(cloud: TestCloud, path: str, origin: str) -> None:
    assert status(cloud, path, "POST", Origin=origin) == 403


def test_programs_of_this_machine_are_served_by_any_of_its_names(cloud: TestCloud) -> None:
    port = urlsplit(cloud.url).port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
        assert status(cloud, "/_tidepool/status", "POST", Host=host) == 200
    assert status(cloud, "/_tidepool/status", "POST", Origin=cloud.url) == 200
    assert status(cloud, "/_tidepool/reset") == 404, "a page may GET without an origin"


def test_a_request_with_two_lengths_is_refused_and_nothing_after_it_is_heard(cloud: TestCloud) -> None:
    where = urlsplit(cloud.url)
    both = "Content-Length: 4\r\nTransfer-Encoding: chunked"
    one = f"POST /_tidepool/advance HTTP/1.1\r\nHost: {where.netloc}\r\n{both}\r\n\r\n"
    two = f"GET /_tidepool/status HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n"
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=10) as connection:
        connection.sendall(f"{one}0\r\n\r\n{two}".encode())
        heard = b""
        while part := connection.recv(65536):
            heard += part
    assert heard.startswith(b"HTTP/1.1 400 ")
    assert heard.count(b"HTTP/1.1 ") == 1
