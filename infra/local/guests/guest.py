"""One guest: what `start.sh` and `supervisor.sh` decide on a VM, taken at the moments of the cloud's clock.

Owns the decisions and the report. What is reached is `surroundings`, what lasts is `disk`. Different from a VM: work on
the machine itself (cleaning, pulling) takes no time, a runner whose registration was lost hears nothing and goes on,
and where no image is promoted a guest does without one, so that a fleet comes alive before its first build.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from infra.local.cloud.control import ControlError
from infra.local.guests import boot
from infra.local.guests.disk import FIRST_DELAY, LONGEST_STORY, Disk
from infra.local.guests.surroundings import Orders, Surroundings, UnreadableError, Vm

LONGEST_PAUSE: Final = 300.0
ASK_APART: Final = 60.0
REPORT_EVERY: Final = 300.0

_RESULTS: Final = {"success": "Succeeded", "failure": "Failed", "cancelled": "Canceled"}
_MOST_TURNS: Final = 50


class Guest:
    """now: cloud time. compression: what boots are shorter by. jobs_wait, faults: whether there are any at all."""

    def __init__(
        self, vm: Vm, disk: Disk, around: Surroundings, *, now: float, compression: float, jobs_wait: bool, faults: bool
    ) -> None:
        self._vm, self.disk, self._around = vm, disk, around
        self._now, self._at = now, now
        self._compression, self._jobs_wait, self._faults = compression, jobs_wait, faults
        self._news = False

    def live(self) -> None:
        """Do everything that there was time for until now."""
        if self._vm.state != "READY":
            self._lie_down()
            return
        if self.disk.down:
            self._at = min(self._vm.since, self._now)
            self._boot("", first=not self.disk.drawn)
        for _ in range(_MOST_TURNS):
            if not self._goes_on():
                break
        if self._news or self._now - self.disk.reported >= REPORT_EVERY:
            self._report()

    def _goes_on(self) -> bool:
        """One decision; whether another may follow at this moment."""
        disk = self.disk
        due = disk.until is not None and disk.until <= self._now
        if disk.phase == "booting" and disk.began:
            if due:
                self._booted()
            return due
        if disk.phase in ("idle", "busy"):
            return self._meanwhile(due=due)
        # Whoever halts at the first boot has no supervisor, which is what hears orders.
        if (disk.phase == "halted" and not disk.seen) or (not due and disk.seen == self._orders_text()):
            return False
        self._at = disk.until if due and disk.until is not None else self._now
        self._serve()
        return True

    # Boot

    def _boot(self, reason: str, *, first: bool) -> None:
        disk, longer = self.disk, 0.0
        if not disk.drawn:
            disk.drawn = True
            disk.mute = self._struck("mute") is not None
            slow = self._struck("slow-boot")
            longer = slow["seconds"] if slow else 0.0
        disk.down, disk.began = False, self._at
        disk.until = self._at + longer + boot.seconds(disk.life, first=first) / self._compression
        disk.last_host, seconds = boot.slowest(disk.life, self._vm.hosts, first=first)
        disk.gathered = self._at + seconds / self._compression
        disk.boot = []
        self._phase("booting", reason)

    def _booted(self) -> None:
        disk = self.disk
        self._at = disk.until or self._now
        bundle = disk.bundle or self._first_bundle()
        if not bundle or not self._has_bundle(bundle):
            # The stub asks until there is one, and tells nobody.
            disk.until = self._now + LONGEST_PAUSE
            return
        disk.boot, disk.bundle = boot.story(disk.began, self._at), bundle
        for step in disk.boot:
            self._event("step-ended", at=step["ended"], step=step["step"], outcome=step["outcome"])
        disk.began = 0.0
        if fault := self._struck("broken", bundle):
            disk.until = None
            self._phase("halted", fault["message"] or boot.HALTED)
        else:
            self._serve()

    def _first_bundle(self) -> str:
        """As the stub takes it: the orders', else everybody's."""
        with suppress(UnreadableError):
            return self._around.orders(self._vm).bundle or str((self._around.startup(self._vm) or {}).get("bundle", ""))
        return ""

    def _has_bundle(self, sha256: str) -> bool:
        with suppress(UnreadableError):
            return self._around.has_bundle(self._vm, sha256)
        return False

    # One round of the supervisor

    def _serve(self) -> None:
        disk = self.disk
        disk.seen = self._orders_text()
        try:
            orders = self._around.orders(self._vm)
        except UnreadableError as error:
            self._pause("registering", str(error))
            return
        if self._obeyed(orders):
            return
        if orders.drain:
            self._phase("draining", "drained by order")
            disk.until = None
        elif self._unfit():
            self._phase("unfit", disk.spoiled)
            disk.until = None
        else:
            self._register(orders)

    def _obeyed(self, orders: Orders) -> bool:
        """Whether a restart or another bundle was ordered, which both begin with a boot."""
        disk = self.disk
        # What stood there first was told to another VM of its name.
        disk.obeyed = orders.restart if disk.obeyed is None else disk.obeyed
        if orders.restart > disk.obeyed:
            disk.obeyed = orders.restart
            self._event("restart", number=str(orders.restart))
            self._stop_runner()
            self._boot(f"restarted by order {orders.restart}", first=False)
            return True
        if orders.bundle in ("", disk.bundle):
            return False
        if not self._has_bundle(orders.bundle):
            self._pause("booting", f"the ordered bundle {orders.bundle[:12]} cannot be read")
            return True
        disk.bundle = orders.bundle
        self._boot(f"bundle {orders.bundle[:12]} by order", first=False)
        return True

    def _unfit(self) -> bool:
        if not self.disk.spoiled and (fault := self._struck("unfit")):
            self.disk.spoiled = fault["message"] or boot.UNFIT
        return bool(self.disk.spoiled)

    def _register(self, orders: Orders) -> None:
        disk = self.disk
        if disk.phase != "registering":
            self._phase("cleaning")
        if orders.image != disk.image:
            self._phase("pulling")
            disk.image = orders.image
        disk.until = None
        if broken := self._struck("broken", disk.image):
            self._phase("unfit", broken["message"] or boot.BROKEN)
            return
        self._phase("registering", disk.reason if disk.phase == "registering" else "")
        if disk.mute:
            return
        if self._now < disk.gathered:
            disk.until = disk.gathered
            self._phase("registering", f"waits for host {disk.last_host} of its slice")
            return
        if self._now < disk.turn:
            disk.until = disk.turn
            self._phase("registering", "the broker is asked again when it lets a VM come")
            return
        answer = self._around.register(self._vm)
        self._at = self._now
        # From when it answered, as the broker counts, and not from when this look began.
        disk.turn = self._around.control.clock()["seconds"] + (ASK_APART if answer.jit else answer.again or 0.0)
        if not answer.jit:
            self._pause("registering", answer.reason, None if answer.again is None else disk.turn)
            return
        disk.jit, disk.runner, disk.delay, disk.until = answer.jit, answer.runner, FIRST_DELAY, None
        self._event("registered", runner=answer.runner)
        try:
            self._around.control.connect(answer.jit)
        except ControlError as error:
            self._stop_runner()
            self._pause("registering", f"runner {answer.runner} ended at once without a job: {error}")
            return
        self._phase("idle")

    # While a runner runs

    def _meanwhile(self, *, due: bool) -> bool:
        disk, orders = self.disk, self._own_orders()
        if disk.phase == "busy" and due:
            self._end_job()
        elif orders is not None and orders.restart > (disk.obeyed or 0):
            self._stop_runner()
        elif disk.phase == "busy":
            return False
        elif orders is not None and self._is_wanted_elsewhere(orders):
            self._stop_runner()
        else:
            return self._took_a_job()
        self._serve()
        return True

    def _is_wanted_elsewhere(self, orders: Orders) -> bool:
        return orders.drain or orders.image != self.disk.image or orders.bundle not in ("", self.disk.bundle)

    def _took_a_job(self) -> bool:
        disk = self.disk
        if not self._jobs_wait:
            return False
        try:
            work = self._around.control.take_work(disk.jit)
        except ControlError:
            # The registration was lost, and nobody tells the runner.
            return False
        if work["job"] is None:
            return False
        disk.number, disk.job, disk.conclusion = work["job"]["id"], work["job"]["name"], "success"
        disk.until = None if work["seconds"] is None else self._now + work["seconds"]
        self._event("job-began", job=disk.job, runner=disk.runner)
        self._phase("busy")
        return True

    def _end_job(self) -> None:
        disk = self.disk
        self._at = min(disk.until or self._now, self._now)
        try:
            self._around.control.end_job(disk.jit, disk.conclusion)
            self._event("job-ended", job=disk.job, result=_RESULTS[disk.conclusion])
        except ControlError as error:
            self._event("job-ended", job=disk.job, result="Abandoned", reason=str(error))
        self._event("runner-ended", runner=disk.runner)
        disk.forget_runner()

    def _stop_runner(self) -> None:
        if self.disk.jit:
            self._event("runner-ended", runner=self.disk.runner)
        end_runner(self._around, self.disk)

    def _lie_down(self) -> None:
        if not self.disk.down:
            end_runner(self._around, self.disk)
            self.disk.down, self.disk.until = True, None

    # What it tells

    def _pause(self, phase: str, reason: str, until: float | None = None) -> None:
        """Wait because of what is blamed: until when the broker says, or longer each time."""
        disk = self.disk
        disk.until = self._now + disk.delay * 1.5 if until is None else until  # in the middle of what it draws
        disk.delay = min(disk.delay * 2, LONGEST_PAUSE)
        self._phase(phase, reason)

    def _phase(self, name: str, reason: str = "") -> None:
        if (self.disk.phase, self.disk.reason) == (name, reason):
            return
        self.disk.phase, self.disk.reason = name, reason
        self._event("phase", phase=name, **({"reason": reason} if reason else {}))

    def _event(self, event: str, at: str = "", **more: str) -> None:
        told = {"at": at or boot.moment(self._at), "event": event, **more}
        self.disk.events = [*self.disk.events, told][-LONGEST_STORY:]
        self._news = True

    def _report(self) -> None:
        disk, vm = self.disk, self._vm
        disk.reported = self._now
        body = {"version": 1, "at": boot.moment(self._now), "stack": vm.stack, "pool": vm.pool, "vm": vm.id}
        self._around.report(vm, body | {"machine": vm.machine, "worker": 0} | disk.told())

    def _orders_text(self) -> str:
        return orders.text if (orders := self._own_orders()) else ""

    def _own_orders(self) -> Orders | None:
        with suppress(UnreadableError):
            return self._around.orders(self._vm)
        return None

    def _struck(self, kind: str, running: str = "") -> dict[str, Any] | None:
        return self._around.control.strike_guest(self._vm.name, kind, running) if self._faults else None


def end_runner(around: Surroundings, disk: Disk) -> None:
    """The program of a runner stops without a word; GitHub sees it go offline."""
    if disk.jit:
        # There may be no registration any more.
        with suppress(ControlError):
            around.control.disconnect(disk.jit)
    disk.forget_runner()
