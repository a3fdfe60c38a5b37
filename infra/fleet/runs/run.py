"""One run from its number to the end of its VM: count it, make the VM, follow its command, bring back, delete.

Owns the order, and that the VM is deleted however the run ends: done, failed, cancelled, or by an error of its own.
A client that comes back after its run was ended by somebody else makes nothing more, and writes no second end. What
nobody is left to delete carries its end as a label, by which the controller's sweeps delete it. What follows on what
is `decide`, every call is a port.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from infra.fleet.runs import decide
from infra.fleet.runs.counted import Counted
from infra.fleet.runs.decide import ENDS, Ended, GiveUp, HostStatus, Obstacle, Reason, RunEnd, Tried
from infra.fleet.runs.delete import delete_all
from infra.fleet.runs.left_vms import left_of
from infra.fleet.runs.ports import CancelledError, EndedError, NoVmError, RunError, RunPorts
from infra.fleet.runs.reports import HostReports
from infra.fleet.runs.results import ResultsError, unpacked
from infra.fleet.runs.vm import node_body, told
from infra.model import bucket_names, names
from infra.model.run_labels import RunVm
from infra.model.run_records import CLIENT_LOST
from infra.model.runs import MOST_METADATA, RunPlace, RunRequest

_RESULTS: Final = "results.tar.gz"
_LATE: Final = 30.0
"""Seconds after the command's own limit before the client ends it: what runs on the VM is asked first."""
_AT_WORK: Final = ("running", "ended")
T = TypeVar("T")


@dataclass(kw_only=True)
class Run:
    """One run. run: its number, letters and digits; attempt: of its maker, from 1. tree: what its client sends, packed.

    into: the folder for results, None where none shall come back. key: of its objects, which nobody can guess.
    """

    request: RunRequest
    run: str
    attempt: int
    ports: RunPorts
    tree: bytes | None = None
    into: Path | None = None
    key: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    vm: str = field(init=False)
    _counted: Counted = field(init=False)
    _running: bool = field(init=False, default=False)
    _reports: HostReports = field(init=False)
    _vm_seen: Mapping[str, Any] = field(init=False, default_factory=dict)
    _logs: dict[int, Any] = field(init=False, default_factory=dict)
    _read: dict[int, int] = field(init=False, default_factory=dict)
    _results: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.vm = names.run_vm_name(self.request.pool, self.run, self.attempt)
        self._reports = HostReports(ports=self.ports)
        self._counted = Counted(request=self.request, run=self.run, vm=self.vm, ports=self.ports)

    def whole(self) -> RunEnd:
        """Everything. A cancelled run ends as one too, once its VM is deleted."""
        claimed, ended = False, None
        try:
            ended = self._too_long()
            if ended is None:
                claimed = True  # also where somebody cancels before the answer is there
                ended = self._counted.claim()
                claimed = ended is None
            ended = ended or self._make() or self._follow()
        except CancelledError:
            ended = Ended(Reason.CANCELLED, "the run was cancelled")
        except EndedError as error:
            ended = Ended(Reason.CANCELLED, str(error))
        except RunError as error:
            ended = Ended(Reason.OUTAGE, str(error))
        finally:
            # Whatever else is raised, the VM is deleted before it is passed on.
            left = _anyway(self.delete) if claimed else ""
            if claimed:
                _anyway(lambda: self._counted.settle(ended.reason.value if ended else CLIENT_LOST, left))
        return self._end(ended, left)

    # Counted, and made

    def _too_long(self) -> Ended | None:
        """How the run ends before anything is made of it, where its VM cannot be told what to run."""
        longest = max(len(self._told(place).encode()) for place in self.request.places)
        if longest <= MOST_METADATA:
            return None
        says = f"the VM would be told {longest} bytes, and metadata holds {MOST_METADATA}"
        return Ended(Reason.REFUSED, f"{says}; shorten the command or its variables, or put them into the tree")

    def _make(self) -> Ended | None:
        """Send the tree and obtain the VM; how the run ended where there is none."""
        if self.tree is not None:
            self.ports.objects.put(self._tree_object, self.tree)
        tried: list[Tried] = []
        request, until = self.request, self.ports.clock() + self.request.times.create
        while True:
            found = decide.next_attempt(len(request.places), request.rounds, tried, now=self.ports.clock(), until=until)
            if isinstance(found, GiveUp):
                return Ended(found.reason, found.says)
            self._sleep_until(found.after)
            place = request.places[found.place]
            try:
                self._obtain(place, until)
            except NoVmError as error:
                self.ports.tell(f"{place.zone} {place.capacity}: {error.obstacle}: {error.text}")
                tried.append(Tried(found.place, error.obstacle, error.text, self.ports.clock()))
                self._forget(place, until)
            else:
                self._counted.keep(start=int(self.ports.clock()))
                return None

    def _obtain(self, place: RunPlace, until: float) -> None:
        """Raises NoVmError. What was refused, or not answered, may stand all the same."""
        self._counted.keep(zone=place.zone, capacity=place.capacity)
        self.ports.tell(f"asking for {self.request.accelerator} in {place.zone}, {place.capacity}")
        try:
            operation = self.ports.vms.create(place.zone, self.vm, self._node(place))
        except NoVmError:
            if not self._is_ours(place):
                raise
            operation = ""  # the answer was lost, and not the request
        while True:
            state = None
            with contextlib.suppress(RunError):  # nobody can say for now
                state = self._state(place.zone)
            if state == "READY":
                self.ports.tell(f"{self.vm} is READY in {place.zone}")
                return
            if operation:
                self.ports.vms.check(operation)
            if state is not None and decide.gone(state):
                raise NoVmError(Obstacle.STOCKOUT, f"the VM became {state} before it was READY")
            if self.ports.clock() >= until:
                raise NoVmError(Obstacle.OUTAGE, f"the VM was not READY after {self.request.times.create} s")
            self.ports.sleep(self.ports.poll)

    def _is_ours(self, place: RunPlace) -> bool:
        with contextlib.suppress(RunError):
            node = self.ports.vms.node(place.zone, self.vm)
            return node is not None and bool(left_of({place.zone: [node]}, self.run))
        return False

    def _forget(self, place: RunPlace, until: float) -> None:
        """Let nothing half made stand in the way of the next attempt."""
        while True:
            try:
                if self._state(place.zone) is None:
                    return
            except RunError:
                return  # a zone that says nothing keeps no other from its turn, and is looked at again in the end
            with contextlib.suppress(RunError):
                self.ports.vms.delete(place.zone, self.vm)
            if self.ports.clock() >= until:
                return
            self.ports.sleep(self.ports.poll)

    def _state(self, zone: str) -> str | None:
        """Of the VM there, None where it is not. Raises RunError where nobody can say."""
        node = self.ports.vms.node(zone, self.vm)
        self._vm_seen = node or self._vm_seen
        state = None if node is None else str(node.get("state", ""))
        if not decide.gone(state):
            self._counted.seen = int(self.ports.clock())
        return state

    def _told(self, place: RunPlace) -> str:
        tree = self._tree_object if self.tree is not None else ""
        prefix = bucket_names.run_work_of(self.request.pool, self.vm, self.key, place.zone)
        return told(self.request, place.zone, prefix, f"{self.run}-{self.attempt}", tree)

    def _node(self, place: RunPlace) -> dict[str, Any]:
        labels = RunVm(run=self.run, expires=self._counted.record.expires).labels()
        return node_body(place, labels, f"run {self.run} of stack {self.request.stack}", self._told(place))

    # Followed

    def _follow(self) -> Ended:
        """Until it has ended. A look that fails is made again: the command goes on meanwhile."""
        began, times = self.ports.clock(), self.request.times
        ready_by, over_by = began + times.ready, began + times.ready + times.limit + _LATE
        while True:
            try:
                hosts = self._hosts()
                if not self._running and all(each is not None and each.phase in _AT_WORK for each in hosts):
                    self._running, over_by = True, self.ports.clock() + times.limit + _LATE
                    self.ports.tell("the command runs")
                state, now = self._state(self._counted.record.zone), self.ports.clock()
                doubts = "; ".join(self._reports.doubts.values())
                if found := decide.ended(state, hosts, now=now, ready_by=ready_by, over_by=over_by, doubts=doubts):
                    self._show_logs()
                    self._bring_back(hosts)
                    if found.reason is Reason.TAKEN_BACK:
                        self._counted.keep()  # who says that it is over has deleted the VM, and not Google
                    return found
            except EndedError:
                raise
            except RunError as error:
                if self.ports.clock() >= over_by:
                    raise
                self.ports.tell(f"looking again: {error}")
            self.ports.sleep(self.ports.poll)

    def _hosts(self) -> list[HostStatus | None]:
        """What each says of itself and is believed, once it is shown what it printed until then."""
        zone = self._counted.record.zone
        said = [
            self._reports.read(host, self._object(host, "status.json"), self._vm_seen, zone)
            for host in range(self.request.hosts)
        ]
        self._show_logs()
        return said

    def _show_logs(self) -> None:
        for host in range(self.request.hosts):
            self._show_log(host)

    def _show_log(self, host: int) -> None:
        digest = self._logs.setdefault(host, hashlib.sha256())
        while (piece := self.ports.objects.get(self._object(host, f"log/{self._read.get(host, 0):06d}"))) is not None:
            self._read[host] = self._read.get(host, 0) + 1
            digest.update(piece)
            self.ports.log(host, piece)

    def _bring_back(self, hosts: Sequence[HostStatus | None]) -> None:
        """What hosts that have ended signed for."""
        found: list[str] = []
        for host, said in enumerate(hosts):
            if said is None or said.phase not in ENDS:
                continue
            if said.log != self._logs[host].hexdigest():
                self.ports.tell(f"the log of host {host} is not the one that its VM wrote")
            if self.into is None or not said.results:
                continue
            target = self.into / f"host-{host}" if self.request.hosts > 1 else self.into
            packed = self.ports.objects.get(self._object(host, _RESULTS))
            try:
                found += unpacked(packed or b"", target, below=self.into, sha256=said.results)
            except ResultsError as error:
                self.ports.tell(f"the results of host {host} are left out: {error}")
        self._results = found

    @property
    def _tree_object(self) -> str:
        return f"{bucket_names.run_vm_prefix(self.request.pool, self.vm, self.key)}tree.tar.gz"

    def _object(self, host: int, name: str) -> str:
        prefix = bucket_names.run_work_of(self.request.pool, self.vm, self.key, self._counted.record.zone)
        return f"{prefix}{host}/{name}"

    # Deleted

    def delete(self) -> str:
        """Delete every VM of the run in every zone that runs may use, until none is left; what is, in words."""
        until = self.ports.clock() + self.request.times.delete
        counted = (self._counted.record,)
        return delete_all(self.request.zones, self.run, self.ports, until=until, counted=counted).left

    def _end(self, ended: Ended, left: str) -> RunEnd:
        record = self._counted.record
        return RunEnd(
            run=self.run,
            vm=self.vm,
            reason=ended.reason.value,
            says=ended.says,
            code=ended.code,
            zone=record.zone,
            capacity=record.capacity.value,
            accelerator=record.accelerator,
            vm_seconds=record.vm_seconds(int(self.ports.clock())),
            results=tuple(self._results),
            left=left,
        )

    def _sleep_until(self, when: float) -> None:
        while (left := when - self.ports.clock()) > 0:
            self.ports.sleep(min(left, self.ports.poll))


def _anyway(act: Callable[[], T]) -> T:
    """Do what must be done though somebody cancels meanwhile, which one can once (`signals`); twice is as once."""
    try:
        return act()
    except CancelledError:
        return act()
