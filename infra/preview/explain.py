"""What an edit of one stack file means, from its two versions and facts handed in. Equal inputs, equal answer.

Does not own the rules (`infra.rules`), what a file may say, nor the arithmetic of waits (`infra.model`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.model.demand import Demands
from infra.model.errors import Problem
from infra.model.offers import Offers
from infra.model.phases import fleet, limits, phases
from infra.model.schema import StackConfig
from infra.model.stack import Reading
from infra.model.waits import shares, waits
from infra.model.whole import gone, whole
from infra.preview import sums
from infra.preview.keys import key_changes
from infra.preview.meaning import Facts, Meaning
from infra.preview.risks import Edit, changes_the_fleet, risks
from infra.preview.vms import changes
from infra.rules import rule
from infra.rules.book import judge
from infra.rules.finding import Finding, Level

STACK_FILE = "stack-file"
"""The rule that every mistake in a stack file breaks; no exception covers it."""


def explain(base: Reading | None, head: Reading | None, facts: Facts) -> Meaning:
    """Everything that can be told of the edit from `base` to `head`; mistakes in either are no reason to stop.

    base: None where the stack is new. head: None where it is removed. ValueError where both are None.
    """
    one = head or base
    if one is None:
        raise ValueError("a stack that exists neither before nor after has no meaning")
    before = whole(base) if base else gone(whole(one))
    after = whole(head, before if base else None) if head else gone(before)
    siblings = (base.siblings if base else one.siblings, head.siblings if head else one.siblings)
    places = changes(before, after)
    order = phases(fleet(before), fleet(after), limits(after if head else before, siblings[1]))
    sections = (*_sections(before, after), *_foreign(base, head)) if base and head else ("stack",)
    edit = Edit(
        base=before,
        head=after,
        base_siblings=siblings[0],
        head_siblings=siblings[1],
        exists_before=base is not None,
        exists_after=head is not None,
        sections=sections,
        places=places,
        order=order,
        facts=facts,
    )
    return Meaning(
        stack=after.stack,
        project=after.project,
        base=base is not None,
        head=head is not None,
        sections=sections,
        pools=sums.pool_changes(places),
        ledger=sums.ledger_lines(before, siblings[0], after, siblings[1]),
        money=sums.money(places, facts.window_hours, budget=after.budget.usd_per_month if after.budget else None),
        risks=risks(edit) if sections else (),
        order=order,
        stale=facts.stale,
        findings=findings(head, edit),
        keys=key_changes(before, after) if base and head else (),
        waits=_waits((before, *siblings[0]), (after, *siblings[1]), facts),
    )


def _sections(before: StackConfig, after: StackConfig) -> tuple[str, ...]:
    """The keys whose content differs, as a stack file calls them."""
    return tuple(name for name in StackConfig.model_fields if getattr(before, name) != getattr(after, name))


def _waits(before: Sequence[StackConfig], after: Sequence[StackConfig], facts: Facts) -> tuple[str, ...] | None:
    return None if facts.demands is None else tuple(changed_waits(before, after, facts.demands))


def _foreign(base: Reading, head: Reading) -> tuple[str, ...]:
    """Settings of Pulumi and its provider that differ, by their full keys; their values are nobody's to show."""
    keys = base.foreign.keys() | head.foreign.keys()
    return tuple(sorted(key for key in keys if base.foreign.get(key) != head.foreign.get(key)))


def changed_waits(before: Sequence[StackConfig], after: Sequence[StackConfig], demands: Demands) -> Iterator[str]:
    """The jobs whose wait differs, with what it was, and who now leaves room for whom; all stacks of both versions."""
    was, becomes = Offers.of(before), Offers.of(after)
    earlier = {(each.demand.subject, each.pools, each.event, each.code): each for each in waits(demands, was)}
    for each in waits(demands, becomes):
        other = earlier.get((each.demand.subject, each.pools, each.event, each.code))
        if other is None or (other.first, other.last) != (each.first, each.last):
            yield f"{each}" + (f" (before: {other.waited})" if other else "")
    known = set(shares(demands, was))
    yield from (line for line in shares(demands, becomes) if line not in known)


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
