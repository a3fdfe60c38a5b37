"""Reading a registry by the OCI distribution protocol, as GHCR speaks it: which digest a tag or a digest has.

Owns the token exchange: a registry that asks for a token says where to get one
(https://distribution.github.io/distribution/spec/auth/token/, read 2026-11-21). A token of GitHub's is sent nowhere but
to GitHub's own registry, and is never said. Writes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import urlencode, urlsplit

import urllib3

from infra.model.errors import OutsideError

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
