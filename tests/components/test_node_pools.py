"""A cluster and its node pools as Google's provider is told of them: every trap on that way, with its reason."""

from __future__ import annotations

from infra.program.stack import declare
from tests.model.clustered import cluster, entry
from tests.model.given import parse as parsed
from tests.model.given import stack_text
from tests.program.fake_engine import Built, build

LAB = "my-lab"
TPU7X = cluster(region="us-central1", zones="[us-central1-c]")


def built(*entries: str, of: str | None = None, **sections: str) -> Built:
    text = stack_text(cluster=of or cluster(), slices="".join(entries) or "[]\n", pools="[]\n", **sections)
    config = parsed(text, stack="training")
    return build(lambda: declare(config), stack="training")


# Slices: trap by trap


def test_tpu7x_slices_of_one_shape_in_two_zones_have_a_policy_each() -> None:
    """Policies are of a region: two of one name would be one resource declared twice, which no engine takes."""
    zones = ("us-central1-c", "us-central1-ai1a")
    made = built(*(entry(accelerator="tpu7x-16", zone=zone, number=1) for zone in zones), of=TPU7X)
    policies = made.of("ResourcePolicy")
    assert len({each.urn for each in policies}) == len({each.inputs["name"] for each in policies}) == 2


def test_outputs_say_the_pools_and_what_they_hold() -> None:
    told = built(entry(number=None, buffer=1, maximum=2)).outputs["cluster"]
    assert told["endpoint"] == "192.0.2.7"
    (slices,) = told["slices"]
    assert slices["slices"] == {"least": 1, "most": 2}
    assert slices["chips"] == {"least": 16, "most": 32}
