"""Requests of a VM end, whoever is at the other end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

import pytest

from infra.fleet.runner.supervisor import wire
from infra.fleet.runner.supervisor.wire import UnansweredError, ask

HEAD = b"HTTP/1.1 200 OK\r\nRetry-After: 7\r\n"


@contextmanager
def peer(says: Callable[[socket.socket], None]) -> Generator[str]:
    """Somebody who accepts one connection and says that; the address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            # Who asked may be gone by then.
            with suppress(OSError):
                says(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/path?query=1"
    finally:
        listener.close()
        thread.join(timeout=10)


def test_an_answer_is_its_status_its_headers_and_its_content() -> None:
    with peer(lambda connection: connection.sendall(HEAD + b"Content-Length: 2\r\n\r\nok")) as url:
        answer = ask("GET", url, seconds=20)
    assert (answer.status, answer.headers["retry-after"], answer.content) == (200, "7", b"ok")


def test_who_answers_a_byte_now_and_then_holds_nobody_up() -> None:
    over = threading.Event()

    def trickles(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Content-Length: 99\r\n\r\n")
        while not over.wait(0.02):
            connection.sendall(b".")

    with peer(trickles) as url:
        try:
            with pytest.raises(UnansweredError, match=r"no answer within 0\.3 s"):
                ask("GET", url, seconds=0.3)
        finally:
            over.set()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"no HTTP\r\n\r\n",
        HEAD + b"Content-Length: 9\r\n\r\nshort",
        HEAD + b"Content-Length: 65\r\n\r\n" + b"x" * 65,
    ],
)
def test_what_is_no_whole_answer_is_none(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 64)
    with peer(lambda connection: connection.sendall(said)) as url, pytest.raises(UnansweredError):
        ask("GET", url, seconds=20)
