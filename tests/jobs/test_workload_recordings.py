"""What the real controllers of Kueue, LeaderWorkerSet and Dask answered to Dask classes and groups."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import yaml

from infra.model.group_objects import CURRICULUM, ROLE_LABEL, ROLLOUT, TRAIN
from tests.jobs.recording import load
from tests.jobs.workload_moment import Moment, role

GOLDEN: Final = Path(__file__).parent / "golden" / "recorded-workloads.yaml"
ROLES: Final = (CURRICULUM, TRAIN, ROLLOUT)


def told(moment: Moment) -> dict[str, Any]:
    """Running pods by class and role, the node pools of roles, and what waits for quota."""
    return {
        "workers": dict(moment.by("dask.org/cluster-name")),
        "roles": dict(moment.by(ROLE_LABEL)),
        "pools": {each: dict(moment.pools(each)) for each in ROLES},
        "waits": [asdict(each) for each in moment.waits()],
        "gangs": sorted(each["metadata"]["name"].partition("-")[0] for each in moment.of("workloads")),
    }


def test_recorded_workloads_stand_as_they_did(update_goldens: bool) -> None:
    moments = {
        f"{scenario}, {name}": told(Moment(objects))
        for scenario in ("dask_class", "group")
        for name, objects in load(scenario)["moments"].items()
    }
    text = yaml.safe_dump(moments, sort_keys=True, width=120)
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_a_slice_of_a_learner_that_lost_a_vm_begins_anew_as_a_whole() -> None:
    pods = [Moment(load("group")["moments"][name]) for name in ("the learner goes on", "running again")]
    before, again = (
        {each["metadata"]["uid"] for each in moment.running(ROLE_LABEL) if role(each) == TRAIN} for moment in pods
    )
    assert (len(before), len(again), before & again) == (4, 4, set())
