"""One run from its number to the end of its VM: count it, make the VM, follow its command, bring back, delete.

Owns the order, and that the VM is deleted however the run ends: done, failed, cancelled, or by an error of its own.
What nobody is left to delete carries its end as a label, by which the controller's sweeps delete it. What follows on
what is `decide`, every call is a port.
"""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from infra.fleet.runs import decide
from infra.fleet.runs.decide import Ended, GiveUp, HostStatus, LeftVm, Obstacle, Reason, Tried
from infra.fleet.runs.ports import NoVmError, RunError, RunPorts
from infra.model import names
from infra.model.json_shape import JsonShape
from infra.model.node import STARTUP_SCRIPT_KEY
from infra.model.run_labels import RunVm
from infra.model.run_records import RunVmRecord
from infra.model.runs import MOST_METADATA, RunPlace, RunRequest

ISOLATION: Final = "tidepool-isolation"
TOLD: Final = "tidepool-run"
_HERE: Final = Path(__file__).parent
_ROOT: Final = _HERE.parents[2]
_RESULTS: Final = "results.tar.gz"
MOST_RESULTS: Final = 1 << 30
"""Bytes of all results together, unpacked."""
_LATE: Final = 30.0
"""Seconds after the command's own limit before the client ends it: what runs on the VM is asked first."""


class CancelledError(BaseException):
    """Somebody ends the run: Ctrl-C, TERM, or a cancelled job. No failure, and nothing that handles one may keep it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd(JsonShape):
    """How a run ended. vm_seconds: for how long its VM stood READY. results: what came back, below `into`.

    left: what could not be deleted, in words; the controller deletes it when its time to live is over.
    """

    JSON = (
        "run", "vm", "reason", "says", "code", "zone", "capacity", "accelerator", "vmSeconds=vm_seconds",
        "results", "left",
    )  # fmt: skip

    run: str
    vm: str
    reason: str
    says: str
    code: int | None
    zone: str
    capacity: str
    accelerator: str
    vm_seconds: int
    results: tuple[str, ...] = ()
    left: str = ""

    @property
    def done(self) -> bool:
        return self.reason == Reason.DONE and not self.left


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
    _read: dict[int, int] = field(init=False, default_factory=dict)
    _results: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.vm = names.run_vm_name(self.request.pool, self.run, self.attempt)

    def whole(self) -> RunEnd:
        """Everything. A cancelled run ends as one too, once its VM is deleted."""
        refused, left = False, ""
        self._record = self._first_record()
        try:
            ended = self._claimed()
            refused = ended is not None
            ended = ended or self._make() or self._follow()
        except CancelledError:
            ended = Ended(Reason.CANCELLED, "the run was cancelled")
        except RunError as error:
            ended = Ended(Reason.OUTAGE, str(error))
        finally:
            # Whatever else is raised, the VM is deleted before it is passed on.
            left = "" if refused else self.delete()
        return self._end(ended, left, claimed=not refused)

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
            self.ports.objects.put(f"{names.run_vm_prefix(self.request.pool, self.vm)}tree.tar.gz", self.tree)
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
            node = self.ports.vms.node(place.zone, self.vm)
            state = str(node.get("state", "")) if node else None
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
            with contextlib.suppress(RunError):
                if self.ports.vms.node(place.zone, self.vm) is None:
                    return
                self.ports.vms.delete(place.zone, self.vm)
            if self.ports.clock() >= until:
                return
            self.ports.sleep(self.ports.poll)

    def _node(self, place: RunPlace) -> dict[str, Any]:
        carried = {Path(each).name: (_ROOT / each).read_text(encoding="utf-8") for each in self.request.carried}
        run, tree = f"{self.run}-{self.attempt}", self.tree is not None
        told = json.dumps(self.request.told(self.vm, run, tree=tree, carried=carried))
        if len(told.encode()) > MOST_METADATA:
            raise RunError(
                f"what the VM is told has more than {MOST_METADATA} bytes; shorten the command or its variables"
            )
        labels = RunVm(run=self.run, expires=self._record.expires).labels()
        return {
            **place.node,
            "description": f"Tidepool run {self.run} of stack {self.request.stack}",
            "labels": {**place.node.get("labels", {}), **labels},
            "metadata": {
                STARTUP_SCRIPT_KEY: guest_program(),
                TOLD: told,
                ISOLATION: (_HERE.parent / "runner" / "isolation.sh").read_text(encoding="utf-8"),
            },
        }

    # Followed

    def _follow(self) -> Ended:
        began, times = self.ports.clock(), self.request.times
        ready_by, over_by = began + times.ready, began + times.ready + times.limit + _LATE
        running = False
        while True:
            hosts = [self._status(host) for host in range(self.request.hosts)]
            for host in range(self.request.hosts):
                self._show_log(host)
            if not running and all(each is not None and each.phase in ("running", "ended") for each in hosts):
                running, over_by = True, self.ports.clock() + times.limit + _LATE
                self.ports.tell("the command runs")
            node = self.ports.vms.node(self._record.zone, self.vm)
            state = str(node.get("state", "")) if node else None
            now = self.ports.clock()
            if found := decide.ended(state, hosts, now=now, ready_by=ready_by, over_by=over_by):
                for host in range(self.request.hosts):
                    self._show_log(host)
                self._bring_back()
                return found
            self.ports.sleep(self.ports.poll)

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
        for host in range(self.request.hosts if self.into is not None else 0):
            packed = self.ports.objects.get(self._object(host, _RESULTS))
            if packed is not None and self.into is not None:
                target = self.into / f"host-{host}" if self.request.hosts > 1 else self.into
                try:
                    self._results += unpacked(packed, target, below=self.into)
                except (tarfile.TarError, OSError, ValueError) as error:
                    self.ports.tell(f"the results of host {host} are left out: {error}")

    def _object(self, host: int, name: str) -> str:
        return f"{names.run_vm_prefix(self.request.pool, self.vm)}{host}/{name}"

    # Deleted

    def delete(self) -> str:
        """Delete every VM of the run in every zone that runs may use, until none is left; what is, in words."""
        until = self.ports.clock() + self.request.times.delete
        return delete_all(self.request.zones, self.run, self.ports, until=until)

    def _end(self, ended: Ended, left: str, *, claimed: bool) -> RunEnd:
        now = int(self.ports.clock())
        if claimed:
            self._keep(reason=ended.reason.value, **({} if left else {"end": now}))
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
            vm_seconds=record.vm_seconds(now),
            results=tuple(self._results),
            left=left,
        )

    def _keep(self, **known: Any) -> None:
        """A record that cannot be written keeps no VM standing."""
        self._record = replace(self._record, **known)
        try:
            self.ports.ledger.keep(self._record)
        except RunError as error:
            self.ports.tell(f"the record of this run is behind: {error}")

    def _sleep_until(self, when: float) -> None:
        while (left := when - self.ports.clock()) > 0:
            self.ports.sleep(min(left, self.ports.poll))


def delete_all(zones: Iterable[str], run: str, ports: RunPorts, *, until: float) -> str:
    """Delete every VM with the run's label, of any attempt, in these zones; what is left, in words.

    Run twice it changes nothing. Every zone is looked at once in any case.
    """
    while True:
        nodes: dict[str, tuple[Mapping[str, Any], ...]] = {}
        silent: list[str] = []
        for zone in zones:
            try:
                nodes[zone] = tuple(ports.vms.listed(zone))
            except RunError:
                silent.append(zone)
        vms = decide.left(nodes, run)
        for vm in decide.to_delete(vms):
            _ask_to_delete(vm, ports)
        left = decide.not_deleted(vms, silent)
        if not left or ports.clock() >= until:
            return left
        ports.sleep(ports.poll)


def _ask_to_delete(vm: LeftVm, ports: RunPorts) -> None:
    """One that is still being made refuses; the next look finds it."""
    with contextlib.suppress(RunError):
        ports.vms.delete(vm.zone, vm.name)
        ports.tell(f"deleting {vm.name} in {vm.zone}")


def guest_program() -> str:
    """The start-up script of a VM for one run."""
    return f"#!/usr/bin/env python3\n{(_HERE / 'guest.py').read_text(encoding='utf-8')}"


def unpacked(packed: bytes, target: Path, *, below: Path) -> list[str]:
    """Files of a stranger's archive in a folder, by their paths below another; links and devices are left out.

    Paths of the tree lose the folder that the VM has it in. ValueError for more than MOST_RESULTS bytes.
    """
    found, size = [], 0
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            if not member.isfile() or path.is_absolute() or ".." in path.parts:
                continue
            size += member.size
            if size > MOST_RESULTS:
                raise ValueError(f"they have more than {MOST_RESULTS} bytes")
            inside = path.relative_to("source") if path.parts[0] == "source" else path
            content = archive.extractfile(member)
            place = target / inside
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.read() if content else b"")
            found.append(str(place.relative_to(below)))
    return sorted(found)
