"""The rule that every test runs: what the `pytest` commands of all files select of the tests that there are.

Owns the reading of `-m` in scripts that are there. Leaves the coverage of a specification to its generator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from workflows.checks.known import TestCase
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.shell import Command
from workflows.checks.views import Step
from workflows.markers import MarkersError, parse

_VALUED = frozenset(
    ("-m", "-k", "-n", "--dist", "--durations", "--tb", "-o", "-p", "-c", "--junitxml", "--timeout", "--cov")
)


@dataclass(frozen=True)
class Selection:
    """What one command collects: below which paths, with which markers."""

    paths: tuple[str, ...]
    markers: str

    def takes(self, test: TestCase) -> bool:
        below = any(path == test.path or test.path.startswith(f"{path}/") for path in self.paths)
        return below and marked(self.markers, test.markers)


def marked(expression: str, markers: frozenset[str]) -> bool:
    """Whether a `-m` expression lets a test in; one that cannot be read lets all in."""
    try:
        return parse(expression).take(markers)
    except MarkersError:
        return True


def selections(scene: Scene) -> Iterator[Selection]:
    """What every `pytest` of every script collects."""
    for job in scene.jobs():
        for step in job.steps:
            for command in step.commands:
                if "pytest" in command.texts:
                    yield _selection(step, command)


def _selection(step: Step, command: Command) -> Selection:
    words = command.texts[command.texts.index("pytest") + 1 :]
    paths: list[str] = []
    for index, word in enumerate(words):
        if not word.startswith("-") and not (index and words[index - 1] in _VALUED):
            paths.append(str(PurePosixPath(step.directory, word.partition("::")[0])))
    return Selection(tuple(paths) or (step.directory or ".",), next(iter(command.option("-m")), ""))


def _unrun(scene: Scene) -> Iterator[Broken]:
    if not scene.known.tests or not scene.workflows:
        return
    taken = tuple(selections(scene))
    missing: dict[frozenset[str], list[TestCase]] = defaultdict(list)
    for test in scene.known.tests:
        if not test.markers & scene.known.accepted_gaps and not any(each.takes(test) for each in taken):
            missing[test.markers].append(test)
    for markers, tests in sorted(missing.items(), key=lambda each: sorted(each[0])):
        said = f"marked {', '.join(sorted(markers))}" if markers else "without a marker"
        first = min(tests)
        reason = f"no job runs {len(tests)} test{'s' if len(tests) > 1 else ''} {said}, such as {first.path}"
        step = _nearest(scene, first)
        job = step.job if step else scene.workflows[0].jobs[0] if scene.workflows[0].jobs else None
        workflow = job.workflow if job else scene.workflows[0]
        path = (*step.path, "run") if step else job.path if job else ()
        yield Broken(workflow=workflow, path=path, job=job.id if job else "", reason=reason)


def _nearest(scene: Scene, test: TestCase) -> Step | None:
    """The step that collects the test's folder and leaves the test out, where a person would look."""
    for job in scene.jobs():
        for step in job.steps:
            for command in step.commands:
                if "pytest" in command.texts and Selection(_selection(step, command).paths, "").takes(test):
                    return step
    return None


RULES = (
    Rule(
        id="test-runs-somewhere",
        what="Every test that pytest collects is selected by some job, or stands in the accepted gaps",
        why="a test that runs nowhere is trusted and proves nothing",
        example="`pytest -m 'not slow'` in every job that runs the folder",
        fix="a job for the marker, or the marker in accepted_gaps with its reason",
        judge=_unrun,
    ),
)
