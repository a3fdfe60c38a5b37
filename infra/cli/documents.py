"""The JSON objects of --json, described in docs/json.md. Keys are only ever added."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from infra.model.plan import Plan
from infra.model.planned_capacity import capacity


def plan_document(plan: Plan) -> dict[str, Any]:
    """A plan, or a run whose steps carry status and seconds."""
    return {
        "stack": plan.stack,
        "engine": plan.engine,
        "cloud": plan.cloud,
        "summary": plan.summary,
        "steps": [step.to_json() for step in plan.steps],
        "capacity": [change.to_json() for change in capacity(plan)],
        "diagnostics": [asdict(said) for said in plan.diagnostics],
    }


def run_document(run: Plan, *, seconds: float, code: int) -> dict[str, Any]:
    """A run that has ended: wall seconds of the whole, and the command's exit code."""
    return plan_document(run) | {"seconds": round(seconds, 3), "exit": code}
