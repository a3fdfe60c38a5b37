"""What images a repository of Artifact Registry holds: those of a real OCI registry beside the local cloud.

Owns what of a digest is remembered. A place such as `us-east1-docker.pkg.dev/P/R/IMAGE` is its own path in the one
registry (`bench.registry`), whose address the control surface tells (`/_tidepool/registry`); without one there
are no images. An OCI registry neither lists digests nor says when they came: a digest is known once it was seen under a
tag, asked for, or read in the log in which the registry names what was put. The registry of go-containerregistry lists
repositories and tags and deletes manifests, one name at a time, and keeps a manifest for each name it was put under.
Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md, read 2026-11-21.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bench.cloud.clock import timestamp
from bench.cloud.cloud import Cloud
from bench.cloud.errors import ApiError, JsonObject, failed_precondition
from bench.cloud.loopback import NoAnswerError, asked
from bench.cloud.store import Resource

_SETTING = "oci-registry"
_KIND = "artifactregistry.version"
# The line that go-containerregistry writes for a manifest it took; one that it refused says more behind it.
_PUT = re.compile(rb" PUT /v2/(\S+)/manifests/(sha256:[0-9a-f]{64})$", re.MULTILINE)


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
        headers = {"Content-Type": sent.media_type} if sent else {"Accept": _MANIFESTS}
        root, data = f"http://{self.address}", sent.data if sent else None
        try:
            found = asked(root, verb, f"/v2/{path}", data, headers, seconds=_SECONDS)
        except NoAnswerError as error:
            raise ApiError(503, f"The registry at {self.address} does not answer: {error}") from None
        if found.status == HTTPStatus.NOT_FOUND:
            return None
        if found.status >= HTTPStatus.BAD_REQUEST:
            raise ApiError(503, f"The registry at {self.address} answered {found.status} to {verb} {path}.")
        kind = found.headers.get("content-type", "").partition(";")[0].strip()
        return Manifest(found.headers.get("docker-content-digest", ""), kind, found.body)


def told(cloud: Cloud) -> JsonObject:
    """address and log of the registry; None in both where there is none."""
    return {"address": None, "log": None, **cloud.store.setting(_SETTING, {})}


def tell(cloud: Cloud, *, address: str | None, log: str | None) -> None:
    """Say where the registry is, host:port, and the file it writes its log to; None where there is none any more."""
    cloud.store.set_setting(_SETTING, {"address": address, "log": log} if address else {})
    cloud.store.set_setting(f"{_SETTING}-read", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One image by digest. place: `REGION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE`. came: cloud time in seconds.

    size: bytes of its layers and configuration. built: RFC 3339, empty where it does not say. parts: the images of an
    index. tags: sorted.
    """

    place: str
    digest: str
    tags: tuple[str, ...]
    media_type: str
    size: int
    built: str
    parts: tuple[JsonObject, ...]
    came: float

    @property
    def image(self) -> str:
        """The part of the place below its repository, as names of the API have it: slashes are escaped."""
        return quote("/".join(self.place.split("/")[3:]), safe="")


class RepositoryImages:
    """The images of one repository. place: `REGION-docker.pkg.dev/PROJECT/REPOSITORY`."""

    def __init__(self, cloud: Cloud, place: str) -> None:
        self._cloud = cloud
        self._place = place
        address = told(cloud)["address"]
        self._registry = OciRegistry(address) if address else None

    def images(self) -> list[str]:
        """Names of the images that have a version, sorted."""
        if self._registry is None:
            return []
        below = f"{self._place}/"
        names = (name.removeprefix(below) for name in self._registry.repositories() if name.startswith(below))
        return [name for name in names if self.versions(name)]

    def versions(self, image: str) -> list[Version]:
        """Sorted by digest."""
        if self._registry is None:
            return []
        self._read_log()
        place = self._place_of(image)
        tags: dict[str, list[str]] = {}
        for tag in self._registry.tags(place):
            if digest := self._registry.digest(place, tag):
                tags.setdefault(digest, []).append(tag)
        for digest in tags:
            self._remember(place, digest)
        known = list(self._cloud.store.each(_KIND, f"{place}@"))
        return [version for held in known if (version := self._version(held, tags)) is not None]

    def version(self, image: str, digest: str) -> Version | None:
        """One by its digest, also one that no tag ever named."""
        if self._registry is not None and self._registry.digest(self._place_of(image), digest):
            self._remember(self._place_of(image), digest)
        return next((version for version in self.versions(image) if version.digest == digest), None)

    def tag(self, version: Version, tag: str) -> None:
        """Give a version one more tag, or move it there."""
        registry = self._needed()
        manifest = registry.manifest(version.place, version.digest)
        if manifest is not None:
            registry.put(version.place, tag, manifest)

    def untag(self, image: str, tag: str) -> None:
        self._needed().delete(self._place_of(image), tag)

    def delete(self, version: Version) -> None:
        """Its tags with it."""
        registry = self._needed()
        for name in (*version.tags, version.digest):
            registry.delete(version.place, name)
        self._cloud.store.delete(_KIND, f"{version.place}@{version.digest}")

    def _place_of(self, image: str) -> str:
        return f"{self._place}/{image}"

    def _needed(self) -> OciRegistry:
        if self._registry is None:
            raise failed_precondition("No registry stands beside the local cloud.")
        return self._registry

    def _read_log(self) -> None:
        """Take in the digests that were put since the last look; a log that was begun anew is read from its start."""
        log, key = told(self._cloud)["log"], f"{_SETTING}-read"
        if log is None:
            return
        try:
            data = Path(log).read_bytes()
        except OSError:
            return
        begin = self._cloud.store.setting(key, 0)
        begin = begin if begin <= len(data) else 0
        end = data.rfind(b"\n") + 1
        for hit in _PUT.finditer(data, begin, end):
            self._remember(hit[1].decode(), hit[2].decode())
        self._cloud.store.set_setting(key, end)

    def _remember(self, place: str, digest: str) -> None:
        """Keep what never changes of a digest, and when it was first seen."""
        name = f"{place}@{digest}"
        if self._registry is None or self._cloud.store.find(_KIND, name) is not None:
            return
        manifest = self._registry.manifest(place, digest)
        if manifest is not None:
            self._cloud.store.insert(_KIND, name, self._described(place, manifest), now=self._cloud.now)

    def _described(self, place: str, manifest: Manifest) -> JsonObject:
        body = manifest.parsed()
        parts = body.get("manifests", [])
        described: JsonObject = {"mediaType": manifest.media_type, "built": "", "parts": parts}
        if parts:
            inner = (self._needed().manifest(place, part["digest"]) for part in parts)
            return {**described, "size": sum(_size(each.parsed()) for each in inner if each)}
        config = self._needed().blob(place, body.get("config", {}).get("digest", ""))
        return {**described, "size": _size(body), "built": _created(config)}

    def _version(self, held: Resource, tags: dict[str, list[str]]) -> Version | None:
        """None, and nothing is known of it any more, where the registry has lost it."""
        place, _, digest = held.name.partition("@")
        if not self._needed().digest(place, digest):
            self._cloud.store.delete(_KIND, held.name)
            return None
        return Version(
            place=place,
            digest=digest,
            tags=tuple(tags.get(digest, ())),
            media_type=held.body["mediaType"],
            size=held.body["size"],
            built=held.body["built"],
            parts=tuple(held.body["parts"]),
            came=held.created,
        )


def indexes_of(version: Version, others: Iterable[Version]) -> list[str]:
    """Digests of the indexes that a version is part of."""
    return [other.digest for other in others if any(part["digest"] == version.digest for part in other.parts)]


def docker_image(version: Version, repository: str) -> JsonObject:
    """The `DockerImage` of a version; repository: `projects/P/locations/L/repositories/R`."""
    shown: JsonObject = {
        "name": f"{repository}/dockerImages/{version.image}@{version.digest}",
        "uri": f"{version.place}@{version.digest}",
        "tags": list(version.tags),
        "imageSizeBytes": str(version.size),
        "mediaType": version.media_type,
        "uploadTime": timestamp(version.came),
        "updateTime": timestamp(version.came),
        "buildTime": version.built,
        "imageManifests": [_part(part) for part in version.parts],
    }
    return {key: value for key, value in shown.items() if value not in ("", [])}


def _part(part: JsonObject) -> JsonObject:
    platform = part.get("platform", {})
    told = {"digest": part["digest"], "mediaType": part.get("mediaType", "")}
    return told | {key: platform[key] for key in ("architecture", "os", "variant") if key in platform}


def _size(manifest: JsonObject) -> int:
    return sum(part.get("size", 0) for part in (manifest.get("config", {}), *manifest.get("layers", [])))


def _created(config: bytes) -> str:
    try:
        return json.loads(config).get("created", "")
    except (ValueError, AttributeError):
        return ""
