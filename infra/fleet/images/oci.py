"""Reading a registry by the OCI distribution protocol, as GHCR speaks it: which digest a tag or a digest has.

Owns the token exchange: a registry that asks for a token says where to get one
(https://distribution.github.io/distribution/spec/auth/token/, read 2026-11-21). A token of GitHub's is sent nowhere but
to GitHub's own registry, and is never said. Writes nothing. Owns too what the pin table's entries are today, a tag's
digest or a download's checksum; what that means for the table is `infra.model.images.answers`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final, Protocol
from urllib.parse import urlencode, urlsplit

import urllib3

from infra.model.errors import OutsideError
from infra.model.images.answers import PinAnswer
from infra.model.images.pins import Base, Download, Pins

_ACCEPT: Final = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"
)
_CHALLENGE: Final = re.compile(r'(\w+)="([^"]*)"')
_RETRIES: Final = urllib3.Retry(total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504), redirect=3)
_TIMEOUT: Final = urllib3.Timeout(connect=10, read=30)

GHCR: Final = "ghcr.io"
"""GitHub's registry. No other is sent a token of GitHub's: many a registry asks for credentials at its own host."""

OK, UNAUTHORIZED, FORBIDDEN, NOT_FOUND = 200, 401, 403, 404


class RegistryError(OutsideError):
    """A registry refused or did not answer; the text is what a person reads."""


class Reader(Protocol):
    """Who knows which digest a name has."""

    def digest(self, place: str, reference: str) -> str | None:
        """The digest of a tag or digest of `host/name`, None where it is not there. Raises RegistryError."""
        ...


class NoRegistry:
    """A cloud without a registry: nothing is in it."""

    def digest(self, place: str, reference: str) -> str | None:
        del place, reference
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class OciRegistry:
    """Every registry of the world, or one that stands for all of them.

    token: GitHub's, for packages that are not public; None reads as anybody. Hidden from logs.
    stand_in: root URL of a registry that has the place `HOST/NAME` as its repository of that name; None asks HOST.
    """

    token: str | None = field(default=None, repr=False)
    stand_in: str | None = None
    http: urllib3.PoolManager = field(
        default_factory=lambda: urllib3.PoolManager(retries=_RETRIES, timeout=_TIMEOUT), repr=False
    )

    def digest(self, place: str, reference: str) -> str | None:
        host, _, name = place.partition("/")
        root = f"https://{host}/v2/{name}" if self.stand_in is None else f"{self.stand_in.rstrip('/')}/v2/{place}"
        url = f"{root}/manifests/{reference}"
        answer = self._ask("HEAD", url, {"Accept": _ACCEPT}, place)
        if answer.status == UNAUTHORIZED:
            bearer = self._bearer(url, answer.headers.get("WWW-Authenticate", ""), place)
            answer = self._ask("HEAD", url, {"Accept": _ACCEPT, "Authorization": f"Bearer {bearer}"}, place)
        if answer.status == NOT_FOUND:
            return None
        if answer.status in (UNAUTHORIZED, FORBIDDEN):
            hint = "GITHUB_TOKEN may not read it" if self.token else "set GITHUB_TOKEN where it is not public"
            raise RegistryError(f"{place} is not there or may not be read ({answer.status}); {hint}")
        found = answer.headers.get("Docker-Content-Digest")
        if answer.status != OK or found is None:
            raise RegistryError(f"{place} answered {answer.status} and no digest for {reference}")
        return found

    def _bearer(self, url: str, challenge: str, place: str) -> str:
        """A token for reading, from where the registry's challenge says."""
        said = dict(_CHALLENGE.findall(challenge))
        realm = said.pop("realm", "")
        headers = {}
        its_own = place.startswith(f"{GHCR}/") and urlsplit(realm)[:2] == urlsplit(url)[:2]
        if self.token is not None and its_own:
            headers = urllib3.make_headers(basic_auth=f"tidepool:{self.token}")
        if not realm.startswith(("https://", f"{urlsplit(url).scheme}://")):
            raise RegistryError(f"{place} asks for a token without saying where to get one")
        answer = self._ask("GET", f"{realm}?{urlencode(said)}", headers, place)
        try:
            body = json.loads(answer.data) if answer.status == OK else {}
        except ValueError:
            body = {}
        bearer = body.get("token") or body.get("access_token") if isinstance(body, dict) else None
        if not bearer:
            raise RegistryError(f"{place}: its registry gave no token for reading ({answer.status})")
        return str(bearer)

    def _ask(self, method: str, url: str, headers: Mapping[str, str], place: str) -> urllib3.BaseHTTPResponse:
        try:
            return self.http.request(method, url, headers=dict(headers))
        except urllib3.exceptions.HTTPError as error:
            raise RegistryError(f"{place}: no answer from its registry: {error}") from None


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
                        raise RegistryError(f"{name}: {url} has more than {_MOST:,} bytes; that is not a tool")
            finally:
                answer.release_conn()
        except urllib3.exceptions.HTTPError as error:
            raise RegistryError(f"{name}: no answer from {url}: {error}") from None
        return found.hexdigest()
