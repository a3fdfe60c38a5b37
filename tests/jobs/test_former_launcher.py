"""The tests that the lab's former launcher had, by their names: what it did on Ray actors, a job does here.

Slices are processes of this machine. Whether a slice was preempted is said by what stands for the TPU API, which the
program cannot influence; every program here fails in the same way.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from infra.jobs.client import Job, JobError, JobPhase, JobState, wait
from infra.jobs.flexible import Start, begin
from infra.jobs.local import LocalClient
from infra.jobs.outcomes import Attempts, Outcome
from infra.jobs.request import Command, JobRequest, Resources, Retries

COUNTS = """
import os, pathlib, sys
folder, fails, only = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
slice_id = os.environ.get("MEGASCALE_SLICE_ID", "0")
mine = folder / f"slice-{slice_id}"
runs = len(mine.read_text()) if mine.exists() else 0
mine.write_text("x" * (runs + 1))
told = os.environ.get
print("slice", slice_id, "of", told("MEGASCALE_NUM_SLICES", "1"), "at", told("MEGASCALE_COORDINATOR_ADDRESS"))
sys.exit(1 if runs < fails and only in ("", slice_id) else 0)
"""


def program(folder: Path, *, fails: int = 0, only: str = "", slices: int = 1, **more: Any) -> JobRequest:
    """A program that fails so many times (on one slice alone, where it is named), counting its runs."""
    entry = Command((sys.executable, "-S", "-c", COUNTS, str(folder), str(fails), only))
    return JobRequest(name="job", entry_point=entry, resources=Resources.with_tpu("v4-8", slices), **more)


def runs(folder: Path) -> dict[str, int]:
    return {path.name: len(path.read_text()) for path in sorted(folder.glob("slice-*"))}


def finished(job: Job) -> JobState:
    return wait(job, timeout=60, every=0.02)


@pytest.fixture
def client(tmp_path: Path) -> LocalClient:
    return LocalClient(tmp_path / "jobs")


def test_single_slice_simple_run(client: LocalClient, tmp_path: Path) -> None:
    state = finished(client.submit(program(tmp_path)))
    assert (state.phase, state.outcome, state.attempts) == (JobPhase.ENDED, Outcome.SUCCESS, Attempts())
    assert runs(tmp_path) == {"slice-0": 1}


def test_single_slice_run_twice(client: LocalClient, tmp_path: Path) -> None:
    for _ in range(2):
        assert finished(client.submit(program(tmp_path))).outcome is Outcome.SUCCESS
    assert runs(tmp_path) == {"slice-0": 2}
    assert len(client.jobs()) == 1, "the second took the place of the first, which had ended"


def test_single_slice_fail_once(client: LocalClient, tmp_path: Path) -> None:
    state = finished(client.submit(program(tmp_path, fails=1)))
    assert state.outcome is Outcome.SUCCESS
    assert state.attempts == Attempts(failures=1)
    assert runs(tmp_path) == {"slice-0": 2}


def test_single_slice_catches_failure(client: LocalClient, tmp_path: Path) -> None:
    job = client.submit(program(tmp_path, fails=99, retries=Retries(failures=2)))
    with pytest.raises(JobError, match="exit code 1") as error:
        finished(job)
    assert error.value.outcome is Outcome.ERROR
    assert runs(tmp_path) == {"slice-0": 3}, "the first attempt and two more"


def test_single_slice_handles_preemption(tmp_path: Path) -> None:
    def tpu_state(_: int, attempt: int) -> tuple[Outcome, str] | None:
        return (Outcome.PREEMPTED, "its TPU VM is PREEMPTED") if attempt < 3 else None

    client = LocalClient(tmp_path / "jobs", machine=tpu_state)
    state = finished(client.submit(program(tmp_path, fails=3, retries=Retries(failures=0))))
    assert state.outcome is Outcome.SUCCESS, "three preemptions are not one failure"
    assert state.attempts == Attempts(preemptions=3, failures=0)


def test_multislice_simple_run(client: LocalClient, tmp_path: Path) -> None:
    job = client.submit(program(tmp_path, slices=2))
    assert finished(job).outcome is Outcome.SUCCESS
    assert runs(tmp_path) == {"slice-0": 1, "slice-1": 1}
    assert list(job.logs(10)) == [f"{index} slice {index} of 2 at 127.0.0.1:8081" for index in (0, 1)]


def test_variable_multislice_run(client: LocalClient, tmp_path: Path) -> None:
    flexible = program(tmp_path)
    resources = Resources.with_tpu("v4-8", [1, 2, 4])
    flexible = JobRequest(name="job", entry_point=flexible.entry_point, resources=resources)
    _, action = begin(resources, free=3, now=0.0)
    assert action == Start(2)
    assert finished(client.submit(flexible.with_replicas(action.count))).outcome is Outcome.SUCCESS
    assert runs(tmp_path) == {"slice-0": 1, "slice-1": 1}


def test_multislice_run_twice(client: LocalClient, tmp_path: Path) -> None:
    for _ in range(2):
        assert finished(client.submit(program(tmp_path, slices=2))).outcome is Outcome.SUCCESS
    assert runs(tmp_path) == {"slice-0": 2, "slice-1": 2}


def test_multislice_fail_once(client: LocalClient, tmp_path: Path) -> None:
    state = finished(client.submit(program(tmp_path, fails=1, only="1", slices=2)))
    assert state.outcome is Outcome.SUCCESS
    assert state.attempts == Attempts(failures=1), "the gang failed once, not each of its slices"
    assert runs(tmp_path)["slice-1"] == 2


def test_multislice_one_slice_fails(client: LocalClient, tmp_path: Path) -> None:
    job = client.submit(program(tmp_path, fails=99, only="1", slices=2, retries=Retries(failures=1)))
    with pytest.raises(JobError, match="slice 1") as error:
        finished(job)
    assert error.value.outcome is Outcome.ERROR
    assert runs(tmp_path)["slice-1"] == 2
