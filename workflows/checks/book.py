"""Every rule there is, and the one way to judge by them; docs/workflow-rules.md is the same for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from workflows.checks import (
    caches,
    calls,
    cleanups,
    conditions,
    coverage,
    images,
    limits,
    machines,
    prepared,
    publishing,
    queues,
    releases,
    rights,
    scripts,
    strangers,
    typed,
    upstream,
    wiring,
)
from workflows.checks.finding import Finding
from workflows.checks.known import Known
from workflows.checks.rule import Rule, Scene
from workflows.checks.views import Workflow
from workflows.read import WorkflowFile

RULES: Final[tuple[Rule, ...]] = (
    *conditions.RULES,
    *upstream.RULES,
    *limits.RULES,
    *rights.RULES,
    *strangers.RULES,
    *machines.RULES,
    *cleanups.RULES,
    *images.RULES,
    *caches.RULES,
    *scripts.RULES,
    *publishing.RULES,
    *releases.RULES,
    *queues.RULES,
    *wiring.RULES,
    *calls.RULES,
    *prepared.RULES,
    *typed.RULES,
    *coverage.RULES,
)


def check(files: Iterable[WorkflowFile], known: Known | None = None) -> tuple[Finding, ...]:
    """Every finding over files that belong to one repository, sorted by file and line. Pure: reads nothing else."""
    scene = Scene(tuple(Workflow(file) for file in sorted(files, key=lambda file: file.source)), known or Known())
    return tuple(sorted(set(_found(scene))))


def _found(scene: Scene) -> Iterator[Finding]:
    for rule in RULES:
        for broken in rule.judge(scene):
            yield Finding(
                file=broken.workflow.file.source,
                line=broken.workflow.line(broken.path, broken.lines),
                rule=rule.id,
                job=broken.job,
                reason=broken.reason,
                fix=broken.fix or rule.fix,
            )
