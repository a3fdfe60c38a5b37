"""When the builds of an image come, and when one of them is missing.

Owns the reading of schedules. Leaves what starts a build at its time to Cloud Scheduler and to GitHub.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim

from infra.model.images.spec import ImageSpec, Schedule

LATE: Final = timedelta(hours=6)
"""What a build may take from its time on, the wait for a machine included."""


def schedule(spec: ImageSpec, name: str) -> Schedule | None:
    """The times at which an image is built: its own, or those of what it is built from; None where there are none."""
    images = (spec.image(name), *reversed(spec.ancestors(name)))
    return next((each.when.schedule for each in images if each.when.schedule), None)


def count(cron: str, begin: datetime, end: datetime) -> int:
    """How many times of a schedule come after `begin` and before `end`, in the time zone of `begin`."""
    return sum(1 for _ in takewhile(lambda each: each < end, CronSim(cron, begin)))


def due_by(spec: ImageSpec, name: str, built: datetime) -> datetime | None:
    """When an image that was built at `built` is too old: its next two builds have not come. None where no time is set.

    One failed build has an alert of its own; two missed ones mean that it was not mended, or that none was started.
    """
    times = schedule(spec, name)
    if times is None:
        return None
    coming = CronSim(times.cron, built.astimezone(ZoneInfo(times.time_zone)))
    next(coming)
    return next(coming).astimezone(UTC) + LATE
