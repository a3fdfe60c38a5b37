"""One guest: the supervisor of a VM, driven at the moments of the cloud's clock.

Owns when the supervisor is asked what follows, and what GitHub's runner says. What it decides is the core that VMs run
(`infra.fleet.runner.supervisor`), what it asks for is done by `machine`, what lasts is `disk`.
"""

from __future__ import annotations

from typing import Final

from bench.cloud.control import ControlError
from bench.guests.disk import Disk
from bench.guests.machine import RESTARTS, STUB_ASKS, GuestMachine, HangsError, boot_seconds, end_runner
from bench.guests.surroundings import Endpoints, UnreadableError, Vm
from infra.fleet.runner.supervisor import orders, report
from infra.fleet.runner.supervisor.boot import Boot
from infra.fleet.runner.supervisor.effects import Steps
from infra.fleet.runner.supervisor.orders import UnreadableError as NoOrdersError
from infra.fleet.runner.supervisor.state import State, Waits
from infra.fleet.runner.supervisor.supervise import Supervisor

_RESULTS: Final = {"success": "Succeeded", "failure": "Failed", "cancelled": "Canceled"}
_MOST_TURNS: Final = 100
_STOPPED: Final = 143


class Guest:
    """now: cloud time. compression: what boots are shorter by. jobs_wait, faults: whether there are any at all."""

    def __init__(
        self, vm: Vm, disk: Disk, around: Endpoints, *, now: float, compression: float, jobs_wait: bool, faults: bool
    ) -> None:
        self._vm, self.disk, self._around = vm, disk, around
        self._now = now
        self._compression, self._jobs_wait = compression, jobs_wait
        self._machine = GuestMachine(vm, disk, around, at=now, faults=faults)
        self._core = self._supervisor()

    def live(self) -> None:
        """Do everything that there was time for until now."""
        if self._vm.state != "READY":
            self._lie_down()
            return
        if self.disk.down:
            self._machine.at = min(self._vm.since, self._now)
            self._boots("", first=not self.disk.drawn)
        for _ in range(_MOST_TURNS):
            if not self._goes_on():
                break
        if self._machine.news:
            self._report()

    def _goes_on(self) -> bool:
        """One decision; whether another may follow at this moment."""
        disk, machine = self.disk, self._machine
        if disk.boots is not None:
            return self._booted()
        waits = disk.state.waits
        if waits is Waits.CONTAINER:
            return self._attends()
        if waits is Waits.REST and (disk.state.until is None or disk.state.until > self._now):
            machine.at = self._now
            self._decides(self._core.look())
            return disk.state.waits is not Waits.REST
        if waits is Waits.HANDED_OVER:
            # Whoever halts at the first boot has no supervisor, which is what hears orders.
            return False
        if waits is Waits.REST and disk.state.until is not None:
            machine.at = disk.state.until
        self._decides(self._core.serve())
        return True

    def _supervisor(self) -> Supervisor:
        # A guest does without an image before the first is promoted. Pauses are in the middle of what a VM draws.
        return Supervisor(
            self.disk.state,
            clock=self._clock,
            ticks=self._clock,
            luck=lambda: 0.5,
            host=self._machine.host,
            imageless=True,
        )

    def _clock(self) -> float:
        return self._machine.at

    def _begins_anew(self) -> State:
        """Another process, with what lasts of the one before."""
        self.disk.state = self.disk.state.reborn()
        self._core = self._supervisor()
        return self.disk.state

    def _decides(self, steps: Steps[None]) -> None:
        """One decision, and what the runner says to it at once."""
        disk, machine = self.disk, self._machine
        before = disk.jit
        try:
            machine.carry_out(steps)
        except HangsError:
            # It is asked again where it is to do something else.
            disk.state.waits, disk.state.until, disk.state.under = Waits.REST, None, disk.state.own.text
        if machine.boots is not None:
            bundle, machine.boots = machine.boots, None
            self._boots(bundle, first=False)
        elif disk.state.waits is Waits.CONTAINER:
            if not disk.jit:
                machine.carry_out(self._core.ended(_STOPPED if before else 1))
            elif not before:
                machine.carry_out(self._core.hear(machine.say("Listening for Jobs")))

    # Boot

    def _boots(self, bundle: str, *, first: bool) -> None:
        """Begin a boot, with that bundle or the one that the stub finds."""
        disk, machine, longer = self.disk, self._machine, 0.0
        end_runner(self._around, disk)
        if not disk.drawn:
            disk.drawn = True
            disk.mute = machine.struck("mute") is not None
            slow = machine.struck("slow-boot")
            longer = slow["seconds"] if slow else 0.0
        state = self._begins_anew()
        state.phase, state.boot = "booting", []
        machine.news = True
        disk.down, disk.began, disk.starting = False, machine.at, bundle or self._first_bundle()
        disk.boots = machine.at + longer + boot_seconds(disk.life, first=first) / self._compression

    def _booted(self) -> bool:
        """Whether a boot is over. Without a bundle none begins: the stub asks until there is one, and tells nobody."""
        disk, machine = self.disk, self._machine
        if disk.boots is None or disk.boots > self._now:
            return False
        if not disk.starting or not machine.has_bundle(disk.starting):
            disk.starting, disk.boots = self._first_bundle(), self._now + STUB_ASKS
            return False
        machine.step_seconds, machine.at = disk.boots - disk.began, disk.began
        bundle = disk.starting
        state = self._begins_anew()
        started = machine.carry_out(Boot(state, clock=self._clock, ticks=self._clock, host=machine.host).boot(bundle))
        ended, disk.boots, disk.starting = disk.boots, None, ""
        machine.at = max(ended, machine.at)
        if started:
            disk.current = bundle
        elif disk.current:
            machine.at += RESTARTS
        else:
            return False
        self._begins_anew()
        machine.carry_out(self._core.begin(disk.current))
        return True

    def _first_bundle(self) -> str:
        """As the stub takes it: the orders', else everybody's."""
        machine = self._machine
        try:
            ordered = orders.own(machine.document(orders.orders_object(self._vm.id))).bundle
            return ordered or str((machine.document(orders.STARTUP) or {}).get("bundle", ""))
        except (UnreadableError, NoOrdersError):
            return ""

    # While a runner runs

    def _attends(self) -> bool:
        disk, machine = self.disk, self._machine
        if disk.ends is not None and disk.ends <= self._now:
            machine.at = disk.ends
            self._end_job()
            return True
        machine.at = self._now
        self._decides(self._core.look())
        if disk.state.waits is not Waits.CONTAINER:
            return True
        return self._took_a_job()

    def _took_a_job(self) -> bool:
        disk, machine = self.disk, self._machine
        if not self._jobs_wait or disk.number:
            return False
        try:
            job = self._around.control.take_work(disk.jit)
        except ControlError:
            # The registration was lost, and nobody tells the runner.
            return False
        if job is None:
            return False
        disk.number, disk.conclusion = job["id"], "success"
        disk.ends = None if job["seconds"] is None else self._now + job["seconds"]
        machine.carry_out(self._core.hear(machine.say(f"Running job: {job['name']}")))
        return True

    def _end_job(self) -> None:
        disk, machine = self.disk, self._machine
        try:
            self._around.control.end_job(disk.jit, disk.conclusion)
            result = _RESULTS[disk.conclusion]
        except ControlError:
            result = "Abandoned"
        machine.carry_out(self._core.hear(machine.say(f"Job {disk.state.job} completed with result: {result}")))
        disk.forget_runner()
        machine.carry_out(self._core.ended(0))

    def _lie_down(self) -> None:
        if not self.disk.down:
            end_runner(self._around, self.disk)
            self.disk.down = True

    def _report(self) -> None:
        self.disk.state.reported = self._now
        self._around.report(self._vm, report.text(self.disk.state, self._machine.host, self._now))
