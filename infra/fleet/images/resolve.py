"""Asking the world what the pin table's entries are today: a tag's digest of its registry, a download's checksum.

Owns the calls. What an answer means for the table is `infra.model.images.answers`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Final

import urllib3

from infra.fleet.images.oci import OK, OciRegistry, RegistryError
from infra.model.images.answers import PinAnswer
from infra.model.images.pins import Base, Download, Pins

_PIECE: Final = 1 << 20
_MOST: Final = 2 << 30
"""Bytes of a download at most: the largest one, the gcloud archive, has a tenth of that."""
_RETRIES: Final = urllib3.Retry(total=3, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504), redirect=5)
_TIMEOUT: Final = urllib3.Timeout(connect=10, read=60)

# Docker Hub's images are called docker.io/...; its registry answers elsewhere.
_REGISTRIES: Final = {"docker.io": "registry-1.docker.io"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """today: in UTC, written beside each answer. registries: who answers for tags.

    stand_in: root URL of a server that has what is at https://HOST/PATH at /HOST/PATH; None asks HOST.
    """

    today: Callable[[], date]
    registries: OciRegistry = field(default_factory=OciRegistry)
    stand_in: str | None = None
    http: urllib3.PoolManager = field(
        default_factory=lambda: urllib3.PoolManager(retries=_RETRIES, timeout=_TIMEOUT), repr=False
    )

    def answer(self, pins: Pins, name: str) -> PinAnswer:
        """What the entry's registry or server says today; RegistryError where it does not, KeyError for no entry."""
        entry = pins.entry(name)
        if isinstance(entry, Base):
            return self._digest(name, entry)
        if isinstance(entry, Download):
            return PinAnswer(name, self._checksum(name, entry.url), entry.url, self.today())
        raise KeyError(name)

    def _digest(self, name: str, base: Base) -> PinAnswer:
        host, _, repository = base.image.partition("/")
        host = _REGISTRIES.get(host, host)
        digest = self.registries.digest(f"{host}/{repository}", base.tag)
        if digest is None:
            raise RegistryError(f"{name}: {base.image} has no tag {base.tag}; choose another tag in the table")
        return PinAnswer(name, digest, f"https://{host}/v2/{repository}/manifests/{base.tag}", self.today())

    def _checksum(self, name: str, url: str) -> str:
        """The SHA-256 of what is downloaded, read piece by piece and kept nowhere."""
        at = url if self.stand_in is None else f"{self.stand_in.rstrip('/')}/{url.removeprefix('https://')}"
        found, size = hashlib.sha256(), 0
        try:
            answer = self.http.request("GET", at, preload_content=False)
            try:
                if answer.status != OK:
                    raise RegistryError(f"{name}: {url} answered {answer.status}")
                for piece in answer.stream(_PIECE, decode_content=False):
                    found.update(piece)
                    size += len(piece)
                    if size > _MOST:
                        raise RegistryError(f"{name}: {url} has more than {_MOST:,} bytes; that is no tool")
            finally:
                answer.release_conn()
        except urllib3.exceptions.HTTPError as error:
            raise RegistryError(f"{name}: no answer from {url}: {error}") from None
        return found.hexdigest()
