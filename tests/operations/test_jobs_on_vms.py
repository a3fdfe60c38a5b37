"""Jobs on TPU VMs of their own: what one VM can be asked for, and how ends of runs count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from infra.fleet.runs.decide import Reason
from infra.jobs.client import JobError, JobPhase, JobState
from infra.jobs.outcomes import Attempts, Outcome
from infra.jobs.request import ImportedCall, JobRequest, Resources, Retries
from infra.jobs.vmjob import vm_job
from infra.model.errors import ConfigError
from infra.operations.jobs_on_vms import rendered, run_job
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.run_on import RunEnd, RunOrder
from tests.jobs.synthetic import IMAGE, request

ONE_VM: dict[str, Any] = {"resources": Resources.with_tpu("v4-8"), "queue": "", "time_limit": 3600}


def one_vm(**more: Any) -> JobRequest:
    return request(**ONE_VM | more)


class Runs:
    """What stands for runs: each ends as it is told, and what was ordered and agreed to is kept."""

    def __init__(self, *reasons: Reason, left: str = "") -> None:
        self._reasons: Iterator[Reason] = iter(reasons)
        self._left = left
        self.orders: list[RunOrder] = []
        self.asked: list[str] = []

    def one(self, order: RunOrder, *, teller: Teller, log: Any, agree: Any) -> RunEnd:
        assert (teller, log) == (SILENT, print)
        self.orders.append(order)
        agree("making a VM", CloudName.LOCAL)
        reason = next(self._reasons)
        return RunEnd(
            run="1", vm="train-run-1", reason=reason, says=f"it ended: {reason}", code=None, zone="us-central2-b",
            capacity="spot", accelerator=order.accelerator, vm_seconds=60, left=self._left,
        )  # fmt: skip

    def job(self, asked: JobRequest) -> JobState:
        return run_job(asked, stack="nightly", once=self.one, log=print, agree=lambda what, _: self.asked.append(what))


def test_a_request_becomes_one_command_on_one_vm() -> None:
    found = vm_job(one_vm(environment={"RUN_ID": "7"}))
    assert (found.accelerator, found.command, found.image) == ("v4-8", ("python", "train.py"), IMAGE)
    assert (found.env, found.limit) == ({"RUN_ID": "7"}, 3600)
    assert rendered(one_vm()) == asdict(vm_job(one_vm()))
    called = vm_job(one_vm(entry_point=ImportedCall("marin.training:run", {"steps": 10})))
    assert called.command[-2:] == ("marin.training:run", '{"steps": 10}')


def test_all_that_one_vm_cannot_give_is_refused_at_once() -> None:
    asked = request(
        resources=Resources.with_tpu("v4-8", 2, disk="10Gi"), secrets={"HF_TOKEN": "hf"}, service_account="trainer",
        checkpoint_signal="USR1",
    )  # fmt: skip
    with pytest.raises(ConfigError) as error:
        vm_job(asked)
    subjects = [each.subject.rpartition(": ")[2] for each in error.value.problems]
    assert subjects == sorted(
        ["slices", "time_limit", "queue", "service_account", "secrets", "disk", "checkpoint_signal"]
    )
    with pytest.raises(ConfigError, match="a TPU VM is for a job with a TPU"):
        vm_job(one_vm(resources=Resources.with_cpu()))


def test_a_preempted_vm_is_followed_by_another_and_is_no_failure() -> None:
    runs = Runs(Reason.TAKEN_BACK, Reason.NOT_READY, Reason.DONE)
    state = runs.job(one_vm(retries=Retries(failures=0)))
    assert (state.phase, state.outcome) == (JobPhase.ENDED, Outcome.SUCCESS)
    assert state.attempts == Attempts(preemptions=2, failures=0)
    assert (state.name, [each.stack for each in runs.orders]) == (one_vm().name, ["nightly"] * 3)
    assert runs.asked == ["making a VM"], "a person is asked once"


@pytest.mark.parametrize("reason", [Reason.FAILED, Reason.TIMED_OUT, Reason.NOT_INSTALLED, Reason.NOT_STARTED])
def test_a_program_that_fails_has_a_budget_of_its_own(reason: Reason) -> None:
    runs = Runs(*[reason] * 9)
    state = runs.job(one_vm(retries=Retries(preemptions=9, failures=2)))
    assert (state.outcome, state.attempts, len(runs.orders)) == (Outcome.ERROR, Attempts(failures=3), 3)
    assert state.last is not None
    assert (state.last.because, state.last.outcome) == (f"it ended: {reason}", Outcome.ERROR)


def test_a_cancelled_run_is_not_begun_again() -> None:
    assert Runs(Reason.CANCELLED).job(one_vm()).outcome is Outcome.CANCELLED


@pytest.mark.parametrize("reason", [Reason.STOCKOUT, Reason.QUOTA, Reason.CEILING, Reason.REFUSED, Reason.OUTAGE])
def test_a_job_that_gets_no_vm_was_never_run(reason: Reason) -> None:
    with pytest.raises(JobError, match="it ended") as error:
        Runs(reason).job(one_vm())
    assert error.value.outcome is None


def test_a_vm_that_could_not_be_deleted_is_named() -> None:
    assert "not deleted: train-run-1; " in Runs(Reason.DONE, left="train-run-1").job(one_vm()).because[-1]
