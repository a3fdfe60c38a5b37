"""An edit of a cluster's slices, told in chips and dollars as one of VMs is."""

from __future__ import annotations

from collections.abc import Mapping

from infra.model.plan import Op, Step
from infra.preview.meaning import RiskKind
from infra.preview.sentences import apply_line
from infra.preview.words import by_name
from tests.model.given import stack_text
from tests.preview.two_versions import heading, meaning, told

CLUSTER = """\
name: train
region: us-central2
zones: [us-central2-b]
maintenance: {days: [SA, SU], start: '09:00', hours: 8}
system: {machine_type: n2-standard-8}
"""
QUOTA = "- {project: my-lab, zone: us-central2-b, generation: v4, chips: 128, kind: preemptible}\n"


def slices(counts: str, accelerator: str = "v4-32") -> str:
    entry = f"- {{accelerator: {accelerator}, zone: us-central2-b, capacity: spot, {counts}}}\n"
    return stack_text(pools="[]\n", cluster=CLUSTER, slices=entry, quotas=QUOTA)


def test_one_slice_more_is_told_in_chips_and_dollars_and_makes_one_pool() -> None:
    found = meaning(slices("buffer: 1, maximum: 6"), slices("buffer: 1, maximum: 7"))
    assert heading(found) == "ci: +1 slice, +16 chips, +$10,763 a month"
    (grow,) = found.order.order
    assert grow.created == ("ct4p-hightpu-4t-2x2x4-b-spot-6",)
    assert "us-central2-b v4 preemptible quota: 96 -> 112 of 128 chips" in [str(line) for line in found.ledger]


def test_one_node_more_is_one_slice_more_of_a_pool_that_is_resized() -> None:
    found = meaning(slices("number: 2", "v4-8"), slices("number: 3", "v4-8"))
    (pool,) = found.pools
    assert (pool.slices.delta, pool.chips.delta) == (1, 4)
    (grow,) = found.order.order
    assert (grow.resized, grow.created) == (("ct4p-hightpu-4t-2x2x1-b-spot",), ())


def test_larger_buffer_says_what_stands_always_and_changes_no_maximum() -> None:
    found = meaning(slices("buffer: 1, maximum: 6"), slices("buffer: 2, maximum: 6"))
    assert not any(pool.changed for pool in found.pools)
    (risk,) = [each for each in found.risks if each.kind is RiskKind.IN_PLACE]
    assert risk.says == (
        "1 -> 2 slices of v4-32-spot in us-central2-b always stand, 16 -> 32 chips, $10,763.12 -> $21,526.24 a month; "
        "the others come when pods ask"
    )
    assert [each.key for each in found.keys] == ["slices[v4-32-spot us-central2-b].buffer"]


def test_slices_of_one_host_that_go_are_told_by_the_one_pool_that_they_are_nodes_of() -> None:
    found = meaning(slices("number: 3", "v4-8"), slices("number: 1", "v4-8"))
    (risk,) = [each for each in found.risks if each.kind is RiskKind.DELETE]
    assert risk.says == "2 slices of v4-8-spot in us-central2-b deleted"
    assert risk.names == ("ct4p-hightpu-4t-2x2x1-b-spot",)


def test_an_edited_maximum_is_a_maximum_and_says_what_stands_always() -> None:
    said = told(meaning(slices("buffer: 1, maximum: 6"), slices("buffer: 1, maximum: 7")), width=200)
    line = "v4-32-spot in us-central2-b, v4-32, spot: 6 -> 7 slices at most (+16 chips), 1 always up, the others when "
    assert f"{line}pods ask. Quota: 112 of 128 chips." in said
    assert "one `./tidepool up ci`: creates 1 node pool, deletes none; no running job is interrupted." in said
    assert "VM" not in said


def test_no_edit_that_ends_pods_or_restarts_nodes_promises_that_no_job_is_interrupted() -> None:
    three, cluster = slices("number: 3"), slices("number: 3").replace("n2-standard-8", "n2-standard-16")
    one_host = slices("number: 3", "v4-8")
    for before, after in ((three, slices("number: 1")), (one_host, slices("number: 1", "v4-8")), (three, cluster)):
        assert "no running job is interrupted" not in apply_line(meaning(before, after))
    assert apply_line(meaning(slices("number: 1"), three)).endswith("; no running job is interrupted.")


def test_quotas_of_queues_are_told_by_the_names_of_flavor_and_resource() -> None:
    path = "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"
    queue, other = ({"spec": {"resourceGroups": [{"flavors": [flavor(name)]}]}} for name in ("v4-32-spot", "v4-8-spot"))
    assert by_name(step(queue, queue), path) == (
        "spec.resourceGroups[0].flavors[v4-32-spot].resources[google.com/tpu].nominalQuota"
    )
    assert ".flavors[0]." in by_name(step(queue, other), path), "another flavor stands there now"


def flavor(name: str) -> dict[str, object]:
    return {"name": name, "resources": [{"name": "google.com/tpu", "nominalQuota": "96"}]}


def step(old: Mapping[str, object], new: Mapping[str, object]) -> Step:
    return Step(op=Op.UPDATE, urn="urn::queue", type="kubernetes", name="queue", old_inputs=old, new_inputs=new)


def test_what_a_cluster_costs_beside_its_chips_is_named_and_in_no_sum() -> None:
    batch = "[{name: batch, machine_type: n2-standard-16, zones: [us-central2-b], maximum: 40, spot: true}]"
    text = slices("number: 1").replace("name: train", f"name: train\n    cpu_pools: {batch}")
    found = meaning(text, text.replace("number: 1", "number: 2"))
    assert found.money.not_counted == (
        "the cluster's fee",
        "1 x n2-standard-8 (system, always)",
        "0 to 40 x n2-standard-16 (batch, spot)",
        "its disks and traffic",
    )
    assert "not counted: the cluster's fee, 1 x n2-standard-8 (system, always), " in told(found, width=200)
