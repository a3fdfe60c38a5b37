"""What registries answer for a place: whether it has a digest, what a tag names, and the tags that keep digests.

Owns the calls to Artifact Registry and the choice of who answers for a place. Others, such as GHCR, are read by `oci`.
Leaves which digests are kept, and when, to `promotion`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from infra.fleet.google import Api, Clients, GoogleError, execute
from infra.fleet.images.oci import Reader
from infra.model import names

_NOT_FOUND: Final = 404
_PAGE: Final = 1000
_PLACE: Final = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[^/]+)/(?P<repository>[^/]+)/(?P<package>.+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactPlace:
    """A place in Artifact Registry, taken apart. `package` is the image's name within the repository."""

    location: str
    project: str
    repository: str
    package: str

    @classmethod
    def parse(cls, place: str) -> Self | None:
        """None where the place is another registry's."""
        match = _PLACE.fullmatch(place)
        return cls(**match.groupdict()) if match else None

    @property
    def name(self) -> str:
        """The package as the API names it; a slash of an image's name is written %2F."""
        repository = f"projects/{self.project}/locations/{self.location}/repositories/{self.repository}"
        return f"{repository}/packages/{self.package.replace('/', '%2F')}"


def location(place: str) -> str:
    """The region of a place in Artifact Registry, else the host of its registry."""
    found = ArtifactPlace.parse(place)
    return found.location if found else place.partition("/")[0]


class Answers(Protocol):
    """What is asked of registries. Each raises GoogleError or RegistryError where one refuses or does not answer."""

    def has(self, place: str, digest: str) -> bool:
        """Whether the place has the digest."""
        ...

    def named(self, place: str, tag: str) -> str | None:
        """The digest that a tag names, None where there is no such tag."""
        ...

    def tags(self, place: str) -> Mapping[str, str]:
        """Every tag of a place in Artifact Registry, and the digest that it names."""
        ...

    def tag(self, place: str, tag: str, digest: str) -> None:
        """Let the tag of a place in Artifact Registry name the digest, whatever it named before."""
        ...

    def untag(self, place: str, tag: str) -> None:
        """Take a tag away; one that is gone is no error."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryClients:
    """Artifact Registry by its API, and every other registry by the protocol that all of them speak."""

    google: Clients
    others: Reader

    def has(self, place: str, digest: str) -> bool:
        found = ArtifactPlace.parse(place)
        if found is None:
            return self.others.digest(place, digest) is not None
        request = self._packages().versions().get(name=f"{found.name}/versions/{digest}")
        return _unless_absent(request, f"looking up {place}@{digest}") is not None

    def named(self, place: str, tag: str) -> str | None:
        found = ArtifactPlace.parse(place)
        if found is None:
            return self.others.digest(place, tag)
        answer = _unless_absent(
            self._packages().tags().get(name=f"{found.name}/tags/{tag}"), f"looking up {place}:{tag}"
        )
        return _digest(answer["version"]) if answer else None

    def tags(self, place: str) -> Mapping[str, str]:
        package = _artifact(place).name
        tags, said = self._packages().tags(), {}
        request = tags.list(parent=package, pageSize=_PAGE)
        while request is not None:
            answer = _unless_absent(request, f"listing tags of {place}") or {}
            said |= {each["name"].rpartition("/")[2]: _digest(each["version"]) for each in answer.get("tags", ())}
            request = tags.list_next(request, answer)
        return said

    def tag(self, place: str, tag: str, digest: str) -> None:
        package = _artifact(place).name
        body = {"name": f"{package}/tags/{tag}", "version": f"{package}/versions/{digest}"}
        doing = f"tagging {place}@{digest} as {tag}"
        present = self.named(place, tag)
        if present is None:
            execute(self._packages().tags().create(parent=package, tagId=tag, body=body), doing)
        elif present != digest:
            execute(self._packages().tags().patch(name=body["name"], updateMask="version", body=body), doing)

    def untag(self, place: str, tag: str) -> None:
        request = self._packages().tags().delete(name=f"{_artifact(place).name}/tags/{tag}")
        _unless_absent(request, f"taking the tag {tag} from {place}")

    def _packages(self) -> Any:
        return self.google.api(Api.ARTIFACTS).projects().locations().repositories().packages()


def in_use(tags: Mapping[str, str], user: str) -> Iterator[tuple[str, str]]:
    """Of the tags of a place those that keep a digest for a pool or a role, sorted, with their digests."""
    return ((tag, digest) for tag, digest in sorted(tags.items()) if tag == names.in_use_tag(user, digest))


def _artifact(place: str) -> ArtifactPlace:
    found = ArtifactPlace.parse(place)
    if found is None:
        raise ValueError(f"{place} is not a place in Artifact Registry")
    return found


def _unless_absent(request: Any, doing: str) -> Any:
    """The answer, None where the thing, its package or its repository is not there."""
    try:
        return execute(request, doing)
    except GoogleError as error:
        if error.status == _NOT_FOUND:
            return None
        raise


def _digest(version: str) -> str:
    """`sha256:...` of a version's full name."""
    return version.rpartition("/")[2]
