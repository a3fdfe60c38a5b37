"""Jobs on this machine: one process a slice, restarted within its budgets; or a function called in this process.

It takes no image and no TPU: it is for tests, for a first look, and for code that runs wherever it is. A gang ends
together: where one slice fails, the others are sent the checkpoint signal. Each job leaves its record and logs in a
folder, by which later commands list it and say why it ended.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from infra.jobs.client import STATES, JobError, JobPhase, JobState
from infra.jobs.evidence import Finding, weightiest
from infra.jobs.jobset import MEGASCALE_PORT, megascale
from infra.jobs.outcomes import Attempts, Outcome
from infra.jobs.request import ImportedCall, JobRequest
from infra.model.clock import machine_clock  # noqa: TID251 - the job runs on this machine

SliceState = Callable[[int, int], tuple[Outcome, str] | None]
"""What is known of the machine of a slice after it ended: slice and attempt, both from 0; None where it is well."""
_LOOK: Final = 0.02
_RECORD: Final = "job.json"


@dataclass(slots=True)
class LocalClient:
    """folder: where records and logs of jobs go. in_process: call imported functions here, in `submit`, for one slice;
    what tests have patched is then what runs. machine: asked of each slice that did not succeed."""

    folder: Path
    in_process: bool = False
    machine: SliceState = lambda _slice, _attempt: None
    running: dict[str, LocalJob] = field(default_factory=dict)

    def submit(self, request: JobRequest) -> LocalJob:
        known = self.running.get(request.name)
        if known is not None and known.stands.phase is not JobPhase.ENDED:
            raise JobError(f"{request.name} has not ended; cancel it first, or take another name")
        if request.secrets:
            raise JobError(f"{request.name}: this machine mounts no secrets; set {', '.join(request.secrets)}")
        created = machine_clock().isoformat(timespec="seconds").replace("+00:00", "Z")
        accelerator = request.resources.accelerator
        state = JobState(
            name=request.name,
            backend="local",
            phase=JobPhase.RUNNING,
            retries=request.retries,
            replicas=request.replicas,
            accelerator=accelerator.name if accelerator else "",
            created=created,
        )
        job = LocalJob(self.folder / request.name, request, state, self.machine)
        job.folder.mkdir(parents=True, exist_ok=True)
        for stale in job.folder.glob("*.log"):
            stale.unlink()
        self.running[request.name] = job
        job.record(state)
        if self.in_process and isinstance(request.entry_point, ImportedCall):
            job.run(functools.partial(called_here, request, request.entry_point))
        else:
            job.thread = threading.Thread(
                target=job.run, args=(job.processes,), name=f"job {request.name}", daemon=True
            )
            job.thread.start()
        return job

    def jobs(self) -> tuple[JobState, ...]:
        found = [read_state(path) for path in self.folder.glob(f"*/{_RECORD}")]
        return tuple(sorted(found, key=lambda each: each.created, reverse=True))

    def job(self, name: str) -> RecordedJob:
        if name in self.running:
            return self.running[name]
        if not (self.folder / name / _RECORD).is_file():
            raise JobError(f"there is no job {name} on this machine")
        return RecordedJob(self.folder / name)


class _NoProgramError(Exception):
    """A program that cannot be started, which another attempt would not mend."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(finding.because)


@dataclass(slots=True)
class RecordedJob:
    """A job of another command, by what it leaves in its folder."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def state(self) -> JobState:
        return read_state(self.folder / _RECORD)

    def logs(self, tail: int) -> Iterator[str]:
        for path in sorted(self.folder.glob("*.log")):
            for line in path.read_text(errors="replace").splitlines()[-tail:]:
                yield f"{path.stem.partition('-')[2]} {line}"

    def cancel(self) -> None:
        if self.state().phase is not JobPhase.ENDED:
            raise JobError(f"{self.name} runs in the command that submitted it; press Ctrl-C there")


@dataclass(slots=True)
class LocalJob(RecordedJob):
    """A job of this process; `stands` is written by the thread that runs it alone."""

    request: JobRequest
    stands: JobState
    machine: SliceState
    thread: threading.Thread | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def state(self) -> JobState:
        return self.stands

    def cancel(self) -> None:
        if self.thread is None:
            RecordedJob.cancel(self)
        elif self.stands.phase is not JobPhase.ENDED:
            self.cancelled.set()
            self.thread.join()

    def run(self, attempt: Callable[[int], list[Finding]]) -> None:
        """Attempt after attempt, until one succeeds or a budget is used up."""
        number, attempts = 0, Attempts()
        while True:
            try:
                found, startable = attempt(number), True
            except _NoProgramError as error:
                found, startable = [error.finding], False
            last = weightiest(found)
            outcome = Outcome.CANCELLED if self.cancelled.is_set() else last.outcome if last else Outcome.ERROR
            attempts, number = attempts.after(outcome), number + 1
            because = () if last is None else (f"{last.where}: {last.because}",)
            again = startable and attempts.again(outcome, self.request.retries)
            phase = JobPhase.RUNNING if again else JobPhase.ENDED
            reached = replace(
                self.stands,
                phase=phase,
                outcome=None if again else outcome,
                attempts=attempts,
                last=last,
                because=because,
            )
            try:
                self.record(reached)  # First: who sees the end may leave at once, and its process with this thread.
            finally:
                self.stands = reached
            if not again:
                return

    def processes(self, attempt: int) -> list[Finding]:
        """One process a slice, as a gang."""
        with ExitStack() as logs:
            gang: dict[int, subprocess.Popen[bytes]] = {}
            for index in range(self.request.replicas):
                log = logs.enter_context((self.folder / f"{attempt:05d}-{index}.log").open("wb"))
                told = environment(self.request, index)
                try:
                    gang[index] = subprocess.Popen(self.request.runtime, env=told, stdout=log, stderr=subprocess.STDOUT)
                except OSError as error:
                    self._end(gang)
                    said = f"its program cannot be started: {error.strerror}: {self.request.runtime[0]}"
                    raise _NoProgramError(Finding(f"slice {index}", Outcome.ERROR, said)) from None
            late = self._watch(gang)
            codes = {index: each.poll() for index, each in gang.items()}
            self._end(gang)
        if late:
            return [Finding("the job", Outcome.ERROR, "its time limit is over")]
        return [self._finding(index, code, attempt) for index, code in codes.items() if code is not None]

    def _watch(self, gang: Mapping[int, subprocess.Popen[bytes]]) -> bool:
        """Until all have ended, one has failed, or the job is to end; whether that was for its time limit."""
        limit = self.request.time_limit
        until = None if limit is None else time.monotonic() + limit
        while any(each.poll() is None for each in gang.values()):
            if until is not None and time.monotonic() > until:
                return True
            if self.cancelled.is_set() or any(each.poll() for each in gang.values()):
                return False
            time.sleep(_LOOK)
        return False

    def record(self, state: JobState) -> None:
        """Leave what is known for later commands."""
        body = {"request": self.request.to_json(), "state": STATES.dump_python(state, mode="json")}
        path = self.folder / _RECORD
        path.with_suffix(".new").write_text(json.dumps(body, indent=1))
        path.with_suffix(".new").replace(path)

    def _finding(self, index: int, code: int, attempt: int) -> Finding:
        if code == 0:
            return Finding(f"slice {index}", Outcome.SUCCESS, "its program ended with exit code 0")
        if outside := self.machine(index, attempt):
            return Finding(f"slice {index}", *outside)
        return Finding(f"slice {index}", Outcome.ERROR, f"its program ended with exit code {code}")

    def _end(self, gang: Mapping[int, subprocess.Popen[bytes]]) -> None:
        """Let who still runs write a checkpoint, and end."""
        standing = [each for each in gang.values() if each.poll() is None]
        for each in standing:
            each.send_signal(getattr(signal, f"SIG{self.request.checkpoint_signal}"))
        until = time.monotonic() + self.request.grace
        for each in standing:
            try:
                each.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()


def called_here(request: JobRequest, call: ImportedCall, attempt: int) -> list[Finding]:  # noqa: ARG001 - of `run`
    """The function, in this process; what it raises is an error of the program."""
    module, _, path = call.path.partition(":")
    with _environment(environment(request, 0)):
        try:
            function: Any = functools.reduce(getattr, path.split("."), importlib.import_module(module))
            function(**call.arguments)
        except Exception as error:  # noqa: BLE001 - a program may raise anything
            said = traceback.format_exception_only(error)[-1].strip()
            return [Finding("slice 0", Outcome.ERROR, f"its program raised {said}")]
    return [Finding("slice 0", Outcome.SUCCESS, "its program returned")]


def environment(request: JobRequest, index: int) -> dict[str, str]:
    """Of the process of one slice."""
    told = {**os.environ, **request.environment}
    if request.resources.accelerator is not None and request.replicas > 1:
        told |= megascale(f"127.0.0.1:{MEGASCALE_PORT}", request.replicas, index)
    return told


def read_state(path: Path) -> JobState:
    """What a job has left of itself."""
    return STATES.validate_python(json.loads(path.read_text())["state"])


@contextmanager
def _environment(told: Mapping[str, str]) -> Generator[None]:
    before = dict(os.environ)
    os.environ.update(told)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
