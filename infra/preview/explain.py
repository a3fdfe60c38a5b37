"""What an edit of one stack file means, from its two versions and facts handed in. Equal inputs, equal answer.

Owns how a stack is flattened into keys: items of a list go by their name, where they have one, so that a pool that
moves in the file is no change; what is added or removed as a whole is one line. Does not own the rules (`infra.rules`),
what a file may say, nor the arithmetic of waits (`infra.model`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from infra.model.bounds import fleet, limits
from infra.model.calendar import begin_of_day
from infra.model.demand import Demands
from infra.model.errors import Problem
from infra.model.offers import Offers
from infra.model.phases import phases
from infra.model.schema import Slices, StackConfig
from infra.model.stack import Reading
from infra.model.waits import shares, waits
from infra.model.whole import gone, whole
from infra.preview import sums
from infra.preview.cluster_edits import quota_changes
from infra.preview.meaning import Facts, KeyChange, Meaning, Words
from infra.preview.risks import Edit, changes_the_fleet, risks
from infra.preview.vms import changes
from infra.preview.weeks import weeks
from infra.rules import rule
from infra.rules.book import judge
from infra.rules.finding import Finding, Level

STACK_FILE = "stack-file"
"""The rule that every mistake in a stack file breaks; no exception covers it."""
_NAMES = ("name", "repository", "rule")
_IS_THERE = "declared"
_LONGEST = 120
"""Characters of what an item says; one that says more is only called declared."""


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
    order = phases(fleet(before), fleet(after), limits(after, siblings[1]))
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
        ledger=sums.ledger_lines(before, siblings[0], after, siblings[1], begin_of_day(facts.today)),
        money=sums.money(before, after, facts.today, facts.window_hours),
        week=tuple(weeks(before, after, facts.today)),
        risks=risks(edit) if sections else (),
        order=order,
        stale=facts.stale,
        findings=findings(head, edit),
        keys=key_changes(before, after) if base and head else (),
        waits=_waits((before, *siblings[0]), (after, *siblings[1]), facts),
        queues=quota_changes(before, after),
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


def key_changes(before: StackConfig, after: StackConfig) -> tuple[KeyChange, ...]:
    """Sorted as a file has them; nothing where both say the same."""
    return tuple(_differences("", before, after))


def _differences(key: str, before: Any, after: Any) -> Iterator[KeyChange]:
    if before == after:
        return
    was, becomes = _parts(before), _parts(after)
    if was is None or becomes is None:
        yield KeyChange(key=key, value=Words(_shown(before), _shown(after)))
        return
    for part in dict.fromkeys((*was, *becomes)):
        where = f"{key}{part}" if key else part.lstrip(".")
        if part in was and part in becomes:
            yield from _differences(where, was[part], becomes[part])
        else:
            yield KeyChange(key=where, value=Words(_shown(was.get(part)), _shown(becomes.get(part))))


def _parts(value: Any) -> dict[str, Any] | None:
    """What a value consists of, by its key below it; None for what is one value."""
    if isinstance(value, BaseModel):
        return {f".{name}": getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {f".{name}": each for name, each in value.items()}
    if isinstance(value, tuple) and all(isinstance(each, BaseModel) for each in value):
        return {f"[{_name(each, index)}]": each for index, each in enumerate(value)}
    return None


def _name(item: BaseModel, index: int) -> str:
    """Two rules may be excepted for several subjects each, so an exception's name has both; slices have their zone."""
    if isinstance(item, Slices):
        return f"{item.name} {item.zone}"
    own = [str(getattr(item, name)) for name in (*_NAMES, "subject") if hasattr(item, name)]
    return " ".join(own) or str(index)


def _shown(value: Any) -> str | None:
    """One value on a line; a section or item says what it consists of, or where that is long only that it is there."""
    if value is None:
        return None
    if isinstance(value, BaseModel):
        said = ", ".join(_leaves(value))
        return said if said and len(said) <= _LONGEST else _IS_THERE
    if isinstance(value, Mapping) or (isinstance(value, tuple) and value and _parts(value) is not None):
        return _IS_THERE
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _leaves(item: BaseModel) -> Iterator[str]:
    """Its keys with their values, as `zone us-west4-a`, those of what stands in it too."""
    for name in type(item).model_fields:
        value = getattr(item, name, None)
        if isinstance(value, BaseModel):
            yield from _leaves(value)
        elif value not in (None, (), {}):
            yield f"{name} {_shown(value)}"
