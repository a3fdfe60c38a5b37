"""What VMs write of themselves, read as the words of somebody who may lie: a job that broke out has its VM's account.

Owns how much of a report is read and that nothing in it works on whoever reads it. What it means is its readers'.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from infra.fleet.controller.observed import Phase, ReportSeen
from infra.fleet.proofs import ForgedReportError, Proofs
from infra.fleet.records import Body, Records, UnreadableRecordError
from infra.model import names

MOST_BYTES: Final = 256 * 1024
"""Several times what a VM writes of 50 steps and 50 events at their longest."""
AHEAD: Final = timedelta(minutes=5)
"""By how much a VM's clock may be ahead. One whose clock is off by half a minute takes no job, and says so."""
_LONGEST: Final = 300
"""Characters of a reason or of a job's name."""


def proved_report(
    records: Records,
    pool: str,
    vm: str,
    proofs: Proofs,
    made: Mapping[str, str],
    unlisted: Collection[str] = (),
    *,
    proves: bool,
) -> ReportSeen | None:
    """What a VM's report says, where no other can have written it; None where it says nothing.

    made, unlisted: as `Proofs.zone` takes them. proves: whether the VM is known to prove its reports. One that does not
    proves them no better than those who wrote them before there were proofs. Raises GoogleError.
    """
    try:
        record = records.read(names.report_object(pool, vm), most=MOST_BYTES)
        body = None if record is None else _dated(_plain(record.body), record.updated)
        if record is None or body is None:
            return None
        zone = proofs.zone(records, vm, record, made, unlisted)
    except (UnreadableRecordError, RecursionError, ForgedReportError):
        return None
    seen = report_seen(pool, vm, body)
    return None if seen is None or (proves and not zone) else replace(seen, proved=zone)


def read_report(records: Records, pool: str, vm: str) -> Mapping[str, Any] | None:
    """A VM's report, its texts in printable characters; None where there is none that can be read as one.

    Its time is when it was written, by the service's clock: of the time that is in it, it is only believed that it is
    not from the future. Otherwise one report could be of all VMs that come to have the name. Raises GoogleError where
    the bucket does not answer.
    """
    try:
        record = records.read(names.report_object(pool, vm), most=MOST_BYTES)
        return None if record is None else _dated(_plain(record.body), record.updated)
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


def _dated(body: dict[str, Any], written: datetime) -> Mapping[str, Any] | None:
    """Without a time that can be read it stays so, and says nothing (`report_seen`)."""
    at = moment(body.get("at"))
    if at is None:
        return body
    return None if at - AHEAD > written else {**body, "at": written.isoformat()}


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
