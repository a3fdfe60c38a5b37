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


def findings(head: Reading, edit: Edit) -> tuple[Finding, ...]:
    """Every finding over the version that is to be; `edit` has it whole."""
    judged = rule.Edit(
        before=edit.base if edit.exists_before else None,
        after=edit.head,
        today=edit.facts.today,
        siblings=edit.head_siblings,
        order=edit.order,
        changes=changes_the_fleet(edit),
        window_hours=edit.facts.window_hours,
        demands=edit.facts.demands,
    )
    return (*(_of_file(problem) for problem in head.problems), *judge(judged))


def _of_file(problem: Problem) -> Finding:
    reason = f"{problem.value}: {problem.rule}" if problem.value else problem.rule
    return Finding(rule=STACK_FILE, level=Level.STOP, subject=problem.subject, reason=reason, fix=problem.fix)
