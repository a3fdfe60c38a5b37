"""What a rule is: its words for people, and a function from all files to what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workflows.checks.known import Known
from workflows.checks.views import Job, Workflow
from workflows.document import Path


@dataclass(frozen=True, slots=True)
class Scene:
    """Every file that is judged, and what is known beside them."""

    workflows: tuple[Workflow, ...]
    known: Known

    def jobs(self) -> Iterator[Job]:
        for workflow in self.workflows:
            yield from workflow.jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One place where a rule does not hold. lines: how far into the text at `path`. fix: in place of the rule's own."""

    workflow: Workflow
    reason: str
    path: Path = ()
    job: str = ""
    lines: int | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. what: that which must hold. why: what happens otherwise. example: a line that breaks it."""

    id: str
    what: str
    why: str
    example: str
    fix: str
    judge: Callable[[Scene], Iterator[Broken]]
