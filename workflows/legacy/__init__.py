"""Old workflows beside the generated ones for a while: renamed copies, a comparison, and the way back.

Owns which files are renamed, removed and restored, when their time is over, and the workflow that reports for each
commit how old workflows ended beside the new; what that says is `workflows/shell/compare_legacy.sh`. Leaves reading and
writing the checkout to the commands, and what is edited within a file to `workflows.legacy.text`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import PurePosixPath
from typing import Final

from infra.model.errors import ConfigError, Problem
from workflows import steps
from workflows.builders import (
    Access,
    Concurrency,
    Grant,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Scope,
    Triggers,
    Workflow,
    WorkflowRun,
    context,
    template,
)
from workflows.checks.views import StepView, WorkflowView
from workflows.composite import FOLDER, MARK, Generated, generated
from workflows.legacy import text
from workflows.legacy.text import SUFFIX, Renamed, suffixed_file
from workflows.read import WorkflowFile, read
from workflows.spec import Spec
from workflows.spec.model import Legacy, LegacyRuns, Old
from workflows.world import World

COMPARISON: Final = "legacy-comparison.yaml"
"""The generated file that compares the old results with the new, for as long as there are both."""
PAGE: Final = "docs/workflows-legacy.md"

_PUBLISHING_ACTIONS = ("pypa/gh-action-pypi-publish", "actions/deploy-pages", "peaceiris/actions-gh-pages")
_PUBLISHING_COMMANDS = re.compile(
    r"\b(docker push|docker buildx build\b.*--push|twine upload|uv publish|npm publish)\b"
)

NAME: Final = "Old and new workflows"
SCRIPT: Final = "compare_legacy.sh"
EVENTS: Final = ("pull_request", "push")
"""What starts old and new ones alike, at one commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """What a checkout needs: whole files by path, and paths that go. A path is in one of the two alone."""

    writes: Mapping[str, str]
    removes: tuple[str, ...]

    def applied(self, files: Mapping[str, str]) -> dict[str, str]:
        """The files of a checkout after the edits."""
        return {path: content for path, content in {**files, **self.writes}.items() if path not in self.removes}


def keep(files: Mapping[str, str], legacy: Legacy) -> Edits:
    """Rename the old workflows; nothing is left to do where that was done before.

    files: the texts below .github/workflows of the consumer's checkout, by path, before the new ones are written.
    ConfigError with every old workflow that is not there, is called otherwise, or would publish twice.
    """
    writes: dict[str, str] = {}
    removes: list[str] = []
    problems: list[Problem] = []
    for old in legacy.workflows:
        path, copy = f"{FOLDER}/{old.file}", f"{FOLDER}/{suffixed_file(old.file)}"
        stands = path in files and not files[path].startswith(f"# {MARK}")
        if copy in files and not stands:
            continue
        try:
            writes[copy] = _copy(old, legacy, files[path] if stands else "", path, copied=copy in files)
            removes.append(path)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return Edits(writes=writes, removes=tuple(removes))


def back(files: Mapping[str, str], legacy: Legacy) -> Edits:
    """Undo `keep`: the old workflows as they were, without the generated files that had taken their place.

    files: as for `keep`, of a checkout in which the old ones are kept. ConfigError with every copy that is gone.
    """
    lost = [
        Problem(
            f"{FOLDER}/{suffixed_file(old.file)}",
            "",
            "the copy of the old workflow is gone",
            f"the copy again: git checkout COMMIT -- {FOLDER}/{suffixed_file(old.file)}",
        )
        for old in legacy.workflows
        if f"{FOLDER}/{suffixed_file(old.file)}" not in files
    ]
    if lost:
        raise ConfigError(lost)
    copies = {old: f"{FOLDER}/{suffixed_file(old.file)}" for old in legacy.workflows}
    writes = {f"{FOLDER}/{old.file}": _original(files[copy], legacy) for old, copy in copies.items()}
    new = {f"{FOLDER}/{old.replaced_by}" for old in legacy.workflows} | {f"{FOLDER}/{COMPARISON}"}
    return Edits(writes=writes, removes=tuple(sorted(({*copies.values()} | new) & files.keys() - writes.keys())))


def overdue(files: Mapping[str, str], legacy: Legacy, today: date) -> tuple[Problem, ...]:
    """Every file that should have been deleted by `today`; none up to and with the last day.

    files: as for `keep`.
    """
    if today <= legacy.until:
        return ()
    kept = [f"{FOLDER}/{suffixed_file(old.file)}" for old in legacy.workflows]
    rule = f"the old workflow should be gone since {legacy.until}; the way back: {PAGE}"
    return tuple(
        Problem(path, "", rule, f"git rm {path}, or a later day in `legacy.until`")
        for path in sorted((*kept, f"{FOLDER}/{COMPARISON}"))
        if path in files
    )


def names(legacy: Legacy | None) -> frozenset[str]:
    """What the copies are called, which others may follow."""
    return frozenset(old.name + SUFFIX for old in legacy.workflows) if legacy else frozenset()


def scope(legacy: Legacy) -> Renamed:
    """What has the suffix once the old workflows are kept."""
    return Renamed([old.name for old in legacy.workflows], [old.file for old in legacy.workflows])


def _copy(old: Old, legacy: Legacy, content: str, path: str, *, copied: bool) -> str:
    if not content:
        fix = f"the file, or {old.file} no more under `legacy.workflows`"
        raise ConfigError([Problem(path, "", "the workflow to keep for a while is not there", fix)])
    if copied:
        rule = f"the old workflow stands twice: {suffixed_file(old.file)} is a copy of it"
        raise ConfigError([Problem(path, "", rule, "one of the two")])
    file = read(content, path)
    problems = tuple(_misfits(old, file))
    if problems:
        raise ConfigError(problems)
    edited = text.suffixed(content, scope(legacy))
    if old.runs is LegacyRuns.BY_HAND:
        edited = text.by_hand(edited, path)
    return text.noted(
        edited,
        f"stands beside {old.replaced_by} up to {legacy.until}, then it is deleted.",
        f"Tidepool's {PAGE} has the way back.",
    )


def _original(content: str, legacy: Legacy) -> str:
    return text.unsuffixed(text.not_by_hand(text.unnoted(content)), scope(legacy))


def _misfits(old: Old, file: WorkflowFile) -> Iterator[Problem]:
    name = file.data.get("name")
    if name != old.name:
        rule = "the specification has another name of the workflow than the file, and others follow it by its name"
        fix = f"name: {name}, in `legacy.workflows`" if name else f"name: {old.name}, in the file"
        yield Problem(file.where(("name",)), str(name or "no name"), rule, fix)
    if SUFFIX in old.file:
        yield Problem(
            file.source, old.file, f"the name has the suffix {SUFFIX} of old workflows already", "another file name"
        )
    if old.runs is LegacyRuns.BESIDE:
        for step in _publishing(WorkflowView(file)):
            rule = "the new workflow publishes it too"
            yield Problem(file.where(step.path), step.said, rule, "runs: by-hand, in `legacy.workflows`")


def _publishing(workflow: WorkflowView) -> Iterator[StepView]:
    """Steps that put something where others take it from."""
    for step in (step for job in workflow.jobs for step in job.steps):
        pushes = str(step.inputs.get("push", False)).lower() != "false"
        if (
            step.action in _PUBLISHING_ACTIONS
            or (step.action == "docker/build-push-action" and pushes)
            or _PUBLISHING_COMMANDS.search(step.run.replace("\\\n", " "))
        ):
            yield step


def comparison(spec: Spec, world: World, files: Iterable[Generated]) -> Generated:
    """The file of a specification with a section `legacy`, beside the `files` that are generated of it.

    ConfigError where there is no such section.
    """
    legacy = spec.declared.legacy
    if legacy is None:
        rule = "the specification does not say which old workflows are kept, and up to which day"
        raise ConfigError([Problem(spec.file, "", rule, "a section `legacy`")])
    names = {PurePosixPath(file.path).name: file.workflow.name for file in files}
    workflow = Workflow(
        name=NAME,
        header="Reads results, and writes them into the run's summary and into one comment of a pull request.",
        triggers=Triggers.of(
            WorkflowRun(
                workflows=_followed(legacy, names),
                why="checks out nothing, and shows of a run its times, its results and names without signs",
            )
        ),
        concurrency=Concurrency(
            template(
                "legacy-comparison-",
                context("github.event.workflow_run.event"),
                "-",
                context("github.event.workflow_run.head_sha"),
            ),
            Purpose.WATCH,
        ),
        jobs=[_compare(legacy, world)],
    )
    return generated(spec, COMPARISON, workflow, {"compare": spec.line("legacy")})


def _compare(legacy: Legacy, world: World) -> Job:
    ended = context("github.event.workflow_run.conclusion")
    compared = steps.script(
        world,
        SCRIPT,
        name="Compare",
        env={
            "GH_TOKEN": context("github.token"),
            "SHA": context("github.event.workflow_run.head_sha"),
            "EVENT": context("github.event.workflow_run.event"),
            "PAIRS": json.dumps(_pairs(legacy)),
            "FILES": " ".join(_temporary(legacy)),
            "UNTIL": legacy.until.isoformat(),
        },
        timeout_minutes=8,
    )
    return Job(
        id="compare",
        purpose=Purpose.WATCH,
        runs_on=Hosted(),
        timeout_minutes=10,
        why="A failure is a result like another; a run that was cancelled or skipped has none.",
        condition=context("github.event.workflow_run.event").one_of(EVENTS)
        & (ended.equals("success") | ended.equals("failure")),
        permissions=Permissions.of(
            Grant(Scope.ACTIONS, Access.READ, "runs and their jobs"),
            Grant(Scope.PULL_REQUESTS, Access.WRITE, "one comment, edited in place"),
        ),
        # In the file itself: it goes when the old files do.
        steps=[replace(compared, shared=None)],
    )


def _pairs(legacy: Legacy) -> list[dict[str, object]]:
    """What is compared: each generated file with the old ones that run beside it."""
    beside = _beside(legacy)
    return [
        {"new": file, "old": [suffixed_file(old.file) for old in beside if old.replaced_by == file]}
        for file in dict.fromkeys(old.replaced_by for old in beside)
    ]


def _followed(legacy: Legacy, names: Mapping[str, str]) -> list[str]:
    beside = _beside(legacy)
    new = dict.fromkeys(names[old.replaced_by] for old in beside)
    return [*new, *(old.name + SUFFIX for old in beside)]


def _beside(legacy: Legacy) -> list[Old]:
    return [old for old in legacy.workflows if old.runs is LegacyRuns.BESIDE]


def _temporary(legacy: Legacy) -> list[str]:
    """Every file that goes when the last day is over."""
    return [f"{FOLDER}/{name}" for name in (*(suffixed_file(old.file) for old in legacy.workflows), COMPARISON)]
