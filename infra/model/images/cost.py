"""When builds of an image come and when one is missing; what they cost at Cloud Build's list prices.

Owns the arithmetic. Builds of GitHub's jobs run on machines that cost a public repository nothing, and have no figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import takewhile
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim

from infra.model.facts import facts
from infra.model.images.record_documents import Build
from infra.model.images.spec import Image, ImageSpec, Schedule
from infra.model.json_shape import JsonShape

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


DAYS = 30
"""Of a month."""
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildCost(JsonShape):
    """seconds: what the current build took until it was recorded, those of images built with it before it included.

    usd: of one such build. times: builds a month by the schedule of the image. usd_per_month: of these; what pushes
    start comes on top.
    """

    seconds: int
    machine: str
    usd: Decimal
    times: int
    usd_per_month: Decimal


def build_cost(image: Image, build: Build | None, machine: str) -> BuildCost | None:
    """None where the current build is not known, is not Cloud Build's or says no time, and for an unpriced machine."""
    price = facts("builds")["usd_per_minute"].get(machine)
    if build is None or build.seconds is None or price is None or not build.build.startswith("cloudbuild/"):
        return None
    usd = Decimal(str(price)) * build.seconds / 60
    times = _times(image)
    return BuildCost(
        seconds=build.seconds,
        machine=machine,
        usd=usd.quantize(_CENT),
        times=times,
        usd_per_month=(usd * times).quantize(_CENT),
    )


def _times(image: Image) -> int:
    if image.when.schedule is None:
        return 0
    begin = datetime(2026, 1, 1, tzinfo=UTC).astimezone(ZoneInfo(image.when.schedule.time_zone))
    return count(image.when.schedule.cron, begin, begin + timedelta(days=DAYS))
