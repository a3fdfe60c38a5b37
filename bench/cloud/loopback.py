"""One request of a server on this machine. No proxy applies to loopback, so no client that honours one is used."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit


class NoAnswerError(Exception):
    """Nobody answers there, or with something that is no HTTP; its text says what is the matter."""


@dataclass(frozen=True, slots=True)
class LoopbackAnswer:
    """headers: by their names in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def asked(
    root: str,
    verb: str,
    path: str,
    body: bytes | str | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    seconds: float,
) -> LoopbackAnswer:
    """root: `http://host:port`. seconds: for each step of the exchange. Raises NoAnswerError."""
    parts = urlsplit(root)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request(verb, path, body, dict(headers or {}))
        response = connection.getresponse()
        named = {name.lower(): value for name, value in response.getheaders()}
        return LoopbackAnswer(response.status, response.read(), named)
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswerError(str(error)) from error
    finally:
        connection.close()
