"""One job: its registration from the broker, against the VM's own identity, its container, and what that says."""

from __future__ import annotations

import json
import re
from math import ceil
from typing import Any, Final

from . import limits
from .container import RUNNER_ENTRY, arguments
from .effects import Answer, Failed, Log, PrepareJob, Register, RunContainer, Steps, StopContainer
from .ready import Ready
from .report import plain
from .state import Waits

_BROKER: Final = re.compile(r"(https://\S+|http://127\.0\.0\.1:[0-9]+)/?")
"""Who is on the way would read the token."""
_LONGEST_LINE: Final = 200
_OK: Final = 200
_AGAIN: Final = re.compile(r"[0-9]{1,6}")


def broker_answer(status: int, again: str, content: bytes) -> Answer:
    """What the broker said, which gives a registration whole or not at all. again: its header Retry-After."""
    said = _object(content)
    jit, runner = said.get("jit"), said.get("runner")
    gives = status == _OK and isinstance(jit, str) and isinstance(runner, str)
    return Answer(
        status,
        jit=jit if gives else "",
        runner=runner if gives else "",
        again=int(again) if _AGAIN.fullmatch(again) else None,
        reason=f"{said.get('reason')}: {said.get('message')}" if said else "",
    )


def _object(content: bytes) -> dict[str, Any]:
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


class Jobs(Ready):
    """A VM holds no credential of GitHub's, and a registration is good for one job."""

    def _take_a_job(self) -> Steps[None]:
        """Register and run; where there is no registration, wait."""
        yield from self._toward("registering")
        if not (yield from self._in_turn()):
            yield from self._give_up(self._seconds_to_turn)
            return
        job = yield PrepareJob(self.state.image)
        if isinstance(job, Failed):
            self.blame = job.reason
            yield from self._give_up()
            return
        answer = yield from self._ask_broker()
        if answer is None or not answer.jit:
            yield from self._give_up(answer.again if answer else None)
            return
        self._begin_container()
        self.state.runner = answer.runner
        yield from self.event("registered", runner=answer.runner)
        yield from self.report()
        yield RunContainer(arguments(self.me, job, self.state.image, RUNNER_ENTRY), answer.jit)

    def _give_up(self, again: int | None = None) -> Steps[None]:
        reason = self.blame
        yield from self.step("machine/wipe-job")
        self.blame = reason
        yield from self._pause("registering", again)

    @property
    def _seconds_to_turn(self) -> int | None:
        """A clock that was set back holds nobody up for longer than the broker ever says."""
        left = ceil(self.state.turn - self._clock())
        return left if 0 < left <= limits.LONGEST_ASKED else None

    def _in_turn(self) -> Steps[bool]:
        """Whether it is not too early to ask, whatever this VM did meanwhile."""
        left = self._seconds_to_turn
        if left is not None:
            yield from self.blames(f"the broker is asked again in {left} s")
        return left is None

    def _ask_broker(self) -> Steps[Answer | None]:
        """One registration, against the VM's own identity; None where nobody could be asked."""
        state, me = self.state, self.me
        broker = state.own.broker or state.common.broker
        if not broker:
            yield from self.blames("runner/startup.json names no broker")
            return None
        if not _BROKER.fullmatch(broker):
            yield from self.blames(f"refused broker {broker}: not https")
            return None
        answer = yield Register(broker, {"stack": me.stack, "vm": me.vm, "pool": me.pool})
        if isinstance(answer, Failed):
            self.blame = answer.reason
            return None
        refused = 400 <= answer.status < 500
        turn = answer.again if answer.again is not None else 0 if refused else limits.ASK_APART
        state.turn = self._clock() + turn
        if not answer.jit:
            said = f"{answer.status} {answer.reason}" if answer.status else "nobody answers"
            yield from self.blames(f"the broker gives no registration: {said}")
        return answer

    def _begin_container(self) -> None:
        state = self.state
        state.waits, state.dirty, state.began = Waits.CONTAINER, True, self._ticks()
        state.job_over, state.served, state.stopped, state.heard = None, False, False, ""

    def hear(self, line: str) -> Steps[None]:
        """A line of the container. A job can print what looks like the runner's: it lies about itself alone."""
        line = plain(line)
        if self.state.joined:
            self.state.heard = line
            yield Log(f"ssh: {line[:_LONGEST_LINE]}")
            return
        yield Log(f"runner: {line[:_LONGEST_LINE]}")
        if ": Listening for Jobs" in line:
            yield from self.phase("idle")
        elif ": Running job: " in line:
            self.state.served, self.state.job = True, line.partition(": Running job: ")[2]
            yield from self.event("job-began", job=self.state.job, runner=self.state.runner)
            yield from self.phase("busy")
        elif ": Job " in line and " completed with result: " in line:
            self.state.job_over = self._ticks()
            result = line.rpartition("completed with result: ")[2]
            yield from self.event("job-ended", job=self.state.job, result=result)

    def _served(self, status: int) -> Steps[None]:
        state = self.state
        runner = state.runner
        yield from self.close_round()
        yield from self.event("runner-ended", runner=runner, status=str(status))
        state.runner, state.job = "", ""
        if state.served or state.stopped:
            state.idle_ends, state.delay = 0, limits.FIRST_DELAY
        elif self._ticks() - state.began >= limits.AT_ONCE:
            # Nothing is wrong: another one is asked for.
            yield Log(f"runner {runner} ended without a job, status {status}")
            state.idle_ends, state.delay = 0, limits.FIRST_DELAY
        elif state.idle_ends + 1 >= limits.MOST_IDLE_ENDS:
            state.idle_ends += 1
            how = f"{state.idle_ends} in a row, the last with status {status}"
            yield from self.blames(f"runners end at once without a job, {how}")
            yield from self._unfit()
        else:
            state.idle_ends += 1
            yield from self.blames(f"runner {runner} ended at once without a job, status {status}")
            yield from self._pause("registering")

    def _stop(self, why: str = "") -> Steps[None]:
        if why:
            yield Log(why)
        self.state.stopped = True
        yield StopContainer()
