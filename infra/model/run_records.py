"""What is remembered of each VM that a run made: one JSON object a VM, in the record of the day on which it was asked.

Owns the shape of the day's record (version 1, `bucket_names.run_day_object`), the ceilings that are counted by it, and
for how long a VM stood. Whoever makes VMs for runs writes it with the generation that was read, so that of two that ask
at once one sees the other. Whoever deletes a VM writes its end: its client, the clean-up of its run, or the controller
where its time to live is over (`infra.fleet.controller.books`). The first end stands (`ended`); without one a VM counts
until its time to live is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from infra.model.catalogue import CapacityKind

VERSION: Final = 1
CLIENT_LOST: Final = "client-lost"
"""The reason of a run whose client was killed, or failed by a mistake of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVmRecord:
    """One VM of one run. Times are UNIX seconds.

    vm: its name, which no other VM ever has. asked: when it was claimed. expires: when its time to live is over.
    start: when it was READY, from when Google bills it; None before, and for ever where none was to be had. end: when
    it was deleted; None while it stands, and where the client was killed. zone, capacity: of the last attempt.
    reason: how the run ended, as `run-on --json` says it; empty while it goes on. client: a random word of the one that
    claimed it, so that two clients of one run are told apart.
    """

    vm: str
    run: str
    suite: str
    stack: str
    pool: str
    accelerator: str
    zone: str
    capacity: CapacityKind
    asked: int
    expires: int
    start: int | None = None
    end: int | None = None
    reason: str = ""
    client: str = ""

    @property
    def had_vm(self) -> bool:
        """Whether there was a VM: a run that found no capacity counts against no ceiling of the day."""
        return self.start is not None or self.end is None

    def stands(self, now: int) -> bool:
        """Whether it stands at a time, or may."""
        return self.end is None and now < self.expires

    def vm_seconds(self, now: int) -> int:
        """For how long it has been billed by now; of one that nobody ended, until its time to live at most."""
        if self.start is None:
            return 0
        return max(0, (min(now, self.expires) if self.end is None else self.end) - self.start)

    def to_json(self) -> dict[str, Any]:
        """As a line of the record has it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> RunVmRecord:
        """Raises ValueError for what is none; keys that another version wrote are left out."""
        try:
            return _RECORD.validate_python(body)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "its line"
            raise ValueError(f"the record of a VM for a run cannot be read: {where}: {first['msg']}") from None


_RECORD: Final = TypeAdapter(RunVmRecord)


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The most VMs that runs of a stack may make in a day (UTC), and have at one time."""

    per_day: int
    at_once: int

    def to_json(self) -> dict[str, Any]:
        """As the fleet bucket has it (`bucket_names.run_ceilings_object`), so that no workflow file repeats it."""
        return {"version": VERSION, "per_day": self.per_day, "at_once": self.at_once}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Ceilings:
        """Raises ValueError for what `to_json` did not write."""
        version, per_day, at_once = (body.get(key) for key in ("version", "per_day", "at_once"))
        if version != VERSION or not isinstance(per_day, int) or not isinstance(at_once, int):
            raise ValueError(f"no ceilings of version {VERSION}")
        return cls(per_day, at_once)


def day_records(body: Mapping[str, Any] | None) -> tuple[RunVmRecord, ...]:
    """The VMs of a day's record, None where there is none; ValueError for one that cannot be read."""
    if body is None:
        return ()
    if body.get("version") != VERSION or not isinstance(body.get("vms"), list):
        raise ValueError(f"the record of a day's runs has version {body.get('version')!r}, and this reads {VERSION}")
    return tuple(RunVmRecord.from_json(each) for each in body["vms"])


def of_stack(records: Iterable[RunVmRecord], stack: str) -> tuple[RunVmRecord, ...]:
    """Those of one stack: two that share a bucket share the record of a day, and neither pays for the other."""
    return tuple(each for each in records if each.stack == stack)


def day_body(records: Iterable[RunVmRecord]) -> dict[str, Any]:
    """A day's record, its VMs in the order in which they were asked for."""
    ordered = sorted(records, key=lambda each: (each.asked, each.vm))
    return {"version": VERSION, "vms": [each.to_json() for each in ordered]}


def with_record(records: Iterable[RunVmRecord], changed: RunVmRecord) -> tuple[RunVmRecord, ...]:
    """With this one in the place of that of the same VM."""
    return (*(each for each in records if each.vm != changed.vm), changed)


def changed(
    records: Iterable[RunVmRecord], which: Callable[[RunVmRecord], bool], change: Callable[[RunVmRecord], RunVmRecord]
) -> tuple[RunVmRecord, ...]:
    """With a change of some of them."""
    return tuple(change(each) if which(each) else each for each in records)


def ended(
    record: RunVmRecord, at: int, *, reason: str = CLIENT_LOST, ready: int | None = None, seen: int = 0
) -> RunVmRecord:
    """With its end, which several may write: the first that anybody wrote stands, and its reason, unless the VM was
    seen to stand after it.

    at: when it was gone. ready: since when it was seen READY, for one whose start nobody wrote. seen: when it was seen
    to stand last, 0 where it was not.
    """
    return replace(
        record,
        start=ready if record.start is None else record.start,
        end=max(at if record.end is None else record.end, seen),
        reason=record.reason or reason,
    )


def over_ceiling(
    ceilings: Ceilings, today: Iterable[RunVmRecord], standing: Iterable[RunVmRecord], now: int, *, stack: str
) -> str:
    """Why one more VM may not be made, empty where it may. standing: of the days of which one may still stand."""
    made = sum(each.had_vm for each in today)
    there = sorted(each.vm for each in standing if each.stands(now))
    if made >= ceilings.per_day:
        day = datetime.fromtimestamp(now, UTC).date()
        return (
            f"runs of stack {stack} have made {made} VMs on {day} (UTC), and may make {ceilings.per_day} a day; wait "
            f"for the next day, or raise runs.per_day in stacks/Pulumi.{stack}.yaml"
        )
    if len(there) >= ceilings.at_once:
        return (
            f"{len(there)} VMs stand for runs of stack {stack} ({', '.join(there)}), and {ceilings.at_once} may at "
            f"once; wait until one is deleted, or raise runs.at_once in stacks/Pulumi.{stack}.yaml"
        )
    return ""


def ended_late(record: RunVmRecord, now: int) -> RunVmRecord:
    """A VM whose client is gone and whose time is over, as having stood until then."""
    lost = record.end is None and now >= record.expires
    return ended(record, record.expires) if lost else record
