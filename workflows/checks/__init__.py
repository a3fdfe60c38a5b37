"""What keeps a workflow from doing what it says, where GitHub and the linters accept it; docs/workflow-rules.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from workflows.checks import (
    caches,
    conditions,
    coverage,
    images,
    limits,
    machines,
    publishing,
    rights,
    runners,
    scripts,
    wiring,
)
from workflows.checks.rule import HOSTED, Fault, Known, Pool, Repository, TestCase, WorkflowRule, pools_of
from workflows.checks.views import WorkflowView
from workflows.read import WorkflowFile

__all__ = ["HOSTED", "RULES", "Fault", "Known", "Pool", "TestCase", "WorkflowRule", "check", "pools_of"]

_ROOMS: Final = (
    conditions, publishing, limits, rights, runners, machines, images, caches, scripts, wiring,
    coverage,
)  # fmt: skip
RULES: Final[tuple[WorkflowRule, ...]] = tuple(rule for room in _ROOMS for rule in room.RULES)


def check(
    files: Iterable[WorkflowFile], known: Known | None = None, rules: Iterable[WorkflowRule] = RULES
) -> tuple[Fault, ...]:
    """Every fault of files that belong to one repository, sorted by file and line. Pure: reads nothing else."""
    judged = Repository(
        tuple(WorkflowView(file) for file in sorted(files, key=lambda file: file.source)), known or Known()
    )
    return tuple(sorted(set(_found(judged, rules))))


def _found(judged: Repository, rules: Iterable[WorkflowRule]) -> Iterator[Fault]:
    for rule in rules:
        for broken in rule.judge(judged):
            yield Fault(
                file=broken.workflow.file.source,
                line=broken.workflow.line(broken.path, broken.lines),
                rule=rule.id,
                job=broken.job,
                reason=broken.reason,
                fix=broken.fix or rule.fix,
            )
