"""A Dask class and a group on a real control plane with the real controllers: recorded scenarios, run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.model.group_objects import CURRICULUM, ROLE_LABEL, ROLLOUT, TRAIN
from tests.jobs import record_workloads as record
from tests.jobs.queued_plane import running_plane
from tests.jobs.workload_moment import Moment

pytestmark = pytest.mark.live


def test_a_dask_class_is_admitted_waits_past_its_quota_and_outlives_a_node(tmp_path: Path) -> None:
    with running_plane(tmp_path, lab=record.work_lab()) as plane:
        record.dask_class(plane)
        (waits,) = Moment(plane.moments["a worker of the second waits"]).waits()
        assert (waits.queue, waits.place) == ("cpu", 0)


def test_a_group_is_placed_gives_way_to_a_higher_priority_and_outlives_a_vm(tmp_path: Path) -> None:
    with running_plane(tmp_path, lab=record.work_lab()) as plane:
        record.group(plane)
        assert Moment(plane.moments["running"]).pools(TRAIN) == {"v4-32-a": 4}
        assert Moment(plane.moments["the learner waits"]).by(ROLE_LABEL) == {CURRICULUM: 1, ROLLOUT: 3}
        assert Moment(plane.moments["running again"]).pools(TRAIN) == {"v4-32-a": 4}
