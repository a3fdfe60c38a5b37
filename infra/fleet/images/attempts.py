"""Builds that began, so that one which ended without a record is noticed, whoever built it and however it ended.

Owns the object `images/attempts.json` of the bucket with the record, and what both say together. A build writes it once
it has its recipes; who looks is the controller, at every sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from infra.fleet.images.store import Objects
from infra.fleet.images.store import begin as begin_record
from infra.model import names
from infra.model.images.record import parse

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One image. failed: the build that began last is over by its limit, and the record lacks it. overdue_hours: since
    a later build than the current one is missing, 0 where none is.
    """

    image: str
    build: str
    failed: bool
    overdue_hours: int


def begin(bucket: Objects, images: Iterable[str], build: str, began: datetime, ends_by: datetime) -> None:
    """Write down that a build of these images began. ends_by: when its limit has ended it."""
    attempt = {"build": build, "began": began.isoformat(), "ends_by": ends_by.isoformat()}
    fresh = dict.fromkeys(images, attempt)

    def decide(body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        return {"version": VERSION, "images": {**(body or {}).get("images", {}), **fresh}}

    begin_record(bucket)
    bucket.update(names.images_attempts_object(), decide)


def standing(bucket: Objects, now: datetime) -> Iterator[Standing]:
    """How each image stands of which a build began; nothing in a bucket without such a record."""
    attempts = bucket.read(names.images_attempts_object())
    found = bucket.read(names.images_record_object()) if attempts else None
    record = parse(found.body if found else None)
    for image, attempt in sorted(attempts.body.get("images", {}).items() if attempts else ()):
        known = record.images.get(image)
        recorded = {build.build for build in known.builds()} if known else set()
        over = datetime.fromisoformat(attempt["ends_by"]) < now
        due = known.current.due_by if known else None
        yield Standing(
            image=image,
            build=attempt["build"],
            failed=over and attempt["build"] not in recorded,
            overdue_hours=max(0, int((now - due).total_seconds() // 3600)) if due else 0,
        )
