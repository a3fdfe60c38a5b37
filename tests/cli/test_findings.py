"""What `preview` and `up` do where a rule is broken: they say all of it, end with 1, and change nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from infra.model.plan import Op
from infra.operations.declared.stack_file import Declared
from infra.operations.stacks.findings import findings_of
from infra.preview.plan_lines import describe_findings
from tests.cli.conftest import Checkout
from tests.cli.plans import REPOSITORY, other, plan
from tests.rules.right_edits import LABELS, config


def test_up_ends_before_anything_is_changed(clouded: Checkout) -> None:
    clouded.edit("ci", "config:\n", "config:\n  tidepool:budget: {usd_per_month: 1}\n")
    result = clouded.run("up", "ci")
    assert result.exit_code == 1
    assert "stop: budget: list prices come to $" in result.stdout
    assert "[within-budget]" in result.stdout
    assert "nothing was changed" in result.stdout
    assert clouded.json("cloud", "status")["nodes"] == {}


def test_the_resources_of_a_plan_are_judged() -> None:
    step = other(Op.CREATE, REPOSITORY, "marin", new_inputs={"repositoryId": "marin", "labels": LABELS})
    wanted = Declared(config=config(), registry=None, bounds=())
    found = findings_of(plan(step), wanted, datetime(2026, 11, 24, tzinfo=UTC))
    assert [finding.rule for finding in found] == ["protected"]
    line, *_ = map(str, describe_findings(found))
    assert line.startswith("stop: marin (artifactregistry.Repository): it is not protected")
