"""Jobs on this machine: ends, limits, records for later commands, and calls within the process."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from infra.jobs.client import JobError, JobPhase, JobState, wait
from infra.jobs.fake import FakeClient
from infra.jobs.local import LocalClient, LocalJob
from infra.jobs.outcomes import Outcome
from infra.jobs.request import Command, ImportedCall, JobRequest, Retries

ONCE = Retries(preemptions=0, failures=0)
CALLED: list[str] = []
ENDLESS = """
import pathlib, signal, sys
def write(*_):
    pathlib.Path(sys.argv[1], "checkpoint").write_text("kept"); sys.exit(0)
signal.signal(signal.SIGUSR1, write)
pathlib.Path(sys.argv[1], "ready").write_text("")
while True: signal.pause()
"""


def remember(text: str) -> None:
    """What tests have called within this process."""
    CALLED.append(f"{text} {os.environ['RUN_ID']}")


def endless(folder: Path, **more: object) -> JobRequest:
    command = Command((sys.executable, "-S", "-c", ENDLESS, str(folder)))
    return JobRequest(name="long", entry_point=command, checkpoint_signal="USR1", **more)  # ty: ignore[invalid-argument-type]


def started(folder: Path) -> None:
    while not (folder / "ready").exists():
        pass


def test_a_cancelled_job_writes_its_checkpoint(tmp_path: Path) -> None:
    job = LocalClient(tmp_path / "jobs").submit(endless(tmp_path))
    started(tmp_path)
    job.cancel()
    assert (tmp_path / "checkpoint").read_text() == "kept"
    assert (job.state().phase, job.state().outcome) == (JobPhase.ENDED, Outcome.CANCELLED)


def test_a_job_that_is_too_long_is_ended_by_its_checkpoint_signal(tmp_path: Path) -> None:
    job = LocalClient(tmp_path / "jobs").submit(endless(tmp_path, time_limit=1, retries=ONCE))
    with pytest.raises(JobError, match="time limit is over"):
        wait(job, timeout=30, every=0.02)
    assert (tmp_path / "checkpoint").exists()
    assert job.state().because == ("the job: its time limit is over",)


def test_a_name_that_runs_is_refused(tmp_path: Path) -> None:
    client = LocalClient(tmp_path / "jobs")
    job = client.submit(endless(tmp_path))
    with pytest.raises(JobError, match="has not ended"):
        client.submit(endless(tmp_path))
    started(tmp_path)
    job.cancel()


def test_a_later_command_lists_a_job_reads_its_log_and_says_why(tmp_path: Path) -> None:
    program = "import sys; print('one', flush=True); print('two', file=sys.stderr); raise SystemExit(3)"
    entry = Command((sys.executable, "-S", "-c", program))
    job = LocalClient(tmp_path).submit(JobRequest(name="bad", entry_point=entry, retries=ONCE))
    with pytest.raises(JobError):
        wait(job, timeout=30, every=0.02)
    later = LocalClient(tmp_path)
    assert [each.name for each in later.jobs()] == ["bad"]
    assert later.job("bad").state() == job.state()
    assert (job.state().because, job.state().retries) == (("slice 0: its program ended with exit code 3",), ONCE)
    assert job.state().created.endswith("Z")
    assert list(later.job("bad").logs(1)) == ["0 two"]
    later.job("bad").cancel()
    with pytest.raises(JobError, match="no job good"):
        later.job("good")


def test_whoever_sees_that_a_job_ended_finds_its_end_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that leaves then takes the job's thread with it, later ones have the record alone, and a further job
    of its name may write its beginning."""
    record, seen = LocalJob.record, []

    def recorded(job: LocalJob, state: JobState) -> None:
        seen.append((job.stands.phase, state.phase))
        record(job, state)

    monkeypatch.setattr(LocalJob, "record", recorded)
    entry = Command((sys.executable, "-S", "-c", "pass"))
    wait(LocalClient(tmp_path).submit(JobRequest(name="good", entry_point=entry)), timeout=30, every=0.02)
    assert seen == [(JobPhase.RUNNING, JobPhase.RUNNING), (JobPhase.RUNNING, JobPhase.ENDED)]


def test_a_job_of_another_command_is_not_cancelled_and_its_request_need_not_be_read(tmp_path: Path) -> None:
    job = LocalClient(tmp_path / "jobs").submit(endless(tmp_path))
    started(tmp_path)
    record = tmp_path / "jobs" / job.name / "job.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"request": {"name": job.name}}))
    later = LocalClient(tmp_path / "jobs").job(job.name)
    assert later.state().phase is JobPhase.RUNNING
    with pytest.raises(JobError, match="runs in the command that submitted it"):
        later.cancel()
    job.cancel()
    assert later.state().outcome is Outcome.CANCELLED


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    job = LocalClient(tmp_path).submit(JobRequest(name="typo", entry_point=Command(("pyhton",))))
    with pytest.raises(JobError, match="cannot be started: No such file or directory: pyhton"):
        wait(job, timeout=30, every=0.02)


def test_a_function_is_called_within_this_process_where_tests_ask_for_that(tmp_path: Path) -> None:
    CALLED.clear()
    call = ImportedCall(f"{__name__}:remember", {"text": "step"})
    client = LocalClient(tmp_path, in_process=True)
    job = client.submit(JobRequest(name="here", entry_point=call, environment={"RUN_ID": "7"}))
    assert (job.state().outcome, CALLED) == (Outcome.SUCCESS, ["step 7"])
    assert job.state().because == ("slice 0: its program returned",)
    assert "RUN_ID" not in os.environ


def test_what_a_function_raises_is_an_error_of_the_program(tmp_path: Path) -> None:
    call = ImportedCall("builtins:int", {"base": 2})
    client = LocalClient(tmp_path, in_process=True)
    state = client.submit(JobRequest(name="here", entry_point=call, retries=ONCE)).state()
    assert (state.outcome, "TypeError" in state.because[0]) == (Outcome.ERROR, True)


def test_this_machine_has_no_secrets_of_a_cluster(tmp_path: Path) -> None:
    asked = JobRequest(name="s", entry_point=Command(("true",)), secrets={"HF_TOKEN": "hf"})
    with pytest.raises(JobError, match="HF_TOKEN"):
        LocalClient(tmp_path).submit(asked)


def test_a_fake_client_has_the_outcome_that_a_test_wants() -> None:
    asked = JobRequest(name="train", entry_point=Command(("true",)))
    with pytest.raises(JobError) as error:
        wait(FakeClient(Outcome.PREEMPTED).submit(asked))
    assert error.value.outcome is Outcome.PREEMPTED
    endless = FakeClient(None)
    job = endless.submit(asked)
    with pytest.raises(JobError, match="has not ended"):
        endless.submit(asked)
    job.cancel()
    assert endless.jobs()[0].outcome is Outcome.CANCELLED
