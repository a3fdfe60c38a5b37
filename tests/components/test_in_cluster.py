"""What stands inside a cluster: releases before objects, each object after what it names, and no secret."""

from __future__ import annotations

import json

import pytest

from infra.components.in_cluster import kubeconfig
from infra.program.stack import declare
from tests.model.queued import objects, stack
from tests.program.fake_engine import Built, build


@pytest.fixture(scope="module")
def made() -> Built:
    config = stack()
    return build(lambda: declare(config), stack="training")


def test_every_derived_object_is_declared_as_it_is(made: Built) -> None:
    kinds = [each for each in made.resources.values() if each.type.startswith("kubernetes:")]
    told = {each.name: each for each in kinds if "/" in each.name}
    for body in objects(stack()):
        metadata = body["metadata"]
        name = "/".join(filter(None, (body["kind"], metadata.get("namespace"), metadata["name"])))
        assert json.loads(json.dumps(told[name].inputs, default=dict)) == body
    assert len(told) == len(objects(stack()))


def test_no_job_is_declared_since_the_spec_of_a_jobset_cannot_be_changed(made: Built) -> None:
    """Nor a PriorityClass, whose value the provider neither updates nor replaces; priorities are Kueue's."""
    assert made.of("WorkloadPriorityClass")
    assert not [each.name for each in made.resources.values() if each.type.endswith((":JobSet", ":PriorityClass"))]


def test_preview_works_before_the_cluster_exists_and_tells_no_uid(made: Built) -> None:
    """The uid of an object that does not exist yet raises in a preview."""
    seen = build(lambda: declare(stack()), stack="training", preview=True)
    assert seen.resources.keys() == made.resources.keys()
    assert "uid" not in json.dumps(seen.outputs, default=str)


def test_outputs_say_which_queues_each_team_has(made: Built) -> None:
    assert made.outputs["queues"] == {"pretraining": ["v4-32", "v4-8", "cpu"], "rl": ["v4-8", "cpu"]}


def test_the_way_to_the_cluster_holds_no_secret() -> None:
    told = json.loads(kubeconfig("10.1.2.3", "Y2E="))
    assert told["clusters"][0]["cluster"]["server"] == "https://10.1.2.3"
    assert told["users"][0]["user"].keys() == {"exec"}
    assert told["contexts"] == [{"name": told["current-context"], "context": {"cluster": "gke", "user": "gke"}}]


def test_a_stack_without_queues_has_nothing_inside_its_cluster() -> None:
    config = stack().model_copy(update={"queues": None})
    assert build(lambda: declare(config), stack="training").of("Release") == []
