"""Every rule there is, and the one way to judge by them; docs/rules.md is the same for people.

Owns the list and its order, and that one run says everything. Does not own what a rule finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from infra.rules import edits, exceptions, forks, grants, keeping, machines, secrecy
from infra.rules.finding import Finding
from infra.rules.rule import Edit, EditRule, ResourceRule, Surroundings
from infra.rules.view import ResourceView

EDIT_RULES: Final[tuple[EditRule, ...]] = edits.RULES
RESOURCE_RULES: Final[tuple[ResourceRule, ...]] = (
    *machines.RULES,
    *forks.RULES,
    *grants.RULES,
    *secrecy.RULES,
    *keeping.RULES,
)
_EDIT_IDS: Final = frozenset(rule.id for rule in EDIT_RULES)
_IDS: Final = _EDIT_IDS | {rule.id for rule in RESOURCE_RULES}


def judge(edit: Edit, resources: Iterable[ResourceView] | None = None) -> tuple[Finding, ...]:
    """Every finding over an edit and, where they are known, the resources that it makes; sorted, exceptions applied.

    resources: None where no program ran; rules over resources then say nothing.
    """
    found = list(_of_edit(edit))
    ran = _EDIT_IDS
    if resources is not None:
        around = Surroundings.of(edit.after)
        found += (finding for view in resources for finding in _of_resource(view, around))
        ran = _IDS
    config, today = edit.after, edit.today
    return tuple(
        sorted(
            {
                *exceptions.accepted(found, config, today),
                *exceptions.expired(config, today),
                *exceptions.unknown(config, _IDS),
                *exceptions.unused(config, today, found, ran),
            }
        )
    )


def judge_resource(view: ResourceView, around: Surroundings, today: datetime) -> tuple[Finding, ...]:
    """Every finding over one resource; for those who meet them one by one."""
    return tuple(sorted(set(exceptions.accepted(_of_resource(view, around), around.config, today))))


def _of_edit(edit: Edit) -> Iterator[Finding]:
    for rule in EDIT_RULES:
        yield from rule.judge(edit)


def _of_resource(view: ResourceView, around: Surroundings) -> Iterator[Finding]:
    for rule in RESOURCE_RULES:
        yield from rule.judge(view, around)


def stops(findings: Iterable[Finding]) -> bool:
    """Whether any of them holds the apply."""
    return any(finding.stops for finding in findings)
