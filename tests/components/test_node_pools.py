"""A cluster and its node pools as Google's provider is told of them: every trap on that way, with its reason."""

from __future__ import annotations

from typing import Any

from infra.program.stack import declare
from tests.model.clustered import cluster, entry
from tests.model.given import parse as parsed
from tests.model.given import stack_text
from tests.program.fake_engine import Built, Registered, build

LAB = "my-lab"
TPU7X = cluster(region="us-central1", zones="[us-central1-c]")


def built(*entries: str, of: str | None = None, preview: bool = False, **sections: str) -> Built:
    text = stack_text(cluster=of or cluster(), slices="".join(entries) or "[]\n", pools="[]\n", **sections)
    config = parsed(text, stack="training")
    return build(lambda: declare(config), stack="training", preview=preview)


def pool(**fields: Any) -> Registered:
    """The only node pool of one entry, beside the system pool."""
    of = TPU7X if str(fields.get("accelerator", "")).startswith("tpu7x") else None
    given = {"number": 1} | fields
    (found,) = pools(built(entry(**given), of=of))
    return found


def pools(made: Built) -> list[Registered]:
    return [each for each in made.of("NodePool") if each.name not in ("system", "batch")]


# The cluster


def test_cluster_is_protected_from_deletion_until_the_stack_file_says_otherwise() -> None:
    """By Google, and by the engine, which refuses before the pools of the cluster are gone and not after."""
    for written, protected in ((None, True), ("false", False)):
        found = built(of=cluster(deletion_protection=written)).one("Cluster")
        assert found.inputs["deletionProtection"] is protected
        assert found.protect is protected


# Slices: trap by trap


def test_tpu7x_slices_of_one_shape_in_two_zones_have_a_policy_each() -> None:
    """Policies are of a region: two of one name would be one resource declared twice, which no engine takes."""
    zones = ("us-central1-c", "us-central1-ai1a")
    made = built(*(entry(accelerator="tpu7x-16", zone=zone, number=1) for zone in zones), of=TPU7X)
    policies = made.of("ResourcePolicy")
    assert len({each.urn for each in policies}) == len({each.inputs["name"] for each in policies}) == 2


def test_another_kind_of_capacity_is_another_pool_and_never_an_update() -> None:
    names = {pool(capacity=capacity).name for capacity in ("on-demand", "spot")}
    assert len(names) == 2


def test_outputs_say_the_pools_and_what_they_hold() -> None:
    told = built(entry(number=None, buffer=1, maximum=2)).outputs["cluster"]
    assert told["endpoint"] == "192.0.2.7"
    (slices,) = told["slices"]
    assert slices["slices"] == {"least": 1, "most": 2}
    assert slices["chips"] == {"least": 16, "most": 32}
