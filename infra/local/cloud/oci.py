"""A client of one OCI registry on loopback: what Artifact Registry reads from it and writes to it.

Owns the few calls of the distribution API that this takes. Where the registry is, and which repository of it stands for
which place, is told by others. Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md, read
2026-11-21. The registry of go-containerregistry lists repositories and tags and deletes manifests, one name at a time;
it lists no digests, and keeps a manifest for each name it was put under.
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any

from infra.local.cloud.errors import ApiError

_SECONDS = 10.0
# What a registry may answer with; go-containerregistry answers with what was put, whatever is asked for.
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """digest: of these bytes. media_type: as it was put."""

    digest: str
    media_type: str
    data: bytes

    def parsed(self) -> dict[str, Any]:
        return json.loads(self.data)


@dataclass(frozen=True, slots=True)
class OciRegistry:
    """address: host:port. Every method raises 503 where nobody answers there or the answer is none of the API."""

    address: str

    def repositories(self) -> list[str]:
        found = self._ask("GET", "_catalog?n=100000")
        return sorted(json.loads(found.data).get("repositories") or []) if found else []

    def tags(self, repository: str) -> list[str]:
        """Sorted; none of a repository that is not there."""
        found = self._ask("GET", f"{repository}/tags/list")
        return sorted(json.loads(found.data).get("tags") or []) if found else []

    def digest(self, repository: str, name: str) -> str | None:
        """What a tag stands for, or a digest itself; None where there is no such manifest."""
        found = self._ask("HEAD", f"{repository}/manifests/{name}")
        return found.digest if found else None

    def manifest(self, repository: str, name: str) -> Manifest | None:
        return self._ask("GET", f"{repository}/manifests/{name}")

    def put(self, repository: str, name: str, manifest: Manifest) -> None:
        """Give a manifest one more name: a tag."""
        self._ask("PUT", f"{repository}/manifests/{name}", manifest)

    def delete(self, repository: str, name: str) -> None:
        """Take one name, a tag or a digest, from its manifest; the other names stay."""
        self._ask("DELETE", f"{repository}/manifests/{name}")

    def blob(self, repository: str, digest: str) -> bytes:
        """Empty where there is no such blob."""
        found = self._ask("GET", f"{repository}/blobs/{digest}")
        return found.data if found else b""

    def _ask(self, verb: str, path: str, sent: Manifest | None = None) -> Manifest | None:
        connection = http.client.HTTPConnection(self.address, timeout=_SECONDS)
        headers = {"Content-Type": sent.media_type} if sent else {"Accept": _MANIFESTS}
        try:
            connection.request(verb, f"/v2/{path}", sent.data if sent else None, headers)
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(503, f"The registry at {self.address} does not answer: {error}") from None
        finally:
            connection.close()
        if response.status == http.client.NOT_FOUND:
            return None
        if response.status >= http.client.BAD_REQUEST:
            raise ApiError(503, f"The registry at {self.address} answered {response.status} to {verb} {path}.")
        return Manifest(response.headers.get("Docker-Content-Digest", ""), response.headers.get_content_type(), data)
