"""Uploads: the three ways in which Google's clients send bytes beside JSON.

Owns parsing of simple and multipart uploads and the sessions of resumable ones, so that a handler sees only the
finished `Media`. Source: cloud.google.com/storage/docs/uploads-downloads. 2026-09.
"""

from __future__ import annotations

import email.policy
import json
from email.parser import BytesParser
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
    """The JSON part and the media part of a `multipart/related` body. Raises 400."""
    header = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = BytesParser(policy=email.policy.HTTP).parsebytes(header + data)
    parts = list(message.iter_parts()) if message.is_multipart() else []
    if len(parts) != 2:
        raise invalid("A multipart upload has two parts: JSON, then the media.")
    described, media = (_payload(part) for part in parts)
    return parsed_json(described), Media(parts[1].get_content_type(), media)


def _payload(part: Any) -> bytes:
    return part.get_payload(decode=True) or b""
