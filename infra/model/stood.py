"""How long VMs of a stack's pools stood READY: a JSON object a day, which the controller's sweeps write.

Owns the record's shape (version 1, `bucket_names.stood_day_object`), what one sweep adds to it, and what several days
say together. Does not own prices (usage). A sweep sees states and no changes, so that a VM counts from the middle of
the two sweeps between which it became READY to the middle of those between which it ceased to be.

A row stays in the records of all days that it touches, with its own start; the latest of them counts. So a record that
was never closed, because the controller was killed or the day was over, is no mistake: what stands in it without an end
had been READY until `seen`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AwareDatetime, ConfigDict, ValidationError

from infra.model.catalogue import CapacityKind
from infra.model.document import DocumentPart

HEARTBEAT: Final = timedelta(minutes=10)
"""How old `seen` may become while nothing changes: what a controller that ends for ever leaves out at most."""


def _whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


_Moment = Annotated[AwareDatetime, AfterValidator(_whole)]


class _Stood(DocumentPart):
    model_config = ConfigDict(extra="ignore")


class ReadyVm(_Stood):
    """A VM that a sweep sees READY. made: when it was created, as its API says it; empty where it does not."""

    vm: str
    zone: str
    made: str
    pool: str
    accelerator: str
    capacity: CapacityKind

    @property
    def life(self) -> tuple[str, str, str]:
        """What no two VMs share, though they follow one another under one name."""
        return self.vm, self.zone, self.made


class StoodVm(ReadyVm):
    """For how long it was READY. end: None for one that was when the record was written."""

    start: _Moment
    end: _Moment | None = None


class StoodDay(_Stood):
    """One day. seen: the last sweep that wrote it."""

    version: Literal[1] = 1
    seen: _Moment
    vms: tuple[StoodVm, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def read_day(body: Mapping[str, Any] | None) -> StoodDay | None:
    """A day's record, None where there is none; ValueError for one that cannot be read."""
    try:
        return None if body is None else StoodDay.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"the record of what stood in a day cannot be read at {where}: {first['msg']}") from None


def noted(
    day: StoodDay | None,
    ready: Iterable[ReadyVm],
    *,
    silent: Collection[str],
    last: datetime | None,
    now: datetime,
    before: StoodDay | None = None,
) -> StoodDay:
    """The record once a sweep saw these VMs. The same sweep twice adds nothing.

    silent: zones that did not answer, whose VMs are taken to stand as before. last: the sweep before this one. before:
    the record of the last day that has one, for the first sweep of a day.
    """
    middle = now if last is None or last > now else last + (now - last) / 2
    there = {each.life: each for each in ready}
    known = day.vms if day else tuple(each for each in before.vms if each.end is None) if before else ()
    over = {"end": _whole(middle)}
    rows = [
        each if each.end or each.life in there or each.zone in silent else each.model_copy(update=over)
        for each in known
    ]
    standing = {each.life for each in rows if each.end is None}
    rows += [StoodVm(**dict(each), start=_begun(each, middle)) for life, each in there.items() if life not in standing]
    found = tuple(sorted(rows, key=lambda each: (each.pool, each.vm, each.start)))
    quiet = day is not None and found == day.vms and timedelta(0) <= now - day.seen < HEARTBEAT
    return day if quiet and day else StoodDay(seen=now, vms=found)


def _begun(vm: ReadyVm, middle: datetime) -> datetime:
    """Not before it was made: the sweep before this one may be long ago."""
    try:
        made = datetime.fromisoformat(vm.made)
    except ValueError:
        return middle
    return max(middle, made) if made.tzinfo else middle


def together(days: Iterable[StoodDay]) -> tuple[StoodVm, ...]:
    """What days say together, oldest first; every row with an end, `seen` where none was written."""
    rows = {(each.life, each.start): (each, each.end or day.seen) for day in days for each in day.vms}
    return tuple(row.model_copy(update={"end": end}) for row, end in rows.values())
