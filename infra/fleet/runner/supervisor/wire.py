"""Requests of a VM: its metadata server, the fleet bucket, the broker. No request lasts longer than it is told.

Owns HTTP. What a request means is `machine`.
"""

from __future__ import annotations

import http.client
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final
from urllib.parse import urlsplit

MOST_BYTES: Final = 1 << 25
"""Of an answer: a bundle is a hundredth of it. What other VMs may write is read too, and fills no memory."""


class UnansweredError(Exception):
    """Nobody answered, or not in time, or not in HTTP."""


@dataclass(frozen=True)
class Response:
    """headers: by lower-case name."""

    status: int
    headers: Mapping[str, str]
    content: bytes


def ask(
    verb: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None, seconds: float
) -> Response:
    """One request, without a redirect. Raises UnansweredError."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    connection = None
    try:
        with _within(seconds):
            connection = kind(parts.hostname or "", parts.port, timeout=seconds)
            connection.request(verb, path, body, dict(headers or {}))
            answer = connection.getresponse()
            content = answer.read(MOST_BYTES + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UnansweredError(f"{parts.netloc}: {str(error) or type(error).__name__}") from None
    finally:
        if connection is not None:
            connection.close()
    if answer.length and len(content) <= MOST_BYTES:
        raise UnansweredError(f"{parts.netloc}: an answer that was cut off")
    if len(content) > MOST_BYTES:
        raise UnansweredError(f"{parts.netloc}: an answer of more than {MOST_BYTES} bytes")
    return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, content)


@contextmanager
def _within(seconds: float) -> Generator[None, None, None]:
    """Raise TimeoutError when so much time has passed: a peer that answers a byte now and then holds nobody up, and
    neither does the resolver.
    """

    def late(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
