"""What a pool's VMs run: an image and a start-up bundle, each of which can be taken back by itself.

Owns the shapes, how records write them, what is left of a version without some of its parts, and what is remembered of
a rollout. Records of before
parts were told apart name whole versions, `DIGEST|BUNDLE`; those are still read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple, Self, TypeAlias

from pydantic_core import CoreSchema, core_schema

from infra.model import bucket_names

_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class AsText:
    """Marks a type whose values are one text each in a record, that of `str`. parse: raises ValueError for others."""

    parse: Callable[[str], object]

    def __get_pydantic_core_schema__(self, *_: Any) -> CoreSchema:
        kept = core_schema.plain_serializer_function_ser_schema(str)
        read = core_schema.no_info_plain_validator_function(self.parse)
        return core_schema.chain_schema([core_schema.str_schema(), read], serialization=kept)


class PartKind(StrEnum):
    BUNDLE = "bundle"
    IMAGE = "image"


class VersionPart(NamedTuple):
    """digest: of an image, without the regions that have it; of a bundle the SHA-256. Records write `KIND DIGEST`."""

    kind: PartKind
    digest: str

    def __str__(self) -> str:
        return f"{self.kind} {self.digest}"


class WholeVersion(NamedTuple):
    """The digests of a version, each empty for none. Records of before parts were told apart write `IMAGE|BUNDLE`."""

    image: str
    bundle: str

    def __str__(self) -> str:
        return f"{self.image}|{self.bundle}"

    @property
    def parts(self) -> frozenset[VersionPart]:
        """No image and no bundle are none."""
        each = (VersionPart(PartKind.IMAGE, self.image), VersionPart(PartKind.BUNDLE, self.bundle))
        return frozenset(part for part in each if part.digest)


TakenBack: TypeAlias = VersionPart | WholeVersion
"""What a record says that was taken back."""


def taken_back(text: str) -> TakenBack:
    """What a record's text names. ValueError where it names neither a part nor a whole version."""
    image, bar, bundle = text.partition("|")
    if bar:
        return WholeVersion(image, bundle)
    kind, _, digest = text.partition(" ")
    return VersionPart(PartKind(kind), digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolVersion:
    """What a pool's VMs shall run. images: the reference by region; the digest in them is one.

    bundle: SHA-256 of the start-up bundle, which pins GitHub's runner too.
    """

    images: Mapping[str, str] = field(default_factory=dict, hash=False)
    bundle: str | None = None

    @property
    def key(self) -> WholeVersion:
        """Equal for versions that come to the same on a VM, whichever regions they name."""
        return WholeVersion(
            ",".join(sorted({each.rpartition("@")[2] for each in self.images.values()})), self.bundle or ""
        )

    @property
    def parts(self) -> frozenset[VersionPart]:
        return self.key.parts

    @property
    def in_short(self) -> str:
        """In a few words: the image's digest, and the bundle."""
        return ", ".join(shown(self.parts)) or "nothing"


@dataclass(frozen=True, slots=True)
class AssignedVersion:
    """What a VM's orders say that it runs. image: its reference, empty for none. bundle: empty where they name none."""

    image: str
    bundle: str = ""

    def __str__(self) -> str:
        """As memory keeps it."""
        return f"{self.image or bucket_names.NO_IMAGE}|{self.bundle}"

    @classmethod
    def parse(cls, text: str) -> Self:
        image, _, bundle = text.partition("|")
        return cls("" if image == bucket_names.NO_IMAGE else image, bundle)

    @property
    def digest(self) -> str:
        return self.image.rpartition("@")[2]


KeptVersion: TypeAlias = Annotated[AssignedVersion, AsText(AssignedVersion.parse)]
_KeptTakenBack: TypeAlias = Annotated[TakenBack, AsText(taken_back)]


class Stage(StrEnum):
    STEADY = "steady"
    CANARY = "canary"
    ROLLING = "rolling"
    FAILED = "failed"
    UNDONE = "undone"

    @property
    def is_under_way(self) -> bool:
        return self in (Stage.CANARY, Stage.ROLLING)

    @property
    def went_back(self) -> bool:
        return self in (Stage.FAILED, Stage.UNDONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Returning:
    """A VM that was told to go back. before: what its orders said until then."""

    since: datetime
    before: KeptVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One pool's way from what it runs to what it shall run.

    stable: what is proved. target: what is rolled out, equal to stable once it is everywhere. waiting: VMs that are to
    prove it, with the time from which they are waited for. proved: VMs that ran it. returning: VMs on their way back to
    what is proved. bad: parts that went back by themselves. obeyed: times of the undos that were obeyed. held: what
    keeps it from going on.
    """

    stable: PoolVersion
    target: PoolVersion
    previous: PoolVersion | None = None
    stage: Stage = Stage.STEADY
    since: datetime
    waiting: Mapping[str, datetime] = field(default_factory=dict)
    proved: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    returning: Mapping[str, Returning] = field(default_factory=dict)
    bad: tuple[_KeptTakenBack, ...] = ()
    obeyed: tuple[datetime, ...] = ()
    held: tuple[str, ...] = ()
    why: str = ""

    @property
    def steps(self) -> tuple[PoolVersion, PoolVersion]:
        """What is proved, and what was before it."""
        return self.stable, self.previous or PoolVersion()

    @property
    def bad_parts(self) -> frozenset[VersionPart]:
        return named(self.bad, *self.steps)


def named(some: Iterable[TakenBack], *steps: PoolVersion) -> frozenset[VersionPart]:
    """The parts that records name. steps: what is proved, and what was before it.

    Of a whole version only what was new in it counts: what it has more than the first of the steps that is another.
    """
    found: set[VersionPart] = set()
    for each in some:
        if isinstance(each, VersionPart):
            found.add(each)
        else:
            found |= each.parts - next((step.parts for step in steps if step.parts != each.parts), frozenset())
    return frozenset(found)


def names_one_of(named: TakenBack, some: Collection[VersionPart]) -> bool:
    """Whether a record names one of these parts, or a whole version with one of them."""
    return named in some if isinstance(named, VersionPart) else not named.parts.isdisjoint(some)


def without(wanted: PoolVersion, gone: Collection[VersionPart], *proved: PoolVersion) -> PoolVersion:
    """A version whose parts that were taken back are those of the first proved one that has others."""
    steps = (wanted, *proved)

    def of(kind: PartKind) -> PoolVersion:
        lacking = {part for part in gone if part.kind is kind}
        return next((each for each in steps if lacking.isdisjoint(each.parts)), proved[0])

    return PoolVersion(images=of(PartKind.IMAGE).images, bundle=of(PartKind.BUNDLE).bundle)


def shown(some: Iterable[VersionPart]) -> Sequence[str]:
    """Parts in a few words each, the image first."""
    return [f"{part.kind} {_digits(part.digest)}" for part in sorted(some, reverse=True)]


def _digits(digest: str) -> str:
    return ", ".join(each.removeprefix("sha256:")[:_SHOWN] for each in digest.split(","))
