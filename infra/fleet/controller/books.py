"""What a sweep writes down for whoever computes cost: how long VMs of pools stood, and the end of VMs of lost runs.

Owns what of an observation goes into which record. Does not own the records' shapes (`infra.model.stood`,
`infra.model.run_records`). It is written before anything is deleted, and the same again as long as a VM stands, so that
a sweep that is killed at any point leaves nothing out. A record that cannot be written now is written by a later sweep:
it keeps no VM from what is to be done with it. One that cannot be read is left as it is, and `cost` says so.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import NodeSeen, Observed
from infra.fleet.controller.sorting import MANAGED, STACK, pool_of
from infra.fleet.google import GoogleError
from infra.fleet.records import Body, Records, UnreadableRecordError
from infra.model import bucket_names, run_labels
from infra.model.fleet import owns
from infra.model.run_records import RunVmRecord, changed, day_body, day_records, ended
from infra.model.stood import ReadyVm, StoodDay, noted, read_day

_READY: Final = "READY"
_DAY: Final = timedelta(days=1)
_MOST_DAYS: Final = 9
"""In which a VM is looked for that may stand for a week."""
_UNWRITTEN: Final = (GoogleError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """The records of one stack. last: when the sweep before this one was."""

    records: Records
    stack: str
    last: datetime | None

    def keep(self, observed: Observed, memory: Memory, now: datetime) -> None:
        """Write down what this sweep saw. memory: with this sweep in it."""
        with suppress(*_UNWRITTEN):
            self._keep_day(observed, now)
        for node in observed.nodes:
            if self._is_of_a_lost_run(node, now):
                self._close(node, memory, now)

    def _keep_day(self, observed: Observed, now: datetime) -> None:
        ready = [
            ReadyVm(
                vm=node.name, zone=node.zone, made=node.created, pool=pool_of(node), accelerator=node.accelerator,
                capacity=node.capacity,
            )
            for node in observed.nodes
            if node.state == _READY and owns(self.stack, node.labels)
        ]  # fmt: skip
        silent = [zone for zone, source in observed.zones.items() if not source.known]

        def decide(body: Body | None) -> Body:
            day = read_day(body)
            before = self._before(now) if day is None else None
            return noted(day, ready, silent=silent, last=self.last, now=now, before=before).to_json()

        self.records.update(self._object(now), decide)

    def _before(self, now: datetime) -> StoodDay | None:
        """The record of the day before, or of that of the last sweep, where whole days had none.

        One that cannot be read does not keep a new day from its own.
        """
        found = now - _DAY if self.last is None else min(self.last, now - _DAY)
        try:
            return read_day(self.records.body(self._object(found)))
        except (UnreadableRecordError, ValueError):
            return None

    def _object(self, at: datetime) -> str:
        return bucket_names.stood_day_object(self.stack, at.date())

    def _is_of_a_lost_run(self, node: NodeSeen, now: datetime) -> bool:
        """Whether it is of a run of this stack whose time to live is over: its client did not delete it."""
        labels = run_labels.read(node.labels)
        mine = node.labels.get(STACK) == self.stack and node.labels.get(MANAGED) != "true"
        return mine and labels is not None and labels.has_expired(int(now.timestamp())) and node.state != "DELETING"

    def _close(self, node: NodeSeen, memory: Memory, now: datetime) -> None:
        """In the record of the day on which it was counted."""
        known = memory.nodes.get(node.key)
        since = known.since if known else now
        ready, end = (since, now) if node.state == _READY else (None, since)
        # It was counted before it was made, by its client's clock, and before the end of its time.
        first, labels = (node.made or now) - _DAY, run_labels.read(node.labels)
        last = datetime.fromtimestamp(labels.expires, UTC) if labels else now
        days = min(_MOST_DAYS, (last.date() - first.date()).days + 1)
        for day in (first.date() + turn * _DAY for turn in range(days)):
            with suppress(*_UNWRITTEN):
                self._close_in(bucket_names.run_day_object(day), node.name, ready, end)

    def _close_in(self, name: str, vm: str, ready: datetime | None, end: datetime) -> None:
        since, until = None if ready is None else int(ready.timestamp()), int(end.timestamp())

        def close(record: RunVmRecord) -> RunVmRecord:
            return ended(record, until, ready=since, seen=until)

        if any(each.vm == vm for each in day_records(self.records.body(name))):
            self.records.update(
                name, lambda body: day_body(changed(day_records(body), lambda each: each.vm == vm, close))
            )
