"""What a run reaches, as it asks for it: TPU VMs, objects of its bucket, the record of its day, time, and people."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from infra.fleet.broker.identity import GoogleKeys
from infra.fleet.records import Record
from infra.fleet.runs.decide import Obstacle
from infra.fleet.runs.left_vms import VmSeen
from infra.model.run_records import RunVmRecord


class NoVmError(Exception):
    """A VM was asked for and there is none."""

    def __init__(self, obstacle: Obstacle, text: str) -> None:
        self.obstacle, self.text = obstacle, text
        super().__init__(text)


class RunError(Exception):
    """Something of a run that is not the VM's could not be done; the text says what, and why."""


class TakenError(RunError):
    """Another client has claimed the VM of that run and attempt: what has its labels is not this client's."""


class EndedError(RunError):
    """Somebody else has ended the run and deletes its VMs: its clean-up, or the controller. Nothing more is made."""


class CancelledError(BaseException):
    """Somebody ends the run: Ctrl-C, TERM, HUP, a cancelled job. What handles failures does not handle it."""


class TpuVms(Protocol):
    """TPU VMs of one project."""

    def create(self, zone: str, name: str, node: Mapping[str, Any]) -> str:
        """Ask for one; the name of the operation. Raises NoVmError."""
        ...

    def check(self, operation: str) -> None:
        """Raises NoVmError where the operation has failed; one that goes on, or cannot be asked, is no failure."""
        ...

    def node(self, zone: str, name: str) -> Mapping[str, Any] | None:
        """One as it is, None where it is not there. Raises RunError where nobody can say."""
        ...

    def delete(self, zone: str, name: str) -> None:
        """Ask that it be deleted; one that is gone is no mistake. Raises RunError."""
        ...

    def listed(self, zone: str) -> Sequence[Mapping[str, Any]]:
        """All of a zone. Raises RunError."""
        ...


class Objects(Protocol):
    """The objects of a run in the fleet bucket."""

    def get(self, name: str) -> bytes | None:
        """None for one that is not there. Raises RunError."""
        ...

    def report(self, name: str) -> Record | None:
        """What a host says of itself; None where there is nothing that can be read as a report. Raises RunError."""
        ...

    def put(self, name: str, content: bytes) -> None:
        """Raises RunError."""
        ...


class Ledger(Protocol):
    """The record of what runs make, which several clients write at once."""

    def claim(self, record: RunVmRecord) -> str:
        """Count one more VM where the ceilings allow it, else why they do not. Raises TakenError and RunError."""
        ...

    def keep(self, record: RunVmRecord) -> None:
        """What is known of a claimed VM by now. Raises EndedError, and RunError."""
        ...

    def settle(self, record: RunVmRecord, at: int, seen: int) -> None:
        """The client's last word of a VM that is gone. seen: when it was seen to stand last. Raises RunError."""
        ...

    def of_run(self, run: str, now: int) -> Sequence[RunVmRecord]:
        """What is counted of a run that may be under way. Raises RunError."""
        ...

    def end_run(self, run: str, at: int, stood: Mapping[str, VmSeen]) -> None:
        """End what is counted of a run whose client is gone and of which no VM is left. stood: those that were there,
        by name. Raises RunError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPorts:
    """Everything that a run reaches. clock: UNIX seconds of the cloud. sleep: waits so many seconds of it.

    keys: Google's, by which reports of VMs are proved.
    tell: a line for people about the run. log: a piece of what its command prints, with the number of its host.
    """

    vms: TpuVms
    objects: Objects
    ledger: Ledger
    keys: GoogleKeys
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    tell: Callable[[str], None]
    log: Callable[[int, bytes], None]
    poll: float = 5.0

    def mention(self, line: str) -> None:
        """Tell, where anybody still listens: a terminal that is gone keeps no VM standing."""
        with contextlib.suppress(OSError):
            self.tell(line)
