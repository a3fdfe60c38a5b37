"""Bodies of requests: JSON, and the multipart form in which Google's clients send bytes beside it.

Owns their parsing. Resumable uploads are `uploads`'.
"""

from __future__ import annotations

import json
from email.message import Message
from typing import Any

from infra.local.cloud.errors import invalid
from infra.local.cloud.registry import Media


def parsed_json(data: bytes) -> Any:
    """None for no bytes. Raises 400."""
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError as error:
        raise invalid(f"Invalid JSON payload received. {error}") from None


def multipart(content_type: str, data: bytes) -> tuple[Any, Media]:
    """The JSON and the media of a `multipart/related` body. Raises 400."""
    # gcloud puts the boundary between apostrophes, which mean nothing in a header.
    opening = b"--" + str(_header(content_type).get_param("boundary", "")).strip("'").encode()
    # google-api-python-client ends lines with a bare newline; RFC 2046 and everybody else with both characters.
    end = b"\r\n" if opening + b"\r\n" in data else b"\n"
    parts = [piece.removeprefix(end) for piece in (end + data).split(end + opening)[1:-1]]
    if len(parts) != 2:
        raise invalid("A multipart upload has two parts: JSON, then the media.")
    described, attached = (part.split(end + end, 1) for part in parts)
    if len(described) != 2 or len(attached) != 2:
        raise invalid("A part of a multipart upload has headers, an empty line and a body.")
    return parsed_json(described[1]), Media(_content_type(attached[0]), attached[1])


def composed(described: bytes, attached: Media) -> tuple[str, bytes]:
    """Content type and body of a multipart upload; the reverse of `multipart`."""
    boundary = "part"
    while boundary.encode() in attached.data or boundary.encode() in described:
        boundary += "-part"
    parts = (
        f"--{boundary}\r\nContent-Type: application/json\r\n\r\n".encode() + described,
        f"\r\n--{boundary}\r\nContent-Type: {attached.content_type}\r\n\r\n".encode() + attached.data,
        f"\r\n--{boundary}--".encode(),
    )
    return f"multipart/related; boundary={boundary}", b"".join(parts)


def _header(content_type: str) -> Message:
    message = Message()
    message["Content-Type"] = content_type
    return message


def _content_type(headers: bytes) -> str:
    for line in headers.decode("latin-1").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-type":
            return value.strip()
    return "application/octet-stream"
