"""What `preview` and `up` do where a rule is broken: they say all of it, end with 1, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO

import pytest
from rich.console import Console

from infra.cli.render.console import say
from infra.model.plan import Diagnostic, Op, Plan, Step
from infra.operations.declared.stack_file import Declared
from infra.operations.stacks.findings import findings_of
from infra.preview.plan_lines import describe_findings
from infra.rules.finding import Finding
from tests.cli.conftest import Checkout
from tests.cli.plans import REPOSITORY, other
from tests.rules.right_edits import LABELS, config

OWNER = "  tidepool:owner: marin\n"
BUDGET = OWNER + "  tidepool:budget: {usd_per_month: 1}\n"
WANTED = Declared(config=config(), registry=None, bounds=())


@pytest.fixture
def dear(clouded: Checkout) -> Checkout:
    """The checkout with a budget of one dollar for the ci stack."""
    text = clouded.text("ci")
    clouded.path("ci").write_text(text.replace(OWNER, BUDGET))
    return clouded


@pytest.fixture(autouse=True)
def _as_it_was(checkout: Checkout) -> Iterator[None]:
    good = checkout.text("ci")
    yield
    checkout.path("ci").write_text(good)


def plan(*steps: Step, diagnostics: tuple[Diagnostic, ...] = ()) -> Plan:
    return Plan(stack="ci", engine="local", cloud="local", steps=steps, diagnostics=diagnostics)


NOW = datetime(2026, 11, 24, tzinfo=UTC)


def said(plan: Plan) -> tuple[tuple[Finding, ...], str]:
    console = Console(file=StringIO(), width=200)
    found = findings_of(plan, WANTED, NOW)
    say(console, *describe_findings(found))
    assert isinstance(console.file, StringIO)
    return found, console.file.getvalue()


def test_up_ends_before_anything_is_changed(dear: Checkout) -> None:
    result = dear.run("up", "ci")
    assert result.exit_code == 1
    assert "stop: budget: list prices come to $" in result.stdout
    assert "[within-budget]" in result.stdout
    assert "nothing was changed" in result.stdout
    assert dear.json("cloud", "status")["nodes"] == {}


def test_the_resources_of_a_plan_are_judged() -> None:
    step = other(Op.CREATE, REPOSITORY, "marin", new_inputs={"repositoryId": "marin", "labels": LABELS})
    found, text = said(plan(step))
    assert [finding.rule for finding in found] == ["protected"]
    assert text.startswith("stop: marin (artifactregistry.Repository): it is not protected")
