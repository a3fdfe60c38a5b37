"""Run a job on TPU VMs that are made for it, one an attempt, each deleted after its attempt.

Owns what the end of a run is for a job, and its further attempts. How one run goes is `run_on`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from infra.fleet.runs.decide import Reason
from infra.jobs.client import JobError, JobPhase, JobState
from infra.jobs.evidence import Finding
from infra.jobs.outcomes import Attempts, Outcome
from infra.jobs.request import JobRequest
from infra.jobs.vmjob import vm_job
from infra.operations.ports import SILENT, CloudName, Teller, Tone
from infra.operations.run_on import RunEnd, RunOrder, run_on

BACKEND: Final = "tpu-vm"
_OUTCOMES: Final[Mapping[str, Outcome]] = {
    Reason.DONE: Outcome.SUCCESS,
    Reason.FAILED: Outcome.ERROR,
    Reason.TIMED_OUT: Outcome.ERROR,
    Reason.NOT_INSTALLED: Outcome.ERROR,
    Reason.NOT_STARTED: Outcome.ERROR,
    Reason.NOT_READY: Outcome.FAILED,
    Reason.UNPROVED: Outcome.FAILED,
    Reason.TAKEN_BACK: Outcome.PREEMPTED,
    Reason.CANCELLED: Outcome.CANCELLED,
}
"""How an attempt ended that had a VM; every other reason is one why there was none."""


def run_job(
    request: JobRequest,
    *,
    stack: str = "",
    teller: Teller = SILENT,
    log: Callable[[int, bytes], None] = lambda _host, _piece: None,
    agree: Callable[[str, CloudName], None] = lambda _what, _cloud: None,
    once: Callable[..., RunEnd] = run_on,
) -> JobState:
    """How the job ended, after as many attempts as its budgets allow.

    stack: empty for the one whose runs may have such a VM. agree: is asked before the first VM is made. once: makes one
    attempt. ConfigError and Refusal for what cannot be asked for, JobError where no VM can be had.
    """
    order = RunOrder(**asdict(vm_job(request)), stack=stack)
    attempts = Attempts()
    while True:
        ended = once(order, teller=teller, log=log, agree=agree)
        outcome = _OUTCOMES.get(ended.reason)
        if outcome is None:
            raise JobError(f"{request.name}: {ended.says}")
        attempts = attempts.after(outcome)
        if not attempts.again(outcome, request.retries):
            return _state(request, attempts, ended, outcome)
        teller.say(f"{request.name}: {outcome}, {ended.says}; it begins again", Tone.WARNING)
        agree = _agreed


def rendered(request: JobRequest) -> dict[str, Any]:
    """What a TPU VM would be told to run; nothing is asked of a cloud."""
    return asdict(vm_job(request))


def _agreed(_what: str, _cloud: CloudName) -> None:
    """Further attempts are of the job that was agreed to."""


def _state(request: JobRequest, attempts: Attempts, ended: RunEnd, outcome: Outcome) -> JobState:
    left = [f"not deleted: {ended.left}; the controller does once its time to live is over"] if ended.left else []
    last = None if outcome is Outcome.SUCCESS else Finding(ended.vm, outcome, ended.says)
    return JobState(
        name=request.name,
        backend=BACKEND,
        phase=JobPhase.ENDED,
        outcome=outcome,
        attempts=attempts,
        retries=request.retries,
        accelerator=ended.accelerator,
        last=last,
        because=(ended.says, ended.vm_use, *left),
    )
