"""What a job may do and what may stop it: permissions, concurrency by purpose, and the guard against forks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workflows.builders.expression import Expression, Template, Text, context, literal


class Scope(StrEnum):
    """Scopes of a job's token that a workflow may ask for.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#permissions (read 2026-11-21)
    """

    ACTIONS = "actions"
    ATTESTATIONS = "attestations"
    CHECKS = "checks"
    CONTENTS = "contents"
    DEPLOYMENTS = "deployments"
    DISCUSSIONS = "discussions"
    ID_TOKEN = "id-token"  # noqa: S105
    ISSUES = "issues"
    PACKAGES = "packages"
    PAGES = "pages"
    PULL_REQUESTS = "pull-requests"
    SECURITY_EVENTS = "security-events"
    STATUSES = "statuses"


class Access(StrEnum):
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Grant:
    """One scope of a job's token; `why` is written beside it and is needed for whatever can write."""

    scope: Scope
    access: Access
    why: str = ""


@dataclass(frozen=True, slots=True)
class Permissions:
    """The whole of what a job's token may do; no grant is no right at all."""

    grants: tuple[Grant, ...] = ()

    @classmethod
    def of(cls, *grants: Grant) -> Permissions:
        return cls(tuple(sorted(grants, key=lambda grant: grant.scope)))

    @classmethod
    def read_contents(cls) -> Permissions:
        """What a job needs to check out its own repository."""
        return cls.of(Grant(Scope.CONTENTS, Access.READ))

    def plain(self) -> dict[str, str]:
        return {grant.scope.value: grant.access.value for grant in self.grants}

    def problems(self) -> list[tuple[str, str, str]]:
        """(value, rule, fix) of each grant that does not stand."""
        found = []
        scopes = [grant.scope for grant in self.grants]
        for grant in self.grants:
            said = f"{grant.scope}: {grant.access}"
            if grant.access is Access.WRITE and not grant.why:
                found.append((said, "a right to write says what it is for", "Grant(..., why=...)"))
            if grant.scope is Scope.ID_TOKEN and grant.access is Access.READ:
                found.append((said, "GitHub knows id-token: write alone", "Access.WRITE"))
        found += [(scope.value, "a scope stands once", "one grant") for scope in set(scopes) if scopes.count(scope) > 1]
        return found


NEVER_CUT_OFF = "a clean-up, an apply and a publish are never cut off"


class Purpose(StrEnum):
    """What work is for, which decides whether a newer run may cut it off."""

    CHECK = "check"
    """Of one commit, worth nothing once a newer one is there: cancelled."""
    TEST = "test"
    """As a check in a pull request; on a branch each commit's outcome is wanted, so there it runs to its end."""
    WATCH = "watch"
    """A report on what stands, such as drift."""
    APPLY = "apply"
    PUBLISH = "publish"
    CLEANUP = "clean-up"

    @property
    def must_finish(self) -> bool:
        """Whether to cut it off leaves something half done or left behind."""
        return self in {Purpose.APPLY, Purpose.PUBLISH, Purpose.CLEANUP}


@dataclass(frozen=True, slots=True)
class Concurrency:
    """One run at a time of `group`; whether a newer run cancels or waits follows from the purpose.

    Of those that wait GitHub keeps the newest alone and cancels the others:
    https://docs.github.com/en/actions/how-tos/write-workflows/choose-when-workflows-run/control-workflow-concurrency
    (read 2026-11-21). So tests outside pull requests have a group for each run, and do not wait at all.
    """

    group: Text
    purpose: Purpose

    @property
    def cancels(self) -> bool:
        return self.purpose in {Purpose.CHECK, Purpose.TEST}

    def plain(self) -> dict[str, Any]:
        group = self.group.parts if isinstance(self.group, Template) else (self.group,)
        if self.purpose is Purpose.TEST:
            ours = context("github.event_name").equals("pull_request")
            group = (*group, "-", ours & literal("newest") | context("github.run_id"))
        return {"group": str(Template(group)), "cancel-in-progress": self.cancels}


_PULL_REQUEST = frozenset(("pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment"))


@dataclass(frozen=True, slots=True)
class Guard:
    """The condition that keeps what a fork sent away from runners and identities of ours.

    It saves queueing; the control is a runner group limited to named workflows and repositories.
    """

    events: Collection[str]

    def condition(self) -> Expression | None:
        """None where no event of the workflow can come from a fork."""
        ours: Expression | None = None
        for field, events in (
            ("pull_request.head.repo", _PULL_REQUEST & set(self.events)),
            ("workflow_run.head_repository", {"workflow_run"} & set(self.events)),
        ):
            if events:
                same = context(f"github.event.{field}.full_name").equals(context("github.repository"))
                ours = same if ours is None else ours | same
        others = set(self.events) - _PULL_REQUEST - {"workflow_run"}
        if ours is None or not others:
            return ours
        # Another event has none of these fields, so that the comparison alone would never hold for it.
        name = context("github.event_name")
        foreign = sorted(set(self.events) - others)
        apart = name.differs(foreign[0]) if len(foreign) == 1 else ~name.one_of(foreign)
        return apart | ours
