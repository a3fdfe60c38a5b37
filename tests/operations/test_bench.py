"""What the benchmark measures within its own process, and which starts it measures in others."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.operations.checkout.bench import explanations, figures, rendered_node_pools, timed
from infra.operations.errors import Failure
from infra.operations.workspace import CHECKOUT


def test_a_thousand_node_pools_and_their_queues_are_rendered_within_two_seconds() -> None:
    figure = rendered_node_pools(1)
    assert (figure.case, figure.vms) == ("render 1,000 node pools", 2000)
    assert figure.cpu_seconds < 2


@pytest.mark.end_to_end
def test_the_edits_that_the_benchmark_explains_are_stopped_by_no_rule() -> None:
    assert [figure.case for figure in explanations(1)] == ["explain ci, cold", "explain 500 pools"]


@pytest.mark.heavy
def test_every_case_of_the_benchmark_runs_at_the_smallest_size() -> None:
    assert {"preview ci, cold", "up"} <= {figure.case for figure in figures([1], 1)}


@pytest.mark.end_to_end
def test_a_case_that_fails_gives_the_reason_that_its_command_printed(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"(?s)a case of 9 VMs: exit code 2\n.*no-such-stack"):
        timed("a case", 9, "none", CHECKOUT, tmp_path, "explain", "no-such-stack")
