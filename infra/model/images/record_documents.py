"""The record of images as a JSON document, version 1: builds, what each image has, and what each pool shall run.

Owns the form. How one record becomes the next is `infra.model.images.record`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import (
    AwareDatetime,
    ConfigDict,
    Field,
    NonNegativeInt,
    PlainSerializer,
    StringConstraints,
    ValidationError,
)

from infra.model.document import DocumentPart
from infra.model.errors import ConfigError, Problem

VERSION: Final = 1
HISTORY: Final = 16
"""Builds that are kept beside an image's current one; more only where pools still name them."""
EARLIER_TARGETS: Final = 4
"""Steps that `undone` can go back. All of them are kept from clean-up, in every region."""
FIRST_LIMITS: Final = {"fetch": 5 * 60, "plan": 10 * 60, "tools": 5 * 60, "parents": 10 * 60}
"""Seconds after which a step before the images is ended, by kind. After the first two a build says which images it is
to record."""
DIGEST: Final = r"sha256:[0-9a-f]{64}"
Digest = Annotated[str, StringConstraints(pattern=f"^{DIGEST}$")]
Instant = Annotated[
    AwareDatetime, PlainSerializer(lambda at: at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), return_type=str)
]
"""A moment to the second, written in UTC as RFC 3339 has it."""


class BuildDocument(DocumentPart):
    # Keys that a later program added within this version are carried along, not lost by an older one's write.
    model_config = ConfigDict(extra="allow")


D = TypeVar("D", bound=BuildDocument)


class Copied(BuildDocument):
    """What bringing an image to one more place took, in compressed bytes of layers and configuration.

    pushed: sent. mounted: taken from another repository of the same registry. existing: there already.
    """

    pushed: NonNegativeInt
    mounted: NonNegativeInt = 0
    existing: NonNegativeInt = 0


class Build(BuildDocument):
    """One build of one image, once every place has it.

    revision: commits that it was built from, by repository (`owner/name`).
    committed: when each of those commits was made, which says whose build is the older one.
    built: when the build began. build: its id at who built it.
    places: names without tag or digest; `<place>@<digest>` can be pulled from each.
    parents: digests of the images that it was built from, by image.
    copied: by place, what its copy took; the first place is pushed to and has none.
    seconds: from the beginning of the build until it was recorded. due_by: when a later build is missing, where the
    image is built at times.
    sbom, provenance: objects of the fleet bucket.
    """

    digest: Digest
    revision: Mapping[str, str]
    committed: Mapping[str, Instant] = Field(default_factory=dict)
    built: Instant
    build: str
    places: tuple[str, ...]
    copied: Mapping[str, Copied] = Field(default_factory=dict)
    parents: Mapping[str, Digest] = Field(default_factory=dict)
    sbom: str | None = None
    provenance: str | None = None
    size_bytes: int | None = None
    seconds: NonNegativeInt | None = None
    due_by: Instant | None = None


class ImageRecord(BuildDocument):
    """The builds of one image: the one that its tags name, and earlier ones, newest first."""

    current: Build
    history: tuple[Build, ...] = ()

    def builds(self) -> tuple[Build, ...]:
        return (self.current, *self.history)

    def build(self, digest: str) -> Build | None:
        return next((build for build in self.builds() if build.digest == digest), None)


class PoolTarget(BuildDocument):
    """The digest that a pool shall run since it was promoted, and the one before it."""

    image: str
    digest: Digest
    since: Instant
    previous: PoolTarget | None = None

    def chain(self) -> tuple[PoolTarget, ...]:
        """This target and all that can be gone back to, newest first."""
        return (self, *(self.previous.chain() if self.previous else ()))


class Record(BuildDocument):
    """All images and all pools that run one. roles: what brokers and controllers run, by `STACK/ROLE`."""

    version: Literal[1] = VERSION
    images: Mapping[str, ImageRecord] = Field(default_factory=dict)
    pools: Mapping[str, PoolTarget] = Field(default_factory=dict)
    roles: Mapping[str, PoolTarget] = Field(default_factory=dict)

    def held(self, image: str) -> frozenset[str]:
        """Digests of an image that a pool or role names, or can go back to: what no clean-up may take away."""
        return frozenset(each.digest for each in self.targets() if each.image == image)

    def targets(self) -> Iterator[PoolTarget]:
        """What every pool and role names, and what each can go back to."""
        for target in (*self.pools.values(), *self.roles.values()):
            yield from target.chain()

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


EMPTY: Final = Record()


def parse(body: Mapping[str, Any] | None) -> Record:
    """The record in a document; the empty one where none was written yet. Raises ConfigError where it is not one."""
    fix = "restore the object's last good generation; the bucket keeps earlier ones"
    return EMPTY if body is None else parse_as(Record, "the record of images", body, fix)


def parse_as(model: type[D], subject: str, body: Mapping[str, Any], fix: str) -> D:
    """A document of version 1. Raises ConfigError with every problem; fix: what mends one that nobody can read."""
    if body.get("version") != VERSION:
        rule = f"not of version {VERSION}, which this program writes"
        raise ConfigError(
            [Problem(f"{subject}: version", str(body.get("version")), rule, "use the program that wrote it")]
        )
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise ConfigError(
            Problem(f"{subject}: {'.'.join(map(str, detail['loc']))}", "", detail["msg"], fix)
            for detail in error.errors()
        ) from None
