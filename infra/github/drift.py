"""One issue a stack that tells how the cloud differs from the state, updated in place and closed when nothing differs.

Owns what counts as drift in a refreshed plan, its fingerprint and the text of the issue, whose life is
`infra.github.issues`. The issue names resources and the properties that differ, never their values: an issue is read by
more people than a plan. Of grants that no stack declares it names role and member, without which nobody could judge
them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from infra.github.client import PostingPlace, failures_told
from infra.github.issues import IssueText, Told, follow
from infra.github.labels import Look
from infra.preview.markup import code, table

LABEL = "tidepool-drift"
_LOOK = Look("5319e7", "The cloud differs from what a stack recorded")
_TOLD, _PATHS, _GRANTED = 100, 5, 20
"""Resources, properties of each, and grants that are named: with the longest names the issue stays below GitHub's
limit."""
_QUIET = frozenset({"same", "read"})


class PlanError(Exception):
    """A plan from which nothing can be said of drift."""


class _Step(BaseModel):
    op: str
    urn: str
    type: str
    name: str
    diff: dict[str, Any]


class _Grant(BaseModel):
    resource: str
    role: str
    member: str


class _Grants(BaseModel):
    strange: tuple[_Grant, ...] = ()
    unread: tuple[str, ...] = ()


class _Plan(BaseModel):
    stack: str
    steps: tuple[_Step, ...]
    exit: int
    grants: _Grants = _Grants()


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """One resource that is not as it was recorded. paths: its properties that differ."""

    op: str
    type: str
    name: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """fingerprint: the same for the same differences, values included; empty for none.

    grants: roles that somebody holds and no stack declares, each as resource, role and member. unread: how many
    policies could not be read: of those nothing is known.
    """

    stack: str
    differences: tuple[Difference, ...]
    fingerprint: str
    grants: tuple[tuple[str, str, str], ...] = ()
    unread: int = 0

    @property
    def is_none(self) -> bool:
        return not (self.differences or self.grants)


def drift_of(stack: str, plan: Any) -> Drift:
    """What differs, by the JSON of `preview --refresh`. Raises PlanError for a plan that is another's or failed."""
    try:
        document = _Plan.model_validate(plan)
    except ValidationError as wrong:
        raise PlanError(f"not the JSON of a preview, in {wrong.error_count()} places") from None
    if document.stack != stack:
        raise PlanError(f"the plan is that of {document.stack}, not of {stack}")
    if document.exit != 0:
        raise PlanError("the plan could not be made, so nothing is known of drift")
    steps = [step for step in document.steps if step.op not in _QUIET]
    found = sorted(Difference(step.op, step.type, step.name, tuple(sorted(step.diff))) for step in steps)
    seen = sorted((step.op, step.urn, json.dumps(step.diff, sort_keys=True)) for step in steps)
    grants = sorted((each.resource, each.role, each.member) for each in document.grants.strange)
    told: list[Any] = [*seen, *grants]
    digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16] if told else ""
    return Drift(stack, tuple(found), digest, tuple(grants), len(document.grants.unread))


def tell(place: PostingPlace, drift: Drift) -> Told:
    """Let the stack's issue say this drift: created once, edited where the drift is another, reopened, closed."""
    text = None if drift.is_none else IssueText(title=_title(drift), body=_body(drift))
    with failures_told(f"telling the drift of {drift.stack}"):
        # What could not be read may be as it was told last.
        return follow(place, _marker(drift.stack), {LABEL: _LOOK}, text, unsure=bool(drift.unread))


def _marker(stack: str) -> str:
    return f"<!-- tidepool:drift:{stack} "


def _title(drift: Drift) -> str:
    count, granted = len(drift.differences), len(drift.grants)
    said = [f"{count} {'resource differs' if count == 1 else 'resources differ'}"] if count or not granted else []
    said += [f"{granted} {'grant' if granted == 1 else 'grants'} by hand"] if granted else []
    return f"Drift in {drift.stack}: {', '.join(said)}"


def _body(drift: Drift) -> str:
    lines = [
        f"{_marker(drift.stack)}{drift.fingerprint} -->",
        f"The cloud is not as the stack {code(drift.stack)} recorded it (fingerprint {code(drift.fingerprint)}).",
        "",
    ]
    if drift.differences:
        lines += table(("To get back", "Resource", "Type", "Differs in"), map(_row, drift.differences[:_TOLD]))
    lines += _more(len(drift.differences), _TOLD)
    if drift.grants:
        lines += ["", "Grants that no stack declares; whoever knows of none takes them away at Google:", ""]
        lines += table(("Resource", "Role", "Member"), (tuple(map(code, each)) for each in drift.grants[:_GRANTED]))
    lines += _more(len(drift.grants), _GRANTED)
    if drift.unread:
        lines += ["", f"{drift.unread} policies could not be read: nothing is known of grants in them."]
    advice = (
        f"`./tidepool preview {drift.stack} --refresh` shows the values; `./tidepool up {drift.stack}` makes the cloud"
        f" as declared, `./tidepool refresh {drift.stack}` takes its values over. This issue follows the drift and"
        " closes by itself."
    )
    return "\n".join([*lines, "", advice])


def _more(count: int, told: int) -> list[str]:
    return ["", f"... and {count - told:,} more"] if count > told else []


def _row(each: Difference) -> tuple[str, ...]:
    paths = [code(path) for path in each.paths[:_PATHS]]
    more = len(each.paths) - _PATHS
    return each.op, code(each.name), code(each.type), ", ".join(paths + [f"{more} more"] * (more > 0)) or "-"
