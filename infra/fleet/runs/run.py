"""One run from its number to the end of its VM: count it, make the VM, follow its command, bring back, delete.

Owns the order, and that the VM is deleted however the run ends: done, failed, cancelled, or by an error of its own.
What nobody is left to delete carries its end as a label, by which the controller's sweeps delete it. What follows on
what is `decide`, every call is a port.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from infra.fleet.runs import decide
from infra.fleet.runs.decide import Ended, GiveUp, HostStatus, Obstacle, Reason, RunEnd, Tried
from infra.fleet.runs.delete import delete_all
from infra.fleet.runs.ports import CancelledError, NoVmError, RunError, RunPorts
from infra.fleet.runs.results import ResultsError, unpacked
from infra.fleet.runs.vm import node_body, told
from infra.model import bucket_names, names
from infra.model.run_labels import RunVm
from infra.model.run_records import CLIENT_LOST, RunVmRecord
from infra.model.runs import MOST_METADATA, RunPlace, RunRequest

_RESULTS: Final = "results.tar.gz"
_LATE: Final = 30.0
"""Seconds after the command's own limit before the client ends it: what runs on the VM is asked first."""
_AT_WORK: Final = ("running", "ended")
T = TypeVar("T")


@dataclass(kw_only=True)
class Run:
    """One run. run: its number, letters and digits; attempt: of its maker, from 1. tree: what its client sends, packed.

    into: the folder for results, None where none shall come back.
    """

    request: RunRequest
    run: str
    attempt: int
    ports: RunPorts
    tree: bytes | None = None
    into: Path | None = None
    vm: str = field(init=False)
    _record: RunVmRecord = field(init=False)
    _running: bool = field(init=False, default=False)
    _read: dict[int, int] = field(init=False, default_factory=dict)
    _results: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.vm = names.run_vm_name(self.request.pool, self.run, self.attempt)
        self._record = self._first_record()

    def whole(self) -> RunEnd:
        """Everything. A cancelled run ends as one too, once its VM is deleted."""
        claimed, ended = False, None
        try:
            ended = self._too_long()
            if ended is None:
                claimed = True  # also where somebody cancels before the answer is there
                ended = self._claimed()
                claimed = ended is None
            ended = ended or self._make() or self._follow()
        except CancelledError:
            ended = Ended(Reason.CANCELLED, "the run was cancelled")
        except RunError as error:
            ended = Ended(Reason.OUTAGE, str(error))
        finally:
            # Whatever else is raised, the VM is deleted before it is passed on.
            left = _anyway(self.delete) if claimed else ""
            if claimed:
                _anyway(lambda: self._settle(ended.reason.value if ended else CLIENT_LOST, left))
        return self._end(ended, left)

    # Counted, and made

    def _first_record(self) -> RunVmRecord:
        now, place = int(self.ports.clock()), self.request.places[0]
        return RunVmRecord(
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
        )

    def _too_long(self) -> Ended | None:
        """How the run ends before anything is made of it, where its VM cannot be told what to run."""
        longest = max(len(self._told(place).encode()) for place in self.request.places)
        if longest <= MOST_METADATA:
            return None
        says = f"the VM would be told {longest} bytes, and metadata holds {MOST_METADATA}"
        return Ended(Reason.REFUSED, f"{says}; shorten the command or its variables, or put them into the tree")

    def _claimed(self) -> Ended | None:
        """Nothing where the VM is counted, else how the run ends without one."""
        try:
            refusal = self.ports.ledger.claim(self._record)
        except RunError as error:
            return Ended(Reason.OUTAGE, f"the VM could not be counted, so none is made: {error}")
        return Ended(Reason.CEILING, refusal) if refusal else None

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
                self._keep(start=int(self.ports.clock()))
                return None

    def _obtain(self, place: RunPlace, until: float) -> None:
        """Raises NoVmError. What was refused, or not answered, may stand all the same."""
        self._keep(zone=place.zone, capacity=place.capacity)
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
            return node is not None and bool(decide.left({place.zone: [node]}, self.run))
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
        return None if node is None else str(node.get("state", ""))

    def _told(self, place: RunPlace) -> str:
        tree = self._tree_object if self.tree is not None else ""
        return told(self.request, place.zone, self.vm, f"{self.run}-{self.attempt}", tree)

    def _node(self, place: RunPlace) -> dict[str, Any]:
        labels = RunVm(run=self.run, expires=self._record.expires).labels()
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
                state, now = self._state(self._record.zone), self.ports.clock()
                if found := decide.ended(state, hosts, now=now, ready_by=ready_by, over_by=over_by):
                    self._show_logs()
                    self._bring_back()
                    return found
            except RunError as error:
                if self.ports.clock() >= over_by:
                    raise
                self.ports.tell(f"looking again: {error}")
            self.ports.sleep(self.ports.poll)

    def _hosts(self) -> list[HostStatus | None]:
        """What each says of itself, once it is shown what it printed until then."""
        said = [self._status(host) for host in range(self.request.hosts)]
        self._show_logs()
        return said

    def _show_logs(self) -> None:
        for host in range(self.request.hosts):
            self._show_log(host)

    def _status(self, host: int) -> HostStatus | None:
        """A VM's root writes it; what cannot be read says nothing."""
        content = self.ports.objects.get(self._object(host, "status.json"))
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            said = json.loads(content or b"null")
            code = said.get("code")
            return HostStatus(str(said.get("phase", "")), None if code is None else int(code), str(said.get("why", "")))
        return None

    def _show_log(self, host: int) -> None:
        while (piece := self.ports.objects.get(self._object(host, f"log/{self._read.get(host, 0):06d}"))) is not None:
            self._read[host] = self._read.get(host, 0) + 1
            self.ports.log(host, piece)

    def _bring_back(self) -> None:
        found: list[str] = []
        for host in range(self.request.hosts if self.into is not None else 0):
            packed = self.ports.objects.get(self._object(host, _RESULTS))
            if packed is not None and self.into is not None:
                target = self.into / f"host-{host}" if self.request.hosts > 1 else self.into
                try:
                    found += unpacked(packed, target, below=self.into)
                except ResultsError as error:
                    self.ports.tell(f"the results of host {host} are left out: {error}")
        self._results = found

    @property
    def _tree_object(self) -> str:
        return f"{bucket_names.run_vm_prefix(self.request.pool, self.vm)}tree.tar.gz"

    def _object(self, host: int, name: str) -> str:
        return f"{bucket_names.run_work_of(self.request.pool, self.vm, self._record.zone)}{host}/{name}"

    # Deleted

    def delete(self) -> str:
        """Delete every VM of the run in every zone that runs may use, until none is left; what is, in words."""
        until = self.ports.clock() + self.request.times.delete
        return delete_all(self.request.zones, self.run, self.ports, until=until)

    def _settle(self, reason: str, left: str) -> None:
        """The last word of the record: what could not be deleted stands, and counts."""
        self._keep(reason=reason, **({} if left else {"end": int(self.ports.clock())}))

    def _end(self, ended: Ended, left: str) -> RunEnd:
        record = self._record
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

    def _keep(self, **known: Any) -> None:
        """A record that cannot be written keeps no VM standing."""
        self._record = replace(self._record, **known)
        try:
            self.ports.ledger.keep(self._record)
        except RunError as error:
            self.ports.mention(f"the record of this run is behind: {error}")

    def _sleep_until(self, when: float) -> None:
        while (left := when - self.ports.clock()) > 0:
            self.ports.sleep(min(left, self.ports.poll))


def _anyway(act: Callable[[], T]) -> T:
    """Do what must be done though somebody cancels meanwhile, which one can once (`signals`); twice is as once."""
    try:
        return act()
    except CancelledError:
        return act()
