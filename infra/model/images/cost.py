"""What builds of an image cost at Cloud Build's list prices, from how long the current one took.

Owns the arithmetic. Builds of GitHub's jobs run on machines that cost a public repository nothing, and have no figure.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from infra.model.facts import facts
from infra.model.images.record import Build
from infra.model.images.spec import Image
from infra.model.images.times import count

DAYS = 30
"""Of a month."""
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildCost:
    """seconds: what the current build took until it was recorded, those of images built with it before it included.

    usd: of one such build. times: builds a month by the schedule of the image. usd_per_month: of these; what pushes
    start comes on top.
    """

    seconds: int
    machine: str
    usd: Decimal
    times: int
    usd_per_month: Decimal

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"usd": float(self.usd), "usd_per_month": float(self.usd_per_month)}


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
