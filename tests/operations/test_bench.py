"""What the benchmark measures within its own process."""

from __future__ import annotations

from infra.operations.checkout.bench import rendered_node_pools


def test_a_thousand_node_pools_and_their_queues_are_rendered_within_two_seconds() -> None:
    figure = rendered_node_pools(1)
    assert (figure.case, figure.vms) == ("render 1,000 node pools", 2000)
    assert figure.cpu_seconds < 2
