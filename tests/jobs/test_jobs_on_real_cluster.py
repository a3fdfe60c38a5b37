"""Jobs on a real control plane with the real controllers of JobSet and Kueue: recorded scenarios, run again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.jobs.client import JobPhase
from infra.jobs.outcomes import Attempts, Outcome
from tests.jobs import record_controllers as record
from tests.jobs.queued_plane import QueuedPlane, running_plane, spot_lab
from tests.jobs.recording import pools_by_slice

pytestmark = pytest.mark.live


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[QueuedPlane]:
    with running_plane(tmp_path, lab=spot_lab()) as found:
        yield found


def test_a_multislice_job_is_placed_one_pod_a_vm_and_one_slice_a_pool(plane: QueuedPlane) -> None:
    record.success(plane)
    placed = pools_by_slice(plane.moments["running"], "llama")
    assert sorted(len(hosts) for hosts in placed.values()) == [4, 4]
    assert len({pool for hosts in placed.values() for pool in hosts.values()}) == 2
    assert plane.client.job("llama").state().outcome is Outcome.SUCCESS


def test_a_preempted_spot_vm_restarts_the_gang_and_counts_as_no_failure(plane: QueuedPlane) -> None:
    record.preempted(plane)
    state = plane.client.job("llama").state()
    assert (state.phase, state.attempts) == (JobPhase.RUNNING, Attempts(preemptions=1))
