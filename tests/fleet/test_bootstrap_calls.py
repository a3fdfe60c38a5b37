"""Bootstrap against a local cloud, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from infra.fleet.bootstrap import actions, grants, plan
from infra.fleet.bootstrap_calls import BootstrapProject
from infra.fleet.bootstrap_steps import AddGrants, BootstrapTarget, MakeKeyRing, Wanted
from infra.fleet.google import Api, Clients, GoogleError, clients, execute

WANTED = Wanted(
    project="lab-tpus",
    location="us-central1",
    bucket="lab-tpus-pulumi-state",
    fleet_buckets=("lab-tpus-tidepool-ci",),
    impersonators=("user:ada@example.org",),
)


class Time:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def google(ticking_cloud: TestCloud) -> Iterator[Clients]:
    with clients(WANTED.project, ticking_cloud.url) as made:
        yield made


@pytest.fixture
def project(google: Clients) -> BootstrapProject:
    time = Time()
    return BootstrapProject(google=google, wanted=WANTED, clock=time.clock, sleep=time.sleep)


def apply_all(project: BootstrapProject) -> None:
    for action in actions(plan(project.observe(), project.wanted)):
        project.apply(action)


def test_one_run_makes_everything_and_the_next_finds_nothing_to_do(project: BootstrapProject) -> None:
    apply_all(project)
    assert actions(plan(project.observe(), WANTED)) == ()


@pytest.mark.parametrize("done", range(1, 17, 3))
def test_a_run_that_stopped_anywhere_is_finished_by_the_next(project: BootstrapProject, done: int) -> None:
    for action in actions(plan(project.observe(), WANTED))[:done]:
        project.apply(action)
    apply_all(project)
    assert actions(plan(project.observe(), WANTED)) == ()


def test_a_bucket_that_was_there_is_mended_and_keeps_its_objects_and_place(
    project: BootstrapProject, google: Clients
) -> None:
    body = {"name": WANTED.bucket, "location": "europe-west4", "labels": {"kept": "true"}}
    execute(google.api(Api.STORAGE).buckets().insert(project=WANTED.project, body=body), "making")
    apply_all(project)
    bucket = execute(google.api(Api.STORAGE).buckets().get(bucket=WANTED.bucket), "reading")
    assert bucket["versioning"]["enabled"]
    assert bucket["labels"] == {"kept": "true"}
    assert bucket["location"] == "EUROPE-WEST4"


def test_a_policy_that_changed_meanwhile_is_read_again(
    project: BootstrapProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply_all(project)
    stale = [project._policy(BootstrapTarget.PROJECT)]
    fresh = project._policy
    more = replace(grants(WANTED)[BootstrapTarget.PROJECT][0], role="roles/tpu.viewer")
    project.apply(AddGrants(BootstrapTarget.PROJECT, (more,)))
    monkeypatch.setattr(BootstrapProject, "_policy", lambda _, target: stale.pop() if stale else fresh(target))
    another = replace(more, role="roles/logging.viewer")
    project.apply(AddGrants(BootstrapTarget.PROJECT, (another,)))
    assert another.stands_in(fresh(BootstrapTarget.PROJECT))
    assert more.stands_in(fresh(BootstrapTarget.PROJECT))


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> list[GoogleError]:
    """Errors that the next calls of bootstrap end with, in order, before any reaches the cloud."""
    errors: list[GoogleError] = []

    def sent(request: Any, doing: str) -> Any:
        if errors:
            raise errors.pop(0)
        return execute(request, doing)

    monkeypatch.setattr("infra.fleet.bootstrap_calls.execute", sent)
    return errors


def test_an_api_that_is_not_yet_known_everywhere_is_waited_for(
    project: BootstrapProject, google: Clients, refusing: list[GoogleError]
) -> None:
    off = "Cloud Key Management Service (KMS) API has not been used in project 1 before or it is disabled."
    refusing.extend(GoogleError("making the key ring", off, status=403) for _ in range(5))
    project.apply(MakeKeyRing())
    rings = google.api(Api.KMS).projects().locations().keyRings()
    assert execute(rings.get(name=WANTED.key_ring), "reading")["name"] == WANTED.key_ring
    assert project.clock() == 10.0


def test_waiting_ends_with_what_google_said(project: BootstrapProject, refusing: list[GoogleError]) -> None:
    off = "Cloud Key Management Service (KMS) API has not been used in project 1 before or it is disabled."
    refusing.extend(GoogleError("making the key ring", off, status=403) for _ in range(500))
    with pytest.raises(GoogleError, match="has not been used"):
        project.apply(MakeKeyRing())
    assert project.clock() < 240


def test_a_bucket_name_that_another_project_has_is_told(project: BootstrapProject, refusing: list[GoogleError]) -> None:
    refusing.append(GoogleError("looking", "Access denied.", status=403))
    with pytest.raises(GoogleError, match="--bucket"):
        project._bucket()
