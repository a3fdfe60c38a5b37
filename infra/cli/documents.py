"""The JSON objects of --json, described in docs/json.md. Keys are only ever added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from infra.model.fleet import CapacityRow
from infra.model.phases import Phases
from infra.model.plan import Plan
from infra.model.planned_capacity import capacity
from infra.model.planned_records import record_changes


def plan_document(plan: Plan, declared: Iterable[CapacityRow] = (), phases: Phases | None = None) -> dict[str, Any]:
    """A plan, or a run whose steps carry status and seconds.

    declared: the pools and zones of the stack file, so that those without a VM have their row too.
    phases: None where they were not looked for.
    """
    return {
        "stack": plan.stack,
        "engine": plan.engine,
        "cloud": plan.cloud,
        "complete": plan.complete,
        "summary": plan.summary,
        "steps": [step.to_json() for step in plan.steps],
        "capacity": [change.to_json() for change in capacity(plan, declared)],
        "records": [change.to_json() for change in record_changes(plan)],
        "phases": phases and phases.to_json(),
        "diagnostics": [asdict(said) for said in plan.diagnostics],
    }


def run_document(
    run: Plan, declared: Iterable[CapacityRow] = (), phases: Phases | None = None, *, seconds: float, code: int
) -> dict[str, Any]:
    """A run that has ended: wall seconds of the whole, and the command's exit code."""
    return plan_document(run, declared, phases) | {"seconds": round(seconds, 3), "exit": code}
