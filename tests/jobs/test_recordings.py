"""What the real controllers of Kueue and JobSet answered, as `jobs list` and `jobs why` read it.

Each file of `recordings/` is a scenario; the golden has every job of each of its moments as both commands know it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from infra.jobs.client import STATES, JobPhase, JobState
from infra.jobs.gke import GkeClient
from infra.jobs.kube import Kube
from tests.jobs.cluster import Cluster
from tests.jobs.queued_plane import TEAM
from tests.jobs.recording import FOLDER, load, play
from tests.jobs.test_jobs_on_gke import cluster as cluster

GOLDEN: Final = Path(__file__).parent / "golden" / "recorded-states.yaml"


def client(cluster: Cluster, scenario: str, name: str) -> GkeClient:
    """Of the cluster as it was in a scenario at a moment."""
    play(cluster, load(scenario), name)
    return GkeClient(Kube(replace(cluster.place, namespace=TEAM)))


def told(state: JobState) -> dict[str, Any]:
    """What differs from a job that nothing is known of."""
    plain = STATES.dump_python(JobState(name="", backend="", phase=JobPhase.WAITING), mode="json")
    found = STATES.dump_python(state, mode="json")
    return {key: value for key, value in found.items() if value != plain[key] and key not in ("backend", "created")}


def test_recorded_jobs_stand_as_they_did(cluster: Cluster, update_goldens: bool) -> None:
    states: dict[str, Any] = {}
    for path in sorted(FOLDER.glob("*.json")):
        for moment in load(path.stem)["moments"]:
            jobs = client(cluster, path.stem, moment)
            for listed in jobs.jobs():
                found = {"why": told(jobs.job(listed.name).state())}
                if told(listed) != found["why"]:
                    found["list"] = told(listed)
                states[f"{path.stem}, {moment}, {listed.name}"] = found
    text = yaml.safe_dump(states, sort_keys=False, width=120)
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_events_that_may_not_be_read_leave_the_rest_told(cluster: Cluster) -> None:
    jobs = client(cluster, "forbidden", "no Jobs")
    cluster.refused[f"/api/v1/namespaces/{TEAM}/events"] = 403
    state = jobs.job("llama").state()
    assert (state.phase, state.because) == (JobPhase.STARTING, ())
