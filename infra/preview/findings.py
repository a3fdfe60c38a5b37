"""What is wrong with an edit: mistakes in the stack file, and rules that it breaks. One list, sorted.

Owns how a mistake in a file becomes a finding. Does not own the rules (infra.rules) nor what a file may say (model).
"""

from __future__ import annotations

from infra.model.errors import Problem
from infra.model.stack import Reading
from infra.preview.risks import Edit, changes_the_fleet
from infra.rules import rule
from infra.rules.book import judge
from infra.rules.finding import Finding, Level

STACK_FILE = "stack-file"
"""The rule that every mistake in a stack file breaks; no exception covers it."""


def findings(head: Reading | None, edit: Edit) -> tuple[Finding, ...]:
    """Every finding over the version that is to be; `edit` has it whole. head: None where the stack is removed."""
    judged = rule.Edit(
        before=edit.base,
        after=edit.head if head else edit.head.model_copy(update={"exceptions": edit.base.exceptions}),
        removed=head is None,
        siblings_before=edit.base_siblings,
        today=edit.facts.today,
        siblings=edit.head_siblings,
        order=edit.order,
        changes=changes_the_fleet(edit),
        window_hours=edit.facts.window_hours,
        demands=edit.facts.demands,
    )
    return (*(_of_file(problem) for problem in (head.problems if head else ())), *judge(judged))


def _of_file(problem: Problem) -> Finding:
    reason = f"{problem.value}: {problem.rule}" if problem.value else problem.rule
    return Finding(rule=STACK_FILE, level=Level.STOP, subject=problem.subject, reason=reason, fix=problem.fix)
