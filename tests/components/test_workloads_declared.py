"""Dask classes and groups as resources: in which order, what is made anew with what, and who may write checkpoints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.model.grants import Guarded, guarded, strange
from infra.program.queues import unbuilt
from infra.program.stack import declare
from tests.model.workloads import MATH, TRANSFORM, objects, stack
from tests.program.fake_engine import Built, Registered, build


@pytest.fixture(scope="module")
def made() -> Built:
    config = stack()
    return build(lambda: declare(config), stack="training")


def named(made: Built, name: str) -> Registered:
    (found,) = [each for each in made.resources.values() if each.name == name]
    return found


def test_every_derived_object_is_declared_as_it_is(made: Built) -> None:
    for body in objects(stack()):
        told = body["metadata"]
        declared = named(made, "/".join((body["kind"], told["namespace"], told["name"])))
        assert json.loads(json.dumps(declared.inputs, default=dict)) == json.loads(json.dumps(body))


def test_a_declared_bucket_is_kept_and_its_teams_account_writes_there(made: Built) -> None:
    bucket = named(made, "my-lab-tpus-math")
    assert (bucket.protect, bucket.retain_on_delete) == (True, True)
    assert (bucket.inputs["uniformBucketLevelAccess"], bucket.inputs["publicAccessPrevention"]) == (True, "enforced")
    grant = named(made, "my-lab-tpus-math-writer").inputs
    assert (grant["role"], grant["member"]) == (
        "roles/storage.objectUser",
        "serviceAccount:trainer@my-lab-tpus.iam.gserviceaccount.com",
    )
    assert not [each for each in made.resources.values() if each.name == "somebody-elses"]
    policy = {"bindings": [{"role": grant["role"], "members": [grant["member"]]}]}
    for thing, strangers in ((Guarded("bucket", "my-lab-tpus-math"), 0), (Guarded("bucket", "somebody-elses"), 1)):
        assert len(list(strange(thing, policy, [stack()]))) == strangers
    assert Guarded("bucket", "my-lab-tpus-math") in guarded(stack())


def test_outputs_say_where_work_is_found_and_what_it_holds(made: Built) -> None:
    assert made.outputs["batch"]["transform"] == {
        "scheduler": "tcp://transform-scheduler.data.svc:8786",
        "worker": {"cpu": "8000m", "memory": "32000M"},
        "workers": {"least": 2, "most": 40},
        "tasks": 320,
    }
    assert made.outputs["groups"]["math"] == {
        "chips": {"v4-32": 16, "v4-8": 12},
        "hosts": {role: f"math-{role}.rl.svc" for role in ("curriculum", "train", "rollout")},
    }


def test_what_has_no_image_is_told_and_not_declared() -> None:
    def bare(declared: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in declared.items() if key != "image"}

    config = stack(batch=[bare(TRANSFORM)], groups=[bare(MATH)])
    built = build(lambda: declare(config), stack="training")
    assert not built.of("DaskCluster")
    assert not built.of("StatefulSet")
    assert not {"batch", "groups"} & built.outputs.keys(), "nobody listens there"
    assert "nothing is declared of batch[transform], groups[math]" in unbuilt(config)
    assert unbuilt(stack()) == ""
