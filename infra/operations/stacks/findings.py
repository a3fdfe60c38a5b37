"""What the rules say of a plan, and plans that the pulumi CLI wrote to files. It loads no engine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from infra.engines.protocol import CloudName
from infra.model.errors import EngineError
from infra.model.plan import Plan
from infra.operations.errors import Failure
from infra.operations.stacks.declared import Declared
from infra.rules.book import judge
from infra.rules.finding import Finding
from infra.rules.rule import Edit
from infra.rules.view import views


def findings_of(plan: Plan, wanted: Declared) -> tuple[Finding, ...]:
    """Every finding over a plan.

    Of a plan that could not be made the edit alone is judged: its resources are not whole.
    """
    edit = Edit(
        after=wanted.config,
        today=datetime.now(UTC),
        changes=None if plan.failed else any(step.changes for step in plan.steps),
        runs_phases=True,
        demands=wanted.demands,
        siblings=wanted.siblings,
    )
    return judge(edit, None if plan.failed else views(plan))


def recorded(source: Path, stack: str) -> Plan:
    """What `pulumi preview --json --show-sames` printed into a file. Raises Failure where it is no such file."""
    from infra.engines.official import plan_from_preview_json  # the Automation API takes a while to import

    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{source} cannot be read: {error}") from None
    try:
        return plan_from_preview_json(text, stack=stack, cloud=CloudName.GOOGLE.value)
    except EngineError as error:
        raise Failure(f"{source}: {error}") from None
