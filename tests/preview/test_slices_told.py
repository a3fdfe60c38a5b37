"""An edit of a cluster's slices, told in chips and dollars as one of VMs is."""

from __future__ import annotations

from infra.preview.meaning import RiskKind
from infra.preview.sentences import headline, order_lines
from tests.model.given import stack_text
from tests.preview.two_versions import meaning

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
    assert headline(found) == (
        "ci: 1 of 1 pool changes, 6 -> 7 VMs, 96 -> 112 chips (+16), $64,578.72 -> $75,341.84 a month"
    )
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


def test_another_kind_of_capacity_is_told_as_other_slices() -> None:
    found = meaning(slices("number: 1"), slices("number: 1").replace("capacity: spot", "capacity: on-demand"))
    assert {(pool.pool, pool.slices.delta) for pool in found.pools} == {("v4-32-spot", -1), ("v4-32-on-demand", 1)}


def test_slices_that_go_are_told_by_the_names_of_their_pools() -> None:
    found = meaning(slices("number: 3"), slices("number: 1"))
    (risk,) = [each for each in found.risks if each.kind is RiskKind.DELETE]
    assert risk.names == ("ct4p-hightpu-4t-2x2x4-b-spot-1", "ct4p-hightpu-4t-2x2x4-b-spot-2")


def test_a_protected_cluster_that_leaves_the_file_is_told_and_no_order_promises_it() -> None:
    found = meaning(slices("number: 1"), stack_text(pools="[]\n", quotas=QUOTA))
    (risk,) = [each for each in found.risks if each.kind is RiskKind.PROTECTION]
    assert risk.says == "cluster train is protected and leaves the file: what it holds would be lost"
    (refused,) = [each for each in found.risks if each.kind is RiskKind.UNAPPLIABLE]
    assert refused.says.endswith("put it back, or set its deletion_protection: false and `up` first")
    assert list(order_lines(found)) == ["no `./tidepool up ci` does it, because of cluster train: see Risk"]


def test_a_cluster_whose_protection_was_lifted_before_may_leave_the_file() -> None:
    free = slices("number: 1").replace("name: train", "name: train\n    deletion_protection: false")
    found = meaning(free, stack_text(pools="[]\n", quotas=QUOTA))
    assert not {RiskKind.PROTECTION, RiskKind.UNAPPLIABLE} & {each.kind for each in found.risks}
    assert any("can do it" in line for line in order_lines(found))


def test_an_edit_that_cannot_be_read_is_not_told_as_no_change() -> None:
    found = meaning(slices("number: 1"), slices("numbr: 1"))
    assert not headline(found).endswith("nothing changed")


def test_slices_run_jobs_and_no_runners_whose_work_would_be_unknown() -> None:
    found = meaning(slices("number: 3"), slices("number: 1"))
    assert "busy runners" not in {each.subject for each in found.risks}


def test_slices_of_one_host_that_go_are_told_by_the_one_pool_that_they_are_nodes_of() -> None:
    found = meaning(slices("number: 3", "v4-8"), slices("number: 1", "v4-8"))
    (risk,) = [each for each in found.risks if each.kind is RiskKind.DELETE]
    assert risk.says == "2 slices of v4-8-spot in us-central2-b deleted"
    assert risk.names == ("ct4p-hightpu-4t-2x2x1-b-spot",)
