"""What the rules say of a plan, and plans that were written to files. It loads no engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from infra.model.errors import EngineError
from infra.model.plan import Plan
from infra.model.stepset import PlanError, StepSet, step_set
from infra.operations.declared.stack_file import Declared
from infra.operations.errors import Failure
from infra.operations.ports import CloudName
from infra.rules.book import judge
from infra.rules.finding import Finding
from infra.rules.rule import Edit
from infra.rules.view import views

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def findings_of(plan: Plan, wanted: Declared, now: datetime) -> tuple[Finding, ...]:
    """Every finding over a plan. now: the time by which freezes and exceptions hold.

    Of a plan that could not be made the edit alone is judged: its resources are not whole.
    """
    edit = Edit(
        after=wanted.config,
        today=now,
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


def recorded_steps(files: Iterable[Path]) -> StepSet:
    """The steps of what `preview STACK --json` printed, a file a stack. Raises Failure where one is no plan."""
    try:
        return step_set([_read(path) for path in files])
    except PlanError as unfit:
        raise Failure(str(unfit)) from None


def reviewed_digest(path: Path | None) -> str | None:
    """The digest in what `plan digest --json` printed; None where there is no file, or none in it."""
    if path is None or not path.is_file():
        return None
    document = _read(path)
    found = document.get("digest") if isinstance(document, dict) else None
    return found if isinstance(found, str) and _DIGEST.fullmatch(found) else None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise Failure(f"{path} holds no JSON") from None
