"""The ports of a run on Google, and on the local cloud, which serves the same APIs.

Owns the calls, and what a create's refusal is called. Does not own what follows (`decide`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from googleapiclient.http import MediaInMemoryUpload

from infra.fleet.controller import tpu_api
from infra.fleet.controller.observed import Trouble
from infra.fleet.google import Api, Clients, GoogleError, execute
from infra.fleet.records import ABSENT, ATTEMPTS, Record, Records, UnreadableRecordError
from infra.fleet.reports import MOST_BYTES
from infra.fleet.runs.decide import Obstacle
from infra.fleet.runs.left_vms import VmSeen
from infra.fleet.runs.ports import EndedError, NoVmError, RunError, TakenError
from infra.model import bucket_names
from infra.model.run_records import (
    Ceilings,
    RunVmRecord,
    changed,
    day_body,
    day_records,
    ended,
    ended_late,
    of_stack,
    over_ceiling,
    with_record,
)

_END_DAYS: Final = 3
"""In which a VM was asked for that is cleaned up today: it stands for a day at most, and a job waits for its turn."""
_MISSING: Final = 404
_GONE: Final = (403, _MISSING)
"""Who may not list a bucket is told 403 of an object that is not there."""
_OBSTACLES: Final = {
    Trouble.STOCKOUT: Obstacle.STOCKOUT,
    Trouble.QUOTA: Obstacle.QUOTA,
    Trouble.OUTAGE: Obstacle.OUTAGE,
    Trouble.REFUSED: Obstacle.REFUSED,
}


def obstacle(trouble: Trouble, text: str) -> Obstacle:
    """What a create's failure means to a run."""
    if trouble is Trouble.OUTAGE and tpu_api.is_request_limit(text):
        return Obstacle.REQUEST_LIMIT
    return _OBSTACLES[trouble]


@dataclass(frozen=True, slots=True)
class GoogleTpuVms:
    """`infra.fleet.runs.ports.TpuVms` by the TPU API v2."""

    google: Clients

    def create(self, zone: str, name: str, node: Mapping[str, Any]) -> str:
        request = self._nodes.create(parent=self._parent(zone), nodeId=name, body=dict(node))
        try:
            return str(execute(request, f"creating {name} in {zone}", retries=0)["name"])
        except GoogleError as error:
            raise NoVmError(
                obstacle(tpu_api.trouble_of_answer(error.status, error.reason), error.reason), str(error)
            ) from None

    def check(self, operation: str) -> None:
        request = self.google.api(Api.TPU).projects().locations().operations().get(name=operation)
        try:
            found = execute(request, f"asking for {operation}")
        except GoogleError:
            return  # a create's operation is forgotten, or does not answer: the node itself says whether it is there
        if (error := found.get("error")) and found.get("done"):
            text = str(error.get("message", ""))
            raise NoVmError(obstacle(tpu_api.trouble_of_operation(int(error.get("code", 0)), text), text), text)

    def node(self, zone: str, name: str) -> Mapping[str, Any] | None:
        try:
            return execute(self._nodes.get(name=self._name(zone, name)), f"looking at {name} in {zone}")
        except GoogleError as error:
            if error.status == _MISSING:
                return None
            raise RunError(str(error)) from None

    def delete(self, zone: str, name: str) -> None:
        try:
            execute(self._nodes.delete(name=self._name(zone, name)), f"deleting {name} in {zone}")
        except GoogleError as error:
            if error.status != _MISSING:
                raise RunError(str(error)) from None

    def listed(self, zone: str) -> Sequence[Mapping[str, Any]]:
        try:
            return tuple(tpu_api.raw_nodes(self.google, self._parent(zone)))
        except (GoogleError, tpu_api.ShapeError) as error:
            raise RunError(str(error)) from None

    @property
    def _nodes(self) -> Any:
        return self.google.api(Api.TPU).projects().locations().nodes()

    def _parent(self, zone: str) -> str:
        return f"projects/{self.google.project}/locations/{zone}"

    def _name(self, zone: str, name: str) -> str:
        return f"{self._parent(zone)}/nodes/{name}"


@dataclass(frozen=True, slots=True)
class BucketObjects:
    """`infra.fleet.runs.ports.Objects` of one fleet bucket."""

    google: Clients
    bucket: str

    def get(self, name: str) -> bytes | None:
        request = self.google.api(Api.STORAGE).objects().get_media(bucket=self.bucket, object=name)
        try:
            return execute(request, f"reading {self._shown(name)}")
        except GoogleError as error:
            if error.status in _GONE:
                return None
            raise RunError(str(error)) from None

    def report(self, name: str) -> Record | None:
        try:
            return Records(google=self.google, bucket=self.bucket).read(name, most=MOST_BYTES)
        except (UnreadableRecordError, RecursionError):
            return None
        except GoogleError as error:
            if error.status in _GONE:
                return None
            raise RunError(f"reading {self._shown(name)} failed: {error.reason}") from None

    def put(self, name: str, content: bytes) -> None:
        media = MediaInMemoryUpload(content, mimetype="application/octet-stream")
        request = self.google.api(Api.STORAGE).objects().insert(bucket=self.bucket, name=name, media_body=media)
        try:
            execute(request, f"writing {self._shown(name)}")
        except GoogleError as error:
            raise RunError(str(error)) from None

    def _shown(self, name: str) -> str:
        """An object without the prefix that nobody may guess: a job's log is for everybody."""
        return f"{name.rpartition('/')[2]} of the run in gs://{self.bucket}"


@dataclass(frozen=True, slots=True)
class BucketLedger:
    """`infra.fleet.runs.ports.Ledger` in a fleet bucket, a record a day (`infra.model.run_records`)."""

    records: Records
    stack: str

    def claim(self, record: RunVmRecord) -> str:
        now = record.asked
        ceilings, before = self._ceilings(), self._day(_day(now) - timedelta(days=1))[0]
        said = ""

        def decide(today: tuple[RunVmRecord, ...]) -> tuple[RunVmRecord, ...]:
            nonlocal said
            if any(each.vm == record.vm and each.client != record.client for each in (*before, *today)):
                raise TakenError(f"{record.vm} was claimed by another client: two runs never share a number")
            # A write whose answer was lost is read here: a VM does not stand in its own way.
            settled = tuple(ended_late(each, now) for each in today if each.vm != record.vm)
            own, late = of_stack(settled, self.stack), of_stack(before, self.stack)
            said = over_ceiling(ceilings, own, (*late, *own), now, stack=self.stack)
            return settled if said else with_record(settled, record)

        self._change(_day(now), decide)
        return said

    def keep(self, record: RunVmRecord) -> None:
        def decide(today: tuple[RunVmRecord, ...]) -> tuple[RunVmRecord, ...]:
            if any(each.vm == record.vm and each.end is not None for each in today):
                raise EndedError(f"somebody else ended run {record.run} and deletes its VMs")
            return with_record(today, record)

        self._change(_day(record.asked), decide)

    def settle(self, record: RunVmRecord, at: int, seen: int) -> None:
        def decide(today: tuple[RunVmRecord, ...]) -> tuple[RunVmRecord, ...]:
            told = next((each for each in today if each.vm == record.vm), record)
            if told.client != record.client:
                return today  # who could not read that another client has claimed it
            start = told.start if record.start is None else record.start
            known = replace(record, start=start, end=told.end, reason=told.reason or record.reason)
            # Who ends it first needs no look: what was seen is before that.
            return with_record(today, ended(known, at, seen=0 if told.end is None else seen))

        self._change(_day(record.asked), decide)

    def of_run(self, run: str, now: int) -> tuple[RunVmRecord, ...]:
        last = _day(now)
        return tuple(each for each in self.days(last - timedelta(days=_END_DAYS - 1), last) if each.run == run)

    def end_run(self, run: str, at: int, stood: Mapping[str, VmSeen]) -> None:
        def end(record: RunVmRecord) -> RunVmRecord:
            seen = stood.get(record.vm)
            return ended(record, at) if seen is None else ended(record, at, ready=seen.made, seen=seen.last)

        for ago in range(_END_DAYS):
            self._change(_day(at) - timedelta(days=ago), lambda day: changed(day, lambda each: each.run == run, end))

    def days(self, first: datetime, last: datetime) -> tuple[RunVmRecord, ...]:
        """The VMs that were asked for from one day to another, both included."""
        count = (last.date() - first.date()).days
        return tuple(each for after in range(count + 1) for each in self._day(first + timedelta(days=after))[0])

    def _ceilings(self) -> Ceilings:
        """As the last `up` declared them."""
        name, why = bucket_names.run_ceilings_object(self.stack), "missing"
        try:
            if (body := self.records.body(name)) is not None:
                return Ceilings.from_json(body)
        except GoogleError as error:
            if error.status not in _GONE:
                raise RunError(str(error)) from None
            why = error.reason
        except ValueError as error:
            why = str(error)
        fix = f"Run `./tidepool up {self.stack}`, which declares how many VMs runs may make"
        raise RunError(f"gs://{self.records.bucket}/{name}: {why}. {fix}")

    def _change(self, day: datetime, decide: Callable[[tuple[RunVmRecord, ...]], tuple[RunVmRecord, ...]]) -> None:
        """Read, decide, write where nobody else wrote meanwhile; else again."""
        name, tries, why = bucket_names.run_day_object(day.date()), ATTEMPTS * 4, "other clients changed it each time"
        for _ in range(tries):
            found, generation = self._day(day)
            wanted = decide(found)
            if day_body(wanted) == day_body(found):
                return
            try:
                if self.records.replace(name, day_body(wanted), generation=generation) is not None:
                    return
            except GoogleError as error:
                why = error.reason
                if error.status in _GONE:
                    raise RunError(
                        f"{error}; `./tidepool up {self.stack}` makes the bucket and the grants on it"
                    ) from None
        raise RunError(f"gs://{self.records.bucket}/{name} could not be written in {tries} tries: {why}")

    def _day(self, day: datetime) -> tuple[tuple[RunVmRecord, ...], int]:
        name = bucket_names.run_day_object(day.date())
        try:
            record = self.records.read(name)
            return (day_records(record.body), record.generation) if record else ((), ABSENT)
        except GoogleError as error:
            if error.status in _GONE:
                return (), ABSENT
            raise RunError(str(error)) from None
        except ValueError as error:
            raise RunError(f"gs://{self.records.bucket}/{name}: {error}") from None


def _day(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
