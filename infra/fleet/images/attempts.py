"""Builds that began, so that one which ended without a record is noticed for every builder and every kind of end.

Owns the object `images/attempts.json` of the bucket with the record, and what both say together. A build writes it once
it has its recipes; before it fetches them it writes `images/begun/IMAGE.json` (`images/steps/fetch.sh`), which counts
while no attempt of that build is known. Who looks is the controller, at every sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from pydantic import Field

from infra.fleet.images.store import Objects
from infra.fleet.images.store import begin as begin_record
from infra.fleet.records import Record, UnreadableRecordError
from infra.model import bucket_names, names
from infra.model.errors import ConfigError
from infra.model.images.record_documents import FIRST_LIMITS, BuildDocument, Instant, parse, parse_as

VERSION: Final = 1
_UNPLANNED: Final = timedelta(seconds=FIRST_LIMITS["fetch"] + FIRST_LIMITS["plan"]) + timedelta(minutes=5)
"""After this a build that began is an attempt, or ended before it could be one. Its containers are pulled besides."""

_MOST_BYTES: Final = 4096
"""Many times what a build says before it has fetched anything."""


class Attempt(BuildDocument):
    """The build of an image that began last. ends_by: when its limit has ended it."""

    build: str
    began: Instant
    ends_by: Instant


class Attempts(BuildDocument):
    """Attempts by image. awaited: of declared images that were never built, when two builds are missing.

    declared: what the recipes of the last build have.
    """

    version: Literal[1] = VERSION
    images: Mapping[str, Attempt] = Field(default_factory=dict)
    awaited: Mapping[str, Instant] = Field(default_factory=dict)
    declared: tuple[str, ...] = ()


class Begun(BuildDocument):
    """What a build says of itself before it has fetched anything; when it began is when it was written."""

    version: Literal[1] = VERSION
    build: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageStanding:
    """One image. build: the one that began last, empty where none ever did. failed: it is over by its limit, and the
    record lacks it. overdue_hours: since a later build than the current one is missing, 0 where none is.
    unreadable: why what a build said first cannot be read and is left out; empty where it can.
    """

    image: str
    build: str
    failed: bool
    overdue_hours: int
    unreadable: str = ""


def begin(
    bucket: Objects,
    images: Iterable[str],
    build: str,
    began: datetime,
    ends_by: datetime,
    *,
    declared: Mapping[str, datetime | None],
) -> None:
    """Write down that a build of these images began. ends_by: when its limit has ended it.

    declared: every image that the build's recipes have, and when the next two builds by its times have not come; what
    they have no more is forgotten. A build says so because it has just fetched them, while the controller knows those
    that its own image was made of.
    Raises GoogleError where a call fails, ConfigError where what stands there cannot be read.
    """
    fresh = dict.fromkeys(images, Attempt(build=build, began=began, ends_by=ends_by))

    def decide(body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        known = _parse(body)
        begun = {**{image: each for image, each in known.images.items() if image in declared}, **fresh}
        missing = ((image, due) for image, due in declared.items() if due is not None and image not in begun)
        awaited = {image: known.awaited.get(image, due) for image, due in missing}
        fresh_ones = {"images": begun, "awaited": awaited, "declared": tuple(sorted(declared))}
        return known.model_copy(update=fresh_ones).model_dump(mode="json")

    begin_record(bucket)
    bucket.update(bucket_names.images_attempts_object(), decide)


def standing(bucket: Objects, now: datetime) -> Iterator[ImageStanding]:
    """How each image stands of which a build said that it began, or that builds await.

    What an image's own `images/begun/IMAGE.json` has wrong is that image's `unreadable` and ends nothing. bucket: one
    that may be listed. Raises GoogleError where a call fails, ConfigError where what else stands there cannot be read.
    """
    found = bucket.read(bucket_names.images_attempts_object())
    attempts = _parse(found.body if found else None)
    said = _said(bucket, attempts, found.updated if found else None)
    kept = bucket.read(bucket_names.images_record_object()) if found or said else None
    record = parse(kept.body if kept else None)
    for image in sorted({*attempts.images, *attempts.awaited, *said}):
        first, known = said.get(image, _Said()), record.images.get(image)
        attempt = _latest(attempts.images.get(image), first.attempt)
        recorded = {build.build for build in known.builds()} if known else set()
        due = known.current.due_by if known else attempts.awaited.get(image)
        yield ImageStanding(
            image=image,
            build=attempt.build if attempt else "",
            failed=attempt is not None and attempt.ends_by < now and attempt.build not in recorded,
            overdue_hours=max(0, int((now - due).total_seconds() // 3600)) if due else 0,
            unreadable=first.unreadable,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What a build said first: itself, or why that cannot be read."""

    attempt: Attempt | None = None
    unreadable: str = ""


def _said(bucket: Objects, attempts: Attempts, written: datetime | None) -> Mapping[str, _Said]:
    """What builds said first, by image. written: when a build last had its recipes, None where none ever did.

    An image that those recipes do not have counts if it was said later: it is new. Said before, it is declared no more.
    """
    known = {*attempts.images, *attempts.awaited, *attempts.declared}
    prefix, said = bucket_names.images_begun_prefix(), {}
    for name in bucket.below(prefix):
        image = name.removeprefix(prefix).removesuffix(".json")
        if name != bucket_names.image_begun_object(image) or not names.is_resource_name(image):
            continue
        try:
            found = bucket.read(name, most=_MOST_BYTES)
            if found is not None and (image in known or written is None or found.updated > written):
                said[image] = _Said(attempt=_begun(name, found))
        except (UnreadableRecordError, ConfigError) as error:
            said[image] = _Said(unreadable=str(error))
    return said


def _begun(name: str, found: Record) -> Attempt:
    """It began when it said so by the service's clock: a time of its own could be of all builds that follow."""
    begun = parse_as(Begun, name, found.body, f"delete {name} from the fleet bucket; the next build writes it anew")
    return Attempt(build=begun.build, began=found.updated, ends_by=found.updated + _UNPLANNED)


def _latest(attempt: Attempt | None, begun: Attempt | None) -> Attempt | None:
    """The build of an image that began last: what it said first counts, where it did not come as far as an attempt."""
    if attempt is None or begun is None:
        return attempt or begun
    return attempt if attempt.build == begun.build or begun.began < attempt.began else begun


def _parse(body: Mapping[str, Any] | None) -> Attempts:
    name = bucket_names.images_attempts_object()
    fix = f"delete {name} from the fleet bucket; the next build of each image is written down anew"
    return Attempts() if body is None else parse_as(Attempts, name, body, fix)
