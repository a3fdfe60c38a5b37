"""The fleet bucket, read and written with the VM's own identity."""

from __future__ import annotations

import os
import time
from typing import Final
from urllib.parse import quote

from .metadata import Metadata
from .wire import UnansweredError, ask

_OK: Final = 200
_FRESH: Final = 120
"""Seconds: a token that the metadata server gives out is good for longer than that."""


def storage() -> str:
    return os.environ.get("TIDEPOOL_STORAGE", "https://storage.googleapis.com")


class Bucket:
    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._token, self._until = "", 0.0

    def get(self, name: str) -> bytes | None:
        """None where there is none. Raises UnansweredError where nobody can say."""
        url = f"{storage()}/storage/v1/b/{self._metadata.own('bucket')}/o/{quote(name, safe='')}?alt=media"
        answer = ask("GET", url, headers=self._authorization(), seconds=120)
        if answer.status == _OK:
            return answer.content
        # Who may not list the bucket is told 403, and not 404, of an object that is not there.
        if answer.status in (403, 404):
            return None
        raise UnansweredError(f"reading {name} was answered with {answer.status}")

    def put(self, name: str, content: bytes) -> None:
        """Replace it; a VM alone writes its objects, so no generation is asked for. Raises UnansweredError."""
        where = f"{self._metadata.own('bucket')}/o?uploadType=media&name={quote(name, safe='')}"
        headers = {**self._authorization(), "Content-Type": "application/json"}
        answer = ask("POST", f"{storage()}/upload/storage/v1/b/{where}", headers=headers, body=content, seconds=20)
        if answer.status != _OK:
            raise UnansweredError(f"writing {name} was answered with {answer.status}")

    def _authorization(self) -> dict[str, str]:
        if time.monotonic() >= self._until:
            self._token = self._metadata.access_token()
            self._until = time.monotonic() + _FRESH
        return {"Authorization": f"Bearer {self._token}"}
