"""What a client writes of its VM into the record of the day: that it is asked for, where it stands, how it ended.

Owns what becomes of a run whose record cannot be written, or which another one ended. The record is
`infra.model.run_records`.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from infra.fleet.runs.decide import Ended, Reason
from infra.fleet.runs.ports import EndedError, RunError, RunPorts, TakenError
from infra.model.run_records import RunVmRecord
from infra.model.runs import RunRequest


@dataclass(kw_only=True)
class Counted:
    """One VM of one run. seen: when it was seen to stand last, in UNIX seconds; 0 where it never was."""

    request: RunRequest
    run: str
    vm: str
    ports: RunPorts
    seen: int = 0
    record: RunVmRecord = field(init=False)

    def __post_init__(self) -> None:
        now, place = int(self.ports.clock()), self.request.places[0]
        self.record = RunVmRecord(
            vm=self.vm,
            run=self.run,
            suite=self.request.suite,
            stack=self.request.stack,
            pool=self.request.pool,
            accelerator=self.request.accelerator,
            zone=place.zone,
            capacity=place.capacity,
            asked=now,
            expires=now + self.request.times.lifetime,
            client=secrets.token_hex(8),
        )

    def claim(self) -> Ended | None:
        """Nothing where the VM is counted, else how the run ends without one."""
        try:
            refusal = self.ports.ledger.claim(self.record)
        except TakenError as error:
            return Ended(Reason.REFUSED, str(error))
        except RunError as error:
            with suppress(RunError):  # an answer that was lost may have been that it is counted
                self.ports.ledger.settle(replace(self.record, reason=Reason.OUTAGE), int(self.ports.clock()), 0)
            return Ended(Reason.OUTAGE, f"the VM could not be counted, so none is made: {error}")
        return Ended(Reason.CEILING, refusal) if refusal else None

    def keep(self, **known: Any) -> None:
        """A record that cannot be written keeps no VM standing. Raises EndedError."""
        self.record = replace(self.record, **known)
        try:
            self.ports.ledger.keep(self.record)
        except EndedError:
            raise
        except RunError as error:
            self._behind(error)

    def settle(self, reason: str, left: str) -> None:
        """The last word: what could not be deleted stands, and counts."""
        now = int(self.ports.clock())
        self.record = replace(self.record, reason=reason)
        try:
            if left:
                self.ports.ledger.keep(self.record)
            else:
                self.ports.ledger.settle(self.record, now, self.seen)
        except RunError as error:
            self._behind(error)
        if not left:
            self.record = replace(self.record, end=now)

    def _behind(self, error: RunError) -> None:
        self.ports.mention(f"the record of this run is behind: {error}")
