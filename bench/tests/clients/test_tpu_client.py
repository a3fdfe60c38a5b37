"""google-cloud-tpu walks the life of a TPU VM."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.cloud import tpu_v2

ZONE = "projects/client-lab/locations/us-west4-a"
State = tpu_v2.Node.State


@pytest.fixture
def tpus(rest):
    return rest(tpu_v2.TpuClient)


def test_a_node_lives_from_create_to_delete(tpus):
    sent = tpu_v2.Node(
        accelerator_type="v5litepod-4", runtime_version="tpu-ubuntu2204-base", scheduling_config={"preemptible": True},
        labels={"team": "a"}, metadata={"startup-script": "true"},
    )  # fmt: skip
    begun = tpus.create_node(parent=ZONE, node_id="vm-0", node=sent)
    made = begun.result()
    assert begun.metadata.target == made.name == f"{ZONE}/nodes/vm-0"
    assert begun.metadata.end_time >= begun.metadata.create_time
    assert (made.state, made.health) == (State.READY, tpu_v2.Node.Health.HEALTHY), "READY is 2, HEALTHY is 1"
    assert made.accelerator_config.type_ == tpu_v2.AcceleratorConfig.Type.V5LITE_POD
    assert tpus.get_node(name=made.name).metadata == {"startup-script": "true"}

    change = tpu_v2.Node(name=made.name, labels={"team": "b"}, description="ignored")
    changed = tpus.update_node(node=change, update_mask={"paths": ["labels"]}).result()
    assert (dict(changed.labels), changed.description) == ({"team": "b"}, "")
    assert tpus.stop_node({"name": made.name}).result().state == State.STOPPED
    assert tpus.start_node({"name": made.name}).result().state == State.READY

    tpus.delete_node(name=made.name).result()
    with pytest.raises(exceptions.NotFound, match="was not found"):
        tpus.get_node(name=made.name)


def test_an_accelerator_is_sent_as_its_number(tpus):
    config = tpu_v2.AcceleratorConfig(type_=tpu_v2.AcceleratorConfig.Type.V4, topology="2x2x1")
    sent = tpu_v2.Node(accelerator_config=config, runtime_version="tpu-ubuntu2204-base")
    parent = "projects/client-lab/locations/us-central2-b"
    assert tpus.create_node(parent=parent, node_id="v4-0", node=sent).result().accelerator_type == "v4-8"
