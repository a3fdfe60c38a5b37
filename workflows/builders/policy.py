"""What a job may do and read, and what may stop it: permissions, contexts, concurrency by purpose, the guard on forks.

Owns the contexts that may be read in each place of a job, and whether what is read is there: steps before it, values of
legs, needed jobs and their outputs, inputs. Leaves who reads what to `workflows.builders.job`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workflows.builders.expression import Expression, Template, Text, context, literal
from workflows.builders.step import Complaint

NEVER_CUT_OFF = "a newer run would cut it off half way: a clean-up, an apply or a publish runs to its end"
_PULL_REQUEST = frozenset(("pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment"))
IN_CONDITION = frozenset(("github", "inputs", "needs", "vars"))
"""What the condition of a job may read, as its matrix: it is evaluated before there is a job.

https://docs.github.com/en/actions/reference/workflows-and-actions/contexts#context-availability (read 2026-11-21)
"""
IN_JOB = IN_CONDITION | {"matrix", "strategy"}
"""The same for its name, runner, environment and concurrency."""
IN_STEP = IN_JOB | {"env", "job", "runner", "secrets", "steps"}
_FIELDS = frozenset(("result", "outputs", "*"))


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

    def plain(self) -> dict[str, str]:
        return {grant.scope.value: grant.access.value for grant in self.grants}

    def problems(self) -> list[tuple[str, str, str]]:
        """(value, rule, fix) of each grant that does not stand."""
        found = []
        scopes = [grant.scope for grant in self.grants]
        for grant in self.grants:
            said = f"{grant.scope}: {grant.access}"
            if grant.access is Access.WRITE and not grant.why:
                found.append((said, "nothing says what this right to write is for", "Grant(..., why=...)"))
            if grant.scope is Scope.ID_TOKEN and grant.access is Access.READ:
                found.append((said, "GitHub has no id-token: read, only write", "Access.WRITE"))
        found += [
            (scope.value, "the scope is granted twice", "one grant") for scope in set(scopes) if scopes.count(scope) > 1
        ]
        return found


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


@dataclass(frozen=True, slots=True)
class ContextUse:
    """Where something is read: the paths it `reads`, the contexts `allowed` there, and ids of the steps `before`."""

    said: str
    reads: frozenset[str]
    allowed: frozenset[str]
    before: tuple[str, ...] = ()

    def contexts(self) -> Iterator[Complaint]:
        """Contexts that are not there in that self."""
        for path in sorted(self.reads):
            if path.partition(".")[0] not in self.allowed:
                yield (
                    f"{self.said} reads {path}",
                    "GitHub does not have this context at this place",
                    ", ".join(sorted(self.allowed)),
                )

    def steps(self) -> Iterator[Complaint]:
        """Steps that do not come before, by `id`."""
        for path, name in self._second("steps"):
            if name not in {each.lower() for each in self.before}:
                yield (
                    f"{self.said} reads {path}",
                    "no earlier step has this id",
                    ", ".join(self.before) or "an id",
                )

    def outputs(self, declared: Mapping[str, Collection[str]]) -> Iterator[Complaint]:
        """Outputs that a step's action does not declare, and so does not hand on. declared: by the id of the step."""
        known = {step.lower(): {output.lower() for output in outputs} for step, outputs in declared.items()}
        for path, name in self._second("steps"):
            field, _, output = path.partition(f"steps.{name}.")[2].partition(".")
            if field == "outputs" and name in known and output not in known[name]:
                yield (
                    f"{self.said} reads {path}",
                    "the action does not declare this output",
                    f'outputs=("{output}",)',
                )

    def matrix(self, keys: Collection[str] | None) -> Iterator[Complaint]:
        """Values that no leg has; None where the legs are not known."""
        for path, name in self._second("matrix"):
            if keys is not None and name not in {each.lower() for each in keys}:
                yield f"{self.said} reads {path}", "the matrix has no such value", ", ".join(keys) or "a matrix"

    def needs(self, needed: Mapping[str, Collection[str]]) -> Iterator[Complaint]:
        """Jobs that are not needed, and outputs that a needed one does not have."""
        known = {job.lower(): {output.lower() for output in outputs} for job, outputs in needed.items()}
        for path, name in self._second("needs"):
            field, _, output = path.partition(f"needs.{name}")[2].removeprefix(".").partition(".")
            if name not in known:
                yield f"{self.said} reads {path}", "the job does not need that job", ", ".join(needed) or "needs"
            elif field and field not in _FIELDS:
                yield (
                    f"{self.said} reads {path}",
                    "a needed job has nothing but `result` and `outputs`",
                    f"needs.{name}.result",
                )
            elif output and output != "*" and output.partition(".")[0] not in known[name]:
                yield (
                    f"{self.said} reads {path}",
                    f"{name} has no such output; it has {', '.join(sorted(known[name])) or 'none'}",
                    "an output",
                )

    def inputs(self, declared: Collection[str]) -> Iterator[Complaint]:
        """Inputs that nobody can give."""
        for path, name in self._second("inputs"):
            if name not in {each.lower() for each in declared}:
                yield (
                    f"{self.said} reads {path}",
                    "workflow_dispatch declares no such input",
                    ", ".join(declared) or "an input",
                )

    def _second(self, root: str) -> Iterator[tuple[str, str]]:
        """Paths below a context that is there, with the name that follows it; not those that read all of it."""
        for path in sorted(self.reads if root in self.allowed else ()):
            first, _, rest = path.partition(".")
            name = rest.partition(".")[0]
            if first == root and name and name != "*":
                yield path, name
