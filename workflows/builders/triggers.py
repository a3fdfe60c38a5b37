"""What starts a workflow, one class an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from cronsim import CronSim, CronSimError

from workflows.builders.step import Complaint


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    event: ClassVar[str] = "push"
    branches: Sequence[str] = ()
    tags: Sequence[str] = ()
    paths: Sequence[str] = ()

    def plain(self) -> dict[str, Any] | None:
        return _filled(branches=self.branches, tags=self.tags, paths=self.paths)

    def complaints(self) -> Iterator[Complaint]:
        yield from _patterns("branches", self.branches)
        yield from _patterns("paths", self.paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    event: ClassVar[str] = "pull_request"
    branches: Sequence[str] = ()
    paths: Sequence[str] = ()
    types: Sequence[str] = ()
    """Empty for GitHub's own: opened, synchronize, reopened."""

    def plain(self) -> dict[str, Any] | None:
        return _filled(types=self.types, branches=self.branches, paths=self.paths)

    def complaints(self) -> Iterator[Complaint]:
        yield from _patterns("branches", self.branches)
        yield from _patterns("paths", self.paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestTarget:
    """What happens to a pull request, of forks too; it runs the base branch's file, with this repository's rights."""

    event: ClassVar[str] = "pull_request_target"
    types: Sequence[str]
    why: str
    """As of a WorkflowRun."""

    def plain(self) -> dict[str, Any]:
        return {"types": list(self.types)}

    def complaints(self) -> Iterator[Complaint]:
        if not self.types:
            yield "pull_request_target", "no activity is named, so that every one would start it", 'types=["labeled"]'
        yield from _harmless(self.event, self.why)


@dataclass(frozen=True, slots=True)
class Schedule:
    """`crons` are five fields in UTC; GitHub starts late under load, and never more often than every five minutes."""

    event: ClassVar[str] = "schedule"
    crons: Sequence[str]

    def plain(self) -> list[dict[str, str]]:
        return [{"cron": cron} for cron in self.crons]

    def complaints(self) -> Iterator[Complaint]:
        if not self.crons:
            yield "schedule", "the schedule has no time", '"0 2 * * *"'
        for cron in self.crons:
            try:
                CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC))
            except CronSimError:
                yield cron, "not a time of five fields: minute, hour, day, month, weekday", '"0 2 * * *"'
                continue
            if len(cron.split()) != 5 or set(cron) & set("LW#?@"):
                yield cron, "not a time that GitHub reads: five POSIX fields, without L, W, #, ? and @", '"0 2 * * *"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One value that who starts a run by hand gives."""

    description: str
    kind: Literal["string", "boolean", "number", "choice", "environment"] = "string"
    default: str | bool | float | None = None
    options: Sequence[str] = ()
    required: bool = False

    def plain(self) -> dict[str, Any]:
        written: dict[str, Any] = {"description": self.description, "type": self.kind, "required": self.required}
        if self.options:
            written["options"] = list(self.options)
        return written if self.default is None else {**written, "default": self.default}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDispatch:
    event: ClassVar[str] = "workflow_dispatch"
    inputs: Mapping[str, Input] = field(default_factory=dict)

    def plain(self) -> dict[str, Any] | None:
        return {"inputs": {name: each.plain() for name, each in self.inputs.items()}} if self.inputs else None

    def complaints(self) -> Iterator[Complaint]:
        for name, each in self.inputs.items():
            if (each.kind == "choice") != bool(each.options):
                yield name, "a choice without options, or options of what is not a choice", "options=..."
            if each.options and each.default is not None and each.default not in each.options:
                yield f"{name}: {each.default}", "the default is not one of the options", ", ".join(each.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun:
    """The end of another workflow, by the name that it shows; it runs the default branch's file."""

    event: ClassVar[str] = "workflow_run"
    workflows: Sequence[str]
    branches: Sequence[str] = ()
    types: Sequence[Literal["requested", "in_progress", "completed"]] = ("completed",)
    why: str
    """What keeps a stranger's run from doing harm here; written where zizmor asks for it."""

    def plain(self) -> dict[str, Any]:
        return _filled(workflows=self.workflows, types=self.types, branches=self.branches) or {}

    def complaints(self) -> Iterator[Complaint]:
        if not self.workflows:
            yield "workflow_run", "no workflow is named that it follows", "workflows=[...]"
        yield from _harmless(self.event, self.why)
        yield from _patterns("branches", self.branches)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueComment:
    """A comment on an issue or a pull request; it runs the default branch's file on the default branch."""

    event: ClassVar[str] = "issue_comment"
    types: Sequence[Literal["created", "edited", "deleted"]] = ("created",)
    why: str
    """As of a WorkflowRun."""

    def plain(self) -> dict[str, Any]:
        return {"types": list(self.types)}

    def complaints(self) -> Iterator[Complaint]:
        if not self.types:
            yield "issue_comment", "no activity of comments is named", 'types=["created"]'
        yield from _harmless(self.event, self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeGroup:
    event: ClassVar[str] = "merge_group"
    branches: Sequence[str] = ()

    def plain(self) -> dict[str, Any] | None:
        return _filled(branches=self.branches)

    def complaints(self) -> Iterator[Complaint]:
        yield from _patterns("branches", self.branches)


Trigger = Push | PullRequest | PullRequestTarget | Schedule | WorkflowDispatch | WorkflowRun | IssueComment | MergeGroup


@dataclass(frozen=True, slots=True)
class Triggers:
    """Every event of a workflow, each once."""

    each: tuple[Trigger, ...]

    @classmethod
    def of(cls, *each: Trigger) -> Triggers:
        return cls(each)

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(trigger.event for trigger in self.each)

    def plain(self) -> dict[str, Any]:
        return {trigger.event: trigger.plain() for trigger in self.each}

    def complaints(self) -> Iterator[Complaint]:
        if not self.each:
            yield "no event", "nothing starts the workflow", "Push(branches=['main'])"
        for event in sorted(set(self.events)):
            if self.events.count(event) > 1:
                yield event, "the workflow has two triggers of this event", "one trigger with both filters"
        for trigger in self.each:
            yield from trigger.complaints()


def _filled(**filters: Sequence[str]) -> dict[str, Any] | None:
    return {name: list(values) for name, values in filters.items() if values} or None


def _harmless(event: str, why: str) -> Iterator[Complaint]:
    if not why.strip():
        rule = "it runs with this repository's rights on what anybody sends, and nothing says why that is safe"
        yield event, rule, 'why="runs the default branch\'s code alone"'


def _patterns(name: str, patterns: Sequence[str]) -> Iterator[Complaint]:
    if patterns and all(pattern.startswith("!") for pattern in patterns):
        yield (
            f"{name}: {', '.join(patterns)}",
            "every pattern leaves something out, so that nothing is left",
            "a pattern without ! first",
        )
