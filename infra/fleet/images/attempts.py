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
from infra.model import names
from infra.model.images.record import FIRST_LIMITS, Document, Instant, parse, parse_as

VERSION: Final = 1
_UNPLANNED: Final = timedelta(seconds=FIRST_LIMITS["fetch"] + FIRST_LIMITS["plan"]) + timedelta(minutes=5)
"""After this a build that began is an attempt, or ended before it could be one. Its containers are pulled besides."""


class Attempt(Document):
    """The build of an image that began last. ends_by: when its limit has ended it."""

    build: str
    began: Instant
    ends_by: Instant


class Attempts(Document):
    """Attempts by image. awaited: of declared images that were never built, when two builds are missing.

    declared: what the recipes of the last build have.
    """

    version: Literal[1] = VERSION
    images: Mapping[str, Attempt] = Field(default_factory=dict)
    awaited: Mapping[str, Instant] = Field(default_factory=dict)
    declared: tuple[str, ...] = ()


class Begun(Document):
    """What a build says of itself before it has fetched anything."""

    version: Literal[1] = VERSION
    build: str
    began: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageStanding:
    """One image. build: the one that began last, empty where none ever did. failed: it is over by its limit, and the
    record lacks it. overdue_hours: since a later build than the current one is missing, 0 where none is.
    """

    image: str
    build: str
    failed: bool
    overdue_hours: int


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
    bucket.update(names.images_attempts_object(), decide)


def standing(bucket: Objects, now: datetime) -> Iterator[ImageStanding]:
    """How each image stands that a build wrote down; nothing in a bucket without such a record.

    Raises GoogleError where a call fails, ConfigError where what stands there cannot be read.
    """
    found = bucket.read(names.images_attempts_object())
    attempts = _parse(found.body if found else None)
    kept = bucket.read(names.images_record_object()) if found else None
    record = parse(kept.body if kept else None)
    for image in sorted({*attempts.images, *attempts.awaited, *attempts.declared}):
        attempt, known = _latest(bucket, image, attempts.images.get(image)), record.images.get(image)
        if attempt is None and image not in attempts.awaited:
            continue
        recorded = {build.build for build in known.builds()} if known else set()
        due = known.current.due_by if known else attempts.awaited.get(image)
        yield ImageStanding(
            image=image,
            build=attempt.build if attempt else "",
            failed=attempt is not None and attempt.ends_by < now and attempt.build not in recorded,
            overdue_hours=max(0, int((now - due).total_seconds() // 3600)) if due else 0,
        )


def _latest(bucket: Objects, image: str, attempt: Attempt | None) -> Attempt | None:
    """The build of an image that began last: what it said first counts, where it did not come as far as an attempt."""
    name = names.image_begun_object(image)
    found = bucket.read(name)
    if found is None:
        return attempt
    begun = parse_as(Begun, name, found.body, f"delete {name} from the fleet bucket; the next build writes it anew")
    if attempt is not None and (attempt.build == begun.build or begun.began < attempt.began):
        return attempt
    return Attempt(build=begun.build, began=begun.began, ends_by=begun.began + _UNPLANNED)


def _parse(body: Mapping[str, Any] | None) -> Attempts:
    name = names.images_attempts_object()
    fix = f"delete {name} from the fleet bucket; the next build of each image is written down anew"
    return Attempts() if body is None else parse_as(Attempts, name, body, fix)
