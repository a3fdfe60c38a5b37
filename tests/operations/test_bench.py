"""What the benchmark measures within its own process, and which starts it measures in others."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.cli.app import SECTIONS
from infra.operations.checkout.bench import explanations, figures, rendered_node_pools, timed
from infra.operations.checkout.figures import START_LIMIT, Figure, starts_shown
from infra.operations.checkout.starts import COMMANDS
from infra.operations.errors import Failure
from infra.operations.workspace import CHECKOUT


def test_a_thousand_node_pools_and_their_queues_are_rendered_within_two_seconds() -> None:
    figure = rendered_node_pools(1)
    assert (figure.case, figure.vms) == ("render 1,000 node pools", 2000)
    assert figure.cpu_seconds < 2


def test_starts_are_of_commands_that_there_are() -> None:
    known = {name for section in SECTIONS.values() for name in section}
    assert {words[0] for words in COMMANDS.values()} <= {*known, "--version", "--help"}


def test_a_start_over_the_limit_is_named() -> None:
    def start(case: str, cpu_seconds: float) -> Figure:
        return Figure(case=case, vms=0, engine="none", seconds=1.0, cpu_seconds=cpu_seconds, peak_mb=38.0)

    quick, slow = start("validate", START_LIMIT), start("explain", START_LIMIT + 0.01)
    *_, said = starts_shown([quick, slow])
    assert said == "A start may take 0.25 s of processor time; over it: explain."
    *_, said = starts_shown([quick])
    assert said == "A start may take 0.25 s of processor time; all are within it."


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
