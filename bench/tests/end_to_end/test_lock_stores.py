"""Stacks with a store of locks and secrets of teams: made from nothing, unchanged, edited in place, and gone again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from bench.engine.engine import Engine
from bench.engine.run import Options
from bench.providers.google import GoogleProvider
from bench.providers.kubernetes.provider import KubernetesProvider
from bench.tests.end_to_end.fleet_world import complaints, engine_of
from infra.model.plan import Op
from infra.program.stack import declare
from tests.model.queued import CLUSTER, SLICES, stack

ACCOUNT = "trainer@my-lab-tpus.iam.gserviceaccount.com"
TEAMS = [{"name": "rl", "account": ACCOUNT}]
SECRETS = [{"name": "HF_TOKEN", "readers": ["team/rl"]}]
REDIS = {"redis": {"region": "us-central1"}}
FIRESTORE = {"firestore": {"location": "nam5"}}


class Lab:
    """One stack with one team, whose store is edited."""

    def __init__(self, root: Path, cloud: TestCloud) -> None:
        self._root, self._cloud = root, cloud

    def engine(self, store: Any) -> Engine:
        cluster = CLUSTER | {"deletion_protection": False}
        config = stack(SLICES[2:], cluster, store, SECRETS, teams=TEAMS)
        served = (GoogleProvider(self._cloud.url, "my-lab-tpus"), KubernetesProvider())
        return engine_of(self._root, "training", {"gcp:project": "my-lab-tpus"}, lambda: declare(config), *served)

    def changes(self, store: Any) -> list[tuple[str, str]]:
        plan = self.engine(store).up(Options(refresh=True))
        assert complaints(plan) == []
        return [
            (step.op.value, step.name) for step in plan.steps if step.op is not Op.SAME and "tidepool:" not in step.type
        ]


@pytest.fixture
def lab(tmp_path: Path, cloud: TestCloud) -> Lab:
    return Lab(tmp_path, cloud)


def account(cloud: TestCloud, google: Any) -> None:
    """The team's own, which no stack makes."""
    accounts = google(cloud.url, "iam", "v1").projects().serviceAccounts()
    accounts.create(name="projects/my-lab-tpus", body={"accountId": "trainer"}).execute()


@pytest.mark.parametrize("store", [REDIS, FIRESTORE], ids=["redis", "firestore"])
def test_a_stack_with_a_store_is_made_from_nothing_and_a_second_run_changes_nothing(
    lab: Lab, cloud: TestCloud, google: Any, store: Any
) -> None:
    account(cloud, google)
    before = cloud.control.status()["requests"]
    made = lab.changes(store)
    assert {("create", "tidepool-training"), ("create", "ConfigMap/rl/tidepool-store")} <= {*made}
    refused = [each for each in cloud.control.log(limit=5000, after=before) if each["status"] not in (200, 201, 404)]
    assert refused == [], "nothing is asked that Google refuses"
    assert lab.changes(store) == []


def test_more_memory_and_another_store_change_the_store_and_what_pods_are_told(
    lab: Lab, cloud: TestCloud, google: Any
) -> None:
    account(cloud, google)
    lab.changes(REDIS)
    larger = {"redis": {"region": "us-central1", "memory_gb": 5}}
    assert lab.changes(larger) == [("update", "tidepool-training")]
    refused = complaints(lab.engine(FIRESTORE).up())
    assert "set deletion_protection: false in tidepool:store and `up` first" in "\n".join(refused)
    assert lab.changes(larger | {"deletion_protection": False}) == [("update", "tidepool-training")]
    moved = lab.changes(FIRESTORE)
    assert ("update", "ConfigMap/rl/tidepool-store") in moved
    assert {op for op, name in moved if name == "tidepool-training"} == {"create", "delete"}
    assert ("delete", "NetworkPolicy/rl/store") in moved
    assert lab.changes(FIRESTORE) == []
