"""Every rule there is, and the one way to judge by them; docs/rules.md is the same for people.

Owns the list and its order, and that one run says everything. Does not own what a rule finds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from infra.rules import (
    builds,
    edits,
    exceptions,
    forks,
    grants,
    keeping,
    losing,
    machines,
    secrecy,
    workflows,
)
from infra.rules.finding import Finding
from infra.rules.rule import Edit, EditRule, ResourceContext, ResourceRule
from infra.rules.view import ResourceView

EDIT_RULES: Final[tuple[EditRule, ...]] = (
    *edits.RULES,
    *losing.RULES,
    *workflows.RULES,
)
RESOURCE_RULES: Final[tuple[ResourceRule, ...]] = (
    *machines.RULES,
    *forks.RULES,
    *grants.RULES,
    *secrecy.RULES,
    *keeping.RULES,
    *builds.RULES,
)
_ONCE_IDS: Final = frozenset(rule.id for rule in EDIT_RULES if rule.once)
_EDIT_IDS: Final = frozenset(rule.id for rule in EDIT_RULES)
_RESOURCE_IDS: Final = frozenset(rule.id for rule in RESOURCE_RULES)


def judge(edit: Edit, resources: Iterable[ResourceView] | None = None) -> tuple[Finding, ...]:
    """Every finding over an edit and, where they are known, the resources that it makes; sorted, exceptions applied.

    resources: None where no program ran; rules over resources then say nothing.
    """
    found = list(of_edit(edit))
    if resources is not None:
        around = ResourceContext.of(edit.after)
        found += (finding for view in resources for finding in of_resource(view, around))
    accepted = exceptions.accepted(found, edit.after, edit.today)
    unused = of_unused(edit, found, resources_known=resources is not None)
    return tuple(sorted({*accepted, *of_exceptions(edit), *unused}))


def of_edit(edit: Edit) -> Iterator[Finding]:
    """What rules over an edit find, whatever is accepted."""
    for rule in EDIT_RULES:
        if rule.once or not edit.removed:
            yield from rule.judge(edit)


def of_resource(view: ResourceView, around: ResourceContext) -> Iterator[Finding]:
    """What rules over resources find of one, whatever is accepted."""
    for rule in RESOURCE_RULES:
        yield from rule.judge(view, around)


def of_exceptions(edit: Edit) -> Iterator[Finding]:
    """What is wrong with the exceptions themselves, whatever they meet."""
    yield from exceptions.expired(edit.after, edit.today, once=_ONCE_IDS)
    yield from exceptions.unknown(edit.after, _EDIT_IDS | _RESOURCE_IDS)


def of_unused(edit: Edit, found: Collection[Finding], *, resources_known: bool) -> Iterator[Finding]:
    """Exceptions that meet nothing. found: all that the rules have found, accepted or not."""
    ran = _EDIT_IDS | _RESOURCE_IDS if resources_known else _EDIT_IDS
    if edit.removed:
        ran = frozenset()
    elif edit.before is None:
        ran -= _ONCE_IDS
    yield from exceptions.unused(edit.after, edit.today, found, ran)


def stops(findings: Iterable[Finding]) -> bool:
    """Whether any of them holds the apply."""
    return any(finding.stops for finding in findings)
