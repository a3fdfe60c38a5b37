"""A boot: machine steps in their order, each told, and the supervisor as the last of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import limits
from .core import Core
from .effects import Log, Sleep, Steps
from .report import moment
from .state import Waits

STEPS: Final = (
    "hold-upgrades", "install-packages", "install-docker", "isolate-jobs", "pull-image", "warm-cache", "allow-reset",
    "install-runner", "start-supervisor",
)  # fmt: skip
"""The order matters: nothing installs before upgrades hold still, no foreign code runs before the metadata server is
out of its reach, nothing pulls before docker is there, and what registers comes last.
"""
MAY_FAIL: Final = "warm-cache"

_ATTEMPTS: Final = 6
_SLOWEST: Final = 60


class Boot(Core):
    """Does what is not done yet, and stops at the first step that fails: half a VM must never register."""

    def boot(self, bundle: str) -> Steps[bool]:
        """Whether the supervisor was started."""
        state = self.state
        # Nothing of before a crash runs any more.
        state.boot, state.refused, state.phase, state.runner, state.job = [], "", "", "", ""
        state.bundle, state.waits = bundle, Waits.HANDED_OVER
        yield Log(f"start-up begins, bundle {bundle}")
        yield from self.phase("booting")
        for number, name in enumerate(STEPS, start=1):
            if not (yield from self._step(f"step {number} of {len(STEPS)}, {name}", name)):
                return False
            yield from self.report_within(limits.REPORT_APART)
        yield from self.report()
        yield Log("start-up ends here; the supervisor asks for jobs")
        return True

    def _step(self, title: str, name: str) -> Steps[bool]:
        began, began_at = self._ticks(), moment(self._clock())
        self.blame = ""
        yield Log(f"{title}: begins")
        yield from self.event("step-began", step=name)
        done = yield from self._done(name)
        seconds = int(self._ticks() - began)
        outcome = "done" if done else "ignored" if name == MAY_FAIL else "failed"
        reason = self.blame or "a command of it failed, see the log"
        yield Log(f"{title}: {_TEXTS[outcome].format(seconds)}")
        ended = moment(self._clock())
        self.state.boot = [*self.state.boot, {"step": name, "began": began_at, "ended": ended, "outcome": outcome}]
        why = {} if done else {"reason": reason}
        yield from self.event("step-ended", step=name, outcome=outcome, seconds=str(seconds), **why)
        if outcome == "failed":
            yield from self._halt(f"step {name}: {reason}")
        return outcome != "failed"

    def _done(self, name: str) -> Steps[bool]:
        if name == "pull-image":
            return (yield from self._has_image())
        # The step before this one has read the start-up record.
        served = self.state.common.serves if name == "warm-cache" else ()
        return (yield from self.step(f"steps/{name}", *served))

    def _has_image(self) -> Steps[bool]:
        """So that the first job does not wait for it."""
        if not (yield from self._again("read the orders", self.read_orders)):
            return False
        if not self.wanted_image:
            yield Log(f"{self.why_no_image}; pull skipped")
            return True
        return (yield from self.have_image(self.wanted_image))

    def _halt(self, reason: str) -> Steps[None]:
        """Some attempts more than other reports get: this one is the last that is heard of the VM."""
        state = self.state
        state.phase, state.reason = "halted", reason
        state.refused, state.refusal = state.bundle, reason
        yield from self.event("halted", reason=reason)
        yield from self._again("write the report", self.report)

    def _again(self, what: str, attempt: Callable[[], Steps[bool]]) -> Steps[bool]:
        """Again after 2, 4, 8 ... at most 60 seconds."""
        delay = 2
        for number in range(1, _ATTEMPTS):
            if (yield from attempt()):
                return True
            yield Log(f"attempt {number} of {_ATTEMPTS} failed: {what}; again in {delay} s")
            yield Sleep(delay)
            delay = min(delay * 2, _SLOWEST)
        return (yield from attempt())


_TEXTS: Final = {
    "done": "done after {} s",
    "ignored": "failed after {} s, and the boot goes on: jobs start with a cold cache",
    "failed": "failed after {} s; this VM is not ready and takes no job",
}
