"""The rule that every test runs: what the `pytest` commands of all files select of the tests that there are.

Owns the reading of `-m` in scripts that are there. Leaves the coverage of a specification to its generator.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from workflows.checks.rule import Broken, Repository, TestCase, WorkflowRule, broken
from workflows.checks.views import StepView
from workflows.checks.words import test_words
from workflows.markers import MarkersError, parse

_VALUED = frozenset(
    ("-m", "-k", "-n", "--dist", "--durations", "--tb", "-o", "-p", "-c", "--junitxml", "--timeout", "--cov",
     "--ignore", "--deselect", "--rootdir", "--confcutdir", "-W")
)  # fmt: skip


_ONLY_LISTS = frozenset(("--collect-only", "--co", "--markers", "--fixtures", "--version", "--help", "-h"))


@dataclass(frozen=True)
class Selection:
    """What one command collects: below which paths and not below which others, with which markers."""

    paths: tuple[str, ...]
    ignored: tuple[str, ...]
    markers: str

    def takes(self, test: TestCase) -> bool:
        return self.below(test) and marked(self.markers, test.markers)

    def below(self, test: TestCase) -> bool:
        return any(_holds(path, test) for path in self.paths) and not any(_holds(path, test) for path in self.ignored)


def marked(expression: str, markers: frozenset[str]) -> bool:
    """Whether a `-m` expression lets a test in; one that cannot be read lets all in."""
    try:
        return parse(expression).take(markers)
    except MarkersError:
        return True


def _holds(folder: str, test: TestCase) -> bool:
    return folder in {".", test.path} or test.path.startswith(f"{folder}/")


def selections(judged: Repository) -> Iterator[tuple[StepView, Selection]]:
    """What every `pytest` of every script collects."""
    for job in judged.jobs():
        for step in job.steps:
            folder = step.directory
            for command in step.commands:
                # A script within a script may run elsewhere: in a container, or on another machine.
                if command.program == "cd" and len(command.texts) > 1 and not command.substituted:
                    folder = posixpath.join(folder, command.texts[1])
                words = test_words(command.texts)
                if words is not None and not _ONLY_LISTS & set(words):
                    yield step, _selection(folder, words)


def _selection(folder: str, words: tuple[str, ...]) -> Selection:
    paths: list[str] = []
    ignored: list[str] = []
    markers = ""
    for before, word in zip(("", *words), words, strict=False):
        option, given, value = word.partition("=") if word.startswith("--") else (before, True, word)
        if option == "--ignore" and given:
            ignored.append(_at(folder, value))
        elif before == "-m":
            markers = word
        elif not word.startswith("-") and before not in _VALUED:
            paths.append(_at(folder, word.partition("::")[0]))
    return Selection(tuple(paths) or (_at(folder, ""),), tuple(ignored), markers)


def _at(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))


def _unrun(judged: Repository) -> Iterator[Broken]:
    if not judged.known.tests or not judged.workflows:
        return
    taken = tuple(selection for _, selection in selections(judged))
    missing: dict[frozenset[str], list[TestCase]] = defaultdict(list)
    for test in judged.known.tests:
        if not test.markers & judged.known.accepted_gaps and not any(each.takes(test) for each in taken):
            missing[test.markers].append(test)
    for markers, tests in sorted(missing.items(), key=lambda each: sorted(each[0])):
        said = f"marked {', '.join(sorted(markers))}" if markers else "without a marker"
        first = min(tests)
        reason = f"no job runs {len(tests)} test{'s' if len(tests) > 1 else ''} {said}, such as {first.path}"
        step = _nearest(judged, first)
        anywhere = (*judged.workflows[0].jobs, judged.workflows[0])[0]
        yield broken(step, reason, "run") if step else broken(anywhere, reason)


def _nearest(judged: Repository, test: TestCase) -> StepView | None:
    """The step that collects the test's folder and leaves the test out, where a person would look."""
    return next((step for step, selection in selections(judged) if selection.below(test)), None)


RULES = (
    WorkflowRule("test-runs-somewhere", _unrun, "a job for the marker, or the marker in accepted_gaps with its reason"),
)
