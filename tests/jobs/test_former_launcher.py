"""The tests that the lab's former launcher had, by their names: what it did on Ray actors, a job does here.

Slices are processes of this machine. Whether a slice was preempted is said by what stands for the TPU API, which the
program cannot influence; every program here fails in the same way.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from infra.jobs.client import JobError, JobPhase, wait
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


def program(folder: Path, *, fails: int = 0, only: str = "", slices: Any = 1, **more: Any) -> JobRequest:
    """A program that fails so many times (on one slice alone, where it is named), counting its runs."""
    entry = Command((sys.executable, "-S", "-c", COUNTS, str(folder), str(fails), only))
    return JobRequest(name="job", entry_point=entry, resources=Resources.with_tpu("v4-8", slices), **more)


FAILS_ONCE, ALWAYS = {"fails": 1}, {"fails": 99}
SUCCESS, ERROR = Outcome.SUCCESS, Outcome.ERROR


@pytest.mark.parametrize(
    ("given", "preempted", "ended", "attempts", "counted"),
    [
        pytest.param({}, 0, SUCCESS, Attempts(), [1], id="single_slice_simple_run"),
        pytest.param(FAILS_ONCE, 0, SUCCESS, Attempts(failures=1), [2], id="single_slice_fail_once"),
        pytest.param(
            ALWAYS | {"retries": Retries(failures=2)}, 0, ERROR, Attempts(failures=3), [3],
            id="single_slice_catches_failure",
        ),
        pytest.param(
            {"fails": 3, "retries": Retries(failures=0)}, 3, SUCCESS, Attempts(preemptions=3), [4],
            id="single_slice_handles_preemption",
        ),
        pytest.param({"slices": 2}, 0, SUCCESS, Attempts(), [1, 1], id="multislice_simple_run"),
        pytest.param({"slices": [1, 2]}, 0, SUCCESS, Attempts(), [1, 1], id="variable_multislice_run"),
        pytest.param(
            ALWAYS | {"slices": 2, "only": "1", "retries": Retries(failures=1)}, 0, ERROR, Attempts(failures=2),
            None, id="multislice_one_slice_fails",
        ),
    ],
)  # fmt: skip
def test_a_job_does_what_it_did(
    tmp_path: Path, given: dict[str, Any], preempted: int, ended: Outcome, attempts: Attempts,
    counted: list[int] | None,
) -> None:  # fmt: skip
    """counted: the runs of each slice; None where a slice that fails may end the other before it counts."""

    def tpu_state(_: int, attempt: int) -> tuple[Outcome, str] | None:
        return (Outcome.PREEMPTED, "its TPU VM is PREEMPTED") if attempt < preempted else None

    client = LocalClient(tmp_path / "jobs", machine=tpu_state)
    job = client.submit(program(tmp_path, **given))
    with suppress(JobError):
        wait(job, timeout=60, every=0.02)
    (state,) = client.jobs()
    assert (state.phase, state.outcome, state.attempts) == (JobPhase.ENDED, ended, attempts)
    runs = [len(path.read_text()) for path in sorted(tmp_path.glob("slice-*"))]
    assert runs == (counted or [runs[0], 2])
    if counted == [1, 1]:
        assert list(job.logs(10)) == [f"{index} slice {index} of 2 at 127.0.0.1:8081" for index in (0, 1)]
