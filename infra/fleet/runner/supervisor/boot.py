"""A boot: machine steps in stages, each told, and the supervisor as the last of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import limits
from .core import Core
from .effects import Ended, Failed, Log, RunStep, RunSteps, Sleep, Steps
from .report import moment
from .state import Waits

STAGES: Final = (
    ("hold-upgrades",),
    ("install-packages",),
    ("install-docker", "install-runner", "allow-reset"),
    ("isolate-jobs",),
    ("pull-image", "warm-cache"),
    ("start-supervisor",),
)
"""The order matters: nothing installs before upgrades hold still, no foreign code runs before the metadata server is
out of its reach, nothing pulls before docker is there, and what registers comes last. Steps of one stage run side by
side.
"""
STEPS: Final = tuple(step for stage in STAGES for step in stage)
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
        for stage in STAGES:
            if not (yield from self._stage(stage)):
                return False
            yield from self.report_within(limits.REPORT_APART)
        yield from self.report()
        yield Log("start-up ends here; the supervisor asks for jobs")
        return True

    def _stage(self, names: tuple[str, ...]) -> Steps[bool]:
        """Whether nothing failed that may not. What fails is told last."""
        began = self._clock()
        self.blame = ""
        ended: dict[str, Ended] = {}
        wanted: dict[str, RunStep] = {}
        for name in names:
            yield Log(f"{_title(name)}: begins")
            yield from self.event("step-began", step=name)
            step = yield from self._wanted(name)
            if isinstance(step, RunStep):
                wanted[name] = step
            else:
                ended[name] = Ended(self._clock() - began, step)
            if isinstance(step, Failed):
                wanted = {}
                break
        if wanted:
            answer = yield RunSteps(tuple(wanted.values()))
            ended |= zip(wanted, answer, strict=True)
        for name in sorted(ended, key=lambda name: ended[name].failed is not None and name != MAY_FAIL):
            if not (yield from self._ended(name, began, ended[name])):
                return False
        return True

    def _ended(self, name: str, began: float, ended: Ended) -> Steps[bool]:
        outcome = "done" if ended.failed is None else "ignored" if name == MAY_FAIL else "failed"
        seconds = int(ended.seconds)
        yield Log(f"{_title(name)}: {_TEXTS[outcome].format(seconds)}")
        told = {"step": name, "began": moment(began), "ended": moment(began + ended.seconds), "outcome": outcome}
        self.state.boot = [*self.state.boot, told]
        reason = ended.failed.reason or "a command of it failed, see the log" if ended.failed else ""
        why = {"reason": reason} if reason else {}
        yield from self.event("step-ended", step=name, outcome=outcome, seconds=str(seconds), **why)
        if outcome == "failed":
            yield from self._halt(f"step {name}: {reason}")
        return outcome != "failed"

    def _wanted(self, name: str) -> Steps[RunStep | Failed | None]:
        """What is to be run, None where there is nothing to do."""
        if name == "pull-image":
            return (yield from self._image())
        # The step before this one has read the start-up record.
        return RunStep(f"steps/{name}", self.state.common.serves if name == MAY_FAIL else ())

    def _image(self) -> Steps[RunStep | Failed | None]:
        """So that the first job does not wait for it."""
        if not (yield from self._again("read the orders", self.read_orders)):
            return Failed(self.blame)
        if not self.wanted_image:
            yield Log(f"{self.why_no_image}; pull skipped")
            return None
        return (yield from self.pull(self.wanted_image)) or Failed(self.blame)

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


def _title(name: str) -> str:
    return f"step {STEPS.index(name) + 1} of {len(STEPS)}, {name}"


_TEXTS: Final = {
    "done": "done after {} s",
    "ignored": "failed after {} s, and the boot goes on: jobs start with a cold cache",
    "failed": "failed after {} s; this VM is not ready and takes no job",
}
