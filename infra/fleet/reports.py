"""What VMs write of themselves, read as the words of somebody who may lie: a job that broke out has its VM's account.

Owns what a report says, how much of it is read, and that nothing in it works on whoever reads it. Whether a VM wrote it
itself is `infra.fleet.proofs`; what it means is its readers'.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from infra.fleet.records import Body, Record, Records, UnreadableRecordError
from infra.model import bucket_names

MOST_BYTES: Final = 256 * 1024
"""Several times what a VM writes of 50 steps and 50 events at their longest."""
AHEAD: Final = timedelta(minutes=5)
"""By how much a VM's clock may be ahead. One whose clock is off by half a minute takes no job, and says so."""
_LONGEST: Final = 300
"""Characters of a reason or of a job's name."""


class Phase(StrEnum):
    """What a VM's supervisor says it is doing."""

    BOOTING = "booting"
    CLEANING = "cleaning"
    PULLING = "pulling"
    REGISTERING = "registering"
    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    UNFIT = "unfit"
    HALTED = "halted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSeen:
    """What a VM says of itself; believed for that VM alone. obeyed: the last number of a restart that it obeyed.

    proved: the zone of the VM that Google says has written it, empty where it has no proof.
    """

    vm: str
    pool: str
    phase: Phase
    at: datetime
    reason: str = ""
    image: str | None = None
    bundle: str | None = None
    job: str = ""
    obeyed: int = 0
    proved: str = ""

    def is_of(self, made: datetime | None) -> bool:
        """Whether it is of the VM that was made then (None: nobody knows when), not of one that had its name before."""
        return made is None or made <= self.at


def read_report(records: Records, pool: str, vm: str) -> Mapping[str, Any] | None:
    """A VM's report, its texts in printable characters; None where there is none that can be read as one.

    Its time is when it was written, by the service's clock: of the time that is in it, it is only believed that it is
    not from the future. Otherwise one report could be of all VMs that come to have the name. Raises GoogleError where
    the bucket does not answer.
    """
    try:
        record = records.read(bucket_names.report_object(pool, vm), most=MOST_BYTES)
        return None if record is None else dated(record)
    except (UnreadableRecordError, RecursionError):
        return None


def report_seen(pool: str, vm: str, body: Body) -> ReportSeen | None:
    """What a report says, for the VM whose own object it is, whatever is in it; None where it has no time or phase."""
    at, phase, obeyed = moment(body.get("at")), body.get("phase"), body.get("obeyed")
    if at is None or phase not in list(Phase):
        return None
    image, bundle = (each if isinstance(each, str) else None for each in (body.get("image"), body.get("bundle")))
    return ReportSeen(
        vm=vm,
        pool=pool,
        phase=Phase(phase),
        at=at,
        reason=str(body.get("reason") or "")[:_LONGEST],
        image=image,
        bundle=bundle,
        job=str(body.get("job") or "")[:_LONGEST],
        obeyed=obeyed if isinstance(obeyed, int) else 0,
    )


def moment(text: object) -> datetime | None:
    """A time as a report says it, in UTC; None where it is none."""
    try:
        at = datetime.fromisoformat(str(text))
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def dated(record: Record) -> Mapping[str, Any] | None:
    """A report as of when it was written; without a time that can be read it stays as it is, and says nothing."""
    body = _plain(record.body)
    at = moment(body.get("at"))
    if at is None:
        return body
    return None if at - AHEAD > record.updated else {**body, "at": record.updated.isoformat()}


def _plain(value: Any) -> Any:
    """Without what a terminal would obey."""
    match value:
        case str():
            return value if value.isprintable() else "".join(each if each.isprintable() else "?" for each in value)
        case list():
            return [_plain(each) for each in value]
        case dict():
            return {_plain(key): _plain(each) for key, each in value.items()}
        case _:
            return value
