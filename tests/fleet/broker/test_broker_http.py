"""What is not a request for a registration is turned away before anything is done with it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.fleet.broker import serve
from infra.fleet.broker.audit import AuditedRequest
from infra.fleet.broker.decide import RegistrationRequest
from infra.fleet.broker.registration import Granted
from infra.fleet.broker.requests import ControllerRequest
from infra.fleet.broker.serve import HeaderTimeoutProtocol
from infra.fleet.broker.service import WAITING, Service
from tests.fleet.broker.broker_world import STACK, VM, Reply, World

BODY = json.dumps({"stack": STACK, "vm": VM, "pool": "tpu-ci"}).encode()


@pytest.fixture
def world(still: World) -> World:
    """What is turned away changes nothing, so one world does for all."""
    return still


def no_errand(token: str, errand: ControllerRequest, audited: AuditedRequest) -> Mapping[str, Any]:
    raise AssertionError("nobody asked for one")


def raw(world: World, content: bytes, *, seconds: float = 10.0) -> bytes:
    """What comes back on a connection of one's own until the broker closes it."""
    parts = urlsplit(world.host.url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=seconds) as connection:
        connection.sendall(content)
        received = b""
        while part := connection.recv(65_536):
            received += part
        return received


def head(length: int, *lines: str) -> bytes:
    fixed = ("POST /v1/registrations HTTP/1.1", "host: broker", "authorization: Bearer a.b.c")
    return "\r\n".join([*fixed, "content-type: application/json", f"content-length: {length}", *lines, "", ""]).encode()


@pytest.mark.parametrize(
    "path",
    [
        "/", "/v1", "/v1/registrations/", "/v2/registrations", "/v1/registrations/../x", "/v1/registrations%0a",
        "//v1/registrations", "/V1/registrations", "/v1/%72egistrations%00", "/v1/registrations;a=b", "/healthz%0A",
        "/v1/runners/0?stack=ci&scope=orgs/a", f"/v1/runners/{'9' * 5000}?stack=ci&scope=orgs/a", "/v1/runners/1/2",
    ],
)  # fmt: skip
def test_nothing_else_is_there(world: World, path: str) -> None:
    verb = "DELETE" if path.startswith("/v1/runners") else "POST"
    assert world.send(BODY, verb=verb, path=path).status == 404


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "post", "X"])
def test_a_registration_is_made_with_post_alone(world: World, verb: str) -> None:
    reply = world.send(BODY, verb=verb)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"[" * 3000, b"\xff", b"{}",
        b'{"stack":"ci","vm":"a-0"}', b'{"stack":"ci","vm":"a-0","pool":"p","more":1}',
        b'{"stack":"ci","vm":"../secrets","pool":"p"}', b'{"stack":"ci","vm":"a/b","pool":"p"}',
        b'{"stack":"ci","vm":"A","pool":"p"}', b'{"stack":"ci","vm":"a\\n","pool":"p"}',
        b'{"stack":"ci","vm":"a-0","pool":"p","vm":"b-0"}',
        b'{"stack":"ci","vm":7,"pool":"p"}', b'{"stack":"ci","vm":["a"],"pool":"p"}',
        b'{"stack":"ci","vm":"' + b"a" * 64 + b'","pool":"p"}',
    ],
)  # fmt: skip
def test_a_body_that_is_not_three_names_is_refused(world: World, body: bytes) -> None:
    reply = world.send(body)
    assert (reply.status, reply.reason) == (400, "malformed")
    assert "vm" not in world.lines[-1]


def test_a_body_that_says_it_is_large_is_not_read(world: World) -> None:
    assert b" 413 " in raw(world, head(1 << 30)).partition(b"\r\n")[0]


def test_a_body_that_grows_too_large_is_cut_off(world: World) -> None:
    parts = (b"POST /v1/registrations HTTP/1.1\r\nhost: b\r\nauthorization: Bearer a.b.c\r\n",
             b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
             b"1388\r\n" + b"x" * 5000 + b"\r\n")  # fmt: skip
    answer = raw(world, b"".join(parts))
    assert b" 413 " in answer.partition(b"\r\n")[0]
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize("path", ["/v1/registrations", "/healthz", "/v1/queue?stack=ci"])
@pytest.mark.parametrize(
    "order", [("content-length: 4", "transfer-encoding: chunked"), ("Transfer-Encoding: chunked", "Content-Length: 4")]
)
def test_a_request_with_two_lengths_is_refused_and_nothing_after_it_is_heard(
    world: World, path: str, order: tuple[str, str]
) -> None:
    verb = "POST" if path == "/v1/registrations" else "GET"
    fields = "\r\n".join(order)
    smuggled = b"GET /healthz HTTP/1.1\r\nhost: b\r\n\r\n"
    first = f"{verb} {path} HTTP/1.1\r\nhost: b\r\nauthorization: Bearer a.b.c\r\n{fields}\r\n\r\n0\r\n\r\n".encode()
    answer = raw(world, first + smuggled)
    assert b" 400 " in answer.partition(b"\r\n")[0]
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "fields",
    [
        "content-length: 0\r\ncontent-length: 40", "content-length: 0, 40", "content-length: +0", "content-length: 0x0",
        "transfer-encoding: identity", "transfer-encoding: gzip, chunked", "transfer-encoding: chunked, chunked",
        "transfer-encoding: xchunked", "transfer-encoding : chunked", "x: y\n\tcontent-length: 0\r\ncontent-length: a",
        "content-length: 0\x00",
    ],
)  # fmt: skip
def test_a_length_that_servers_read_differently_ends_the_connection(world: World, fields: str) -> None:
    smuggled = "GET /healthz HTTP/1.1\r\nhost: b\r\n\r\n"
    first = f"POST /v1/registrations HTTP/1.1\r\nhost: b\r\nauthorization: Bearer a.b.c\r\n{fields}\r\n\r\n"
    answer = raw(world, f"{first}{smuggled}".encode())
    assert (answer.partition(b" ")[2][:1], answer.count(b"HTTP/1.1 "), b'"ok"' in answer) in (
        (b"4", 1, False),
        (b"5", 1, False),
    )


def test_a_body_that_drips_is_not_waited_for_longer(world: World) -> None:
    """Each part comes soon after the one before: the limit is on all of them together."""
    world.host.application = slow = serve.service(world.settings, world.lines.append, clock=world.now, body_seconds=0.2)
    parts, stopped = urlsplit(world.host.url), threading.Event()
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as connection:
        connection.sendall(head(4000))

        def drip() -> None:
            while not stopped.wait(0.02):
                with suppress(OSError):
                    connection.send(b" ")

        dripping = threading.Thread(target=drip)
        dripping.start()
        answer = connection.recv(65_536)
        stopped.set()
        dripping.join()
    slow.close()
    assert b" 408 " in answer.partition(b"\r\n")[0]


@pytest.mark.parametrize("sent", [b"", b"POST /v1/registr", b"POST /healthz HTTP/1.1\r\nhost: b\r\nx-a: "])
def test_headers_that_do_not_come_are_not_waited_for(
    world: World, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HeaderTimeoutProtocol, "header_seconds", 0.05)
    assert raw(world, sent) == b""


def test_two_tokens_are_as_good_as_none(world: World) -> None:
    answer = raw(world, head(len(BODY), "authorization: Bearer d.e.f", "connection: close") + BODY)
    assert b" 401 " in answer.partition(b"\r\n")[0]
    assert b"no-token" in answer


def test_no_more_requests_wait_than_can_be_served_soon(world: World) -> None:
    gate, lines = threading.Event(), []

    def held(token: str, request: RegistrationRequest, audited: AuditedRequest) -> Granted:
        gate.wait(20)
        return Granted(runner="r", jit="j", expires=world.now())

    crowded = Service(held, no_errand, clock=world.now, tell=lines.append)
    world.host.application = crowded
    replies: list[Reply] = []
    threads = [threading.Thread(target=lambda: replies.append(world.send(BODY))) for _ in range(WAITING + 1)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 20
    while not lines and time.monotonic() < deadline:
        time.sleep(0.005)
    gate.set()
    for thread in threads:
        thread.join()
    crowded.close()
    assert sorted(reply.status for reply in replies) == [200] * WAITING + [503]


def test_a_defect_is_a_refusal_without_its_text(world: World, caplog: pytest.LogCaptureFixture) -> None:
    def broken(token: str, request: RegistrationRequest, audited: AuditedRequest) -> Granted:
        raise ZeroDivisionError(token)

    defective = Service(broken, no_errand, clock=world.now, tell=world.lines.append)
    world.host.application = defective
    reply = world.send(BODY, token="se.cr.et")
    defective.close()
    assert (reply.status, reply.reason) == (503, "defect")
    assert "in broken" in caplog.text
    assert "se.cr.et" not in json.dumps([reply.body, world.lines, caplog.text])
