"""Whether a consumer's repository has what a specification names, and runs each test in exactly the jobs it should.

Owns the judgement over lists of files, projects and tests: which tests no job runs, which two jobs run, and what gaps
are good for. Pure: leaves reading a checkout to the commands, the list of tests to `workflows.collected`, and what the
shell of a job really selects to `workflows.checks.coverage`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from infra.model.errors import ConfigError, Problem
from workflows import markers
from workflows.collected import Collected, Test
from workflows.composite import FOLDER
from workflows.markers import Markers
from workflows.spec import Spec, SpecLine
from workflows.spec.model import Suite
from workflows.triggering import included

PROJECT = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Selection:
    """What one job runs: tests of `package` below `paths` that `markers` takes. Its legs all run the same.

    empty_because: why the list has none for it yet, empty where it must have some.
    """

    file: str
    job: str
    package: str
    paths: tuple[str, ...]
    markers: Markers
    line: SpecLine
    empty_because: str = ""

    def __str__(self) -> str:
        return f"{self.file} {self.job}"

    def holds(self, test: Test) -> bool:
        """Whether the test is where the job looks, whatever its markers."""
        return any(path == "." or test.path == path or test.path.startswith(f"{path}/") for path in self.paths)

    def runs(self, test: Test) -> bool:
        return self.holds(test) and self.markers.take(test.markers)


@dataclass(frozen=True, slots=True)
class Gap:
    """Tests of a package that run nowhere on purpose."""

    package: str
    markers: Markers
    reason: str
    line: SpecLine


@dataclass(frozen=True, slots=True)
class Coverage:
    """tests: how many there are. by_job, by_gap: how many each takes. twice: with the jobs that run it."""

    tests: int
    by_job: tuple[tuple[Selection, int], ...]
    by_gap: tuple[tuple[Gap, int], ...]
    unrun: tuple[Test, ...]
    twice: tuple[tuple[Test, tuple[Selection, ...]], ...]
    unneeded: tuple[tuple[Test, Gap, Selection], ...]
    undeclared: tuple[tuple[str, SpecLine], ...]

    @property
    def empty(self) -> tuple[Selection, ...]:
        """Jobs that select no test, without a reason: pytest fails there, by its exit code 5."""
        return tuple(job for job, count in self.by_job if not count and not job.empty_because)

    @property
    def excused(self) -> tuple[Selection, ...]:
        """Jobs with a reason why they select none, and that select some."""
        return tuple(job for job, count in self.by_job if count and job.empty_because)

    @property
    def complete(self) -> bool:
        return not (self.unrun or self.twice or self.unneeded or self.undeclared or self.empty or self.excused)

    def findings(self) -> Iterator[str]:
        """Everything that is wrong, a line each."""
        for test in self.unrun:
            yield f"{test}: no job runs it ({test.said}); a suite for it, or accepted_gaps with a reason"
        for test, jobs in self.twice:
            yield f"{test}: {len(jobs)} jobs run it ({test.said}): {', '.join(map(str, jobs))}; one of them excludes it"
        for test, gap, job in self.unneeded:
            yield f"{test}: {gap.line} says that it runs nowhere, and {job} runs it; one of the two is wrong"
        for job in self.empty:
            yield f"{job.line}: {job} selects no test of the list; other markers, or empty_because with a reason"
        for job in self.excused:
            yield f"{job.line}: {job} selects tests, and is said to select none; no empty_because"
        for name, line in self.undeclared:
            yield f"{line}: pytest knows no marker {name}; one of those that the list of tests declares"


def selections(spec: Spec) -> tuple[Selection, ...]:
    """What the jobs of a specification select, in its order."""
    return tuple(
        Selection(
            file=tests.file,
            job=suite.job,
            package=suite.package,
            paths=tuple(str(PurePosixPath(suite.folder, path)) for path in suite.tests),
            markers=markers.parse(suite.markers),
            line=spec.line("tests", index, "suites", place, "markers"),
            empty_because=suite.empty_because or "",
        )
        for index, tests in enumerate(spec.declared.tests)
        for place, suite in enumerate(tests.suites)
    )


def gaps(spec: Spec) -> tuple[Gap, ...]:
    """What a specification leaves out on purpose."""
    return tuple(
        Gap(gap.package, markers.parse(gap.markers), gap.reason, spec.line("accepted_gaps", index))
        for index, gap in enumerate(spec.declared.accepted_gaps)
    )


def cover(collected: Collected, jobs: Iterable[Selection], accepted: Iterable[Gap]) -> Coverage:
    """How the tests are covered by these jobs; a gap accepts tests where some job of its package looks."""
    jobs, accepted = tuple(jobs), tuple(accepted)
    running = {test: tuple(job for job in jobs if job.runs(test)) for test in collected.tests}
    left_out = {test: tuple(gap for gap in accepted if _accepts(gap, test, jobs)) for test in collected.tests}
    return Coverage(
        tests=len(collected.tests),
        by_job=tuple((job, sum(job in found for found in running.values())) for job in jobs),
        by_gap=tuple((gap, sum(gap in found for found in left_out.values())) for gap in accepted),
        unrun=tuple(test for test, found in running.items() if not found and not left_out[test]),
        twice=tuple((test, found) for test, found in running.items() if len(found) > 1),
        unneeded=tuple(
            (test, gap, running[test][0]) for test, found in left_out.items() if running[test] for gap in found
        ),
        undeclared=tuple(_undeclared(collected, jobs, accepted)),
    )


def of_spec(spec: Spec, collected: Collected) -> Coverage:
    """The coverage of a specification's own suites."""
    return cover(collected, selections(spec), gaps(spec))


def _accepts(gap: Gap, test: Test, jobs: Iterable[Selection]) -> bool:
    return gap.markers.take(test.markers) and any(job.package == gap.package and job.holds(test) for job in jobs)


def _undeclared(
    collected: Collected, jobs: Iterable[Selection], accepted: Iterable[Gap]
) -> Iterator[tuple[str, SpecLine]]:
    for each in (*jobs, *accepted):
        for name in sorted(each.markers.names - collected.declared):
            yield name, each.line


@dataclass(frozen=True, slots=True)
class Package:
    """One package of the repository: the extras and groups that its pyproject.toml declares."""

    path: str
    extras: frozenset[str]
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class Checkout:
    """files: their paths from the top. projects: by name."""

    files: frozenset[str]
    projects: Mapping[str, Package]

    def has(self, path: str) -> bool:
        """Whether a file or a folder is there."""
        return path == "." or path in self.files or any(file.startswith(f"{path}/") for file in self.files)

    def package(self, name: str) -> Package | None:
        return self.projects.get(_normal(name))


def project(path: str, text: str) -> tuple[str, Package] | None:
    """A package by its normalised name, None of a pyproject.toml without one; ConfigError where it cannot be read."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem(path, "", f"the file is not TOML: {error}", "TOML, as uv reads it")]) from None
    about: Mapping[str, Any] = data.get("project", {})
    if not isinstance(about.get("name"), str):
        return None
    groups = {*data.get("dependency-groups", {}), *data.get("tool", {}).get("uv", {}).get("dev-dependencies", ())}
    return _normal(about["name"]), Package(path, _names(about.get("optional-dependencies", {})), _names(groups))


def missing(spec: Spec, there: Checkout) -> Iterator[Problem]:
    """Everything that a specification names and the repository has not, each with the line that names it."""
    for index, tests in enumerate(spec.declared.tests):
        own = f"{FOLDER}/{tests.file}"
        for place, pattern in enumerate(tests.paths):
            line = spec.line("tests", index, "paths", place)
            if not pattern.startswith("!") and not any(included(file, [pattern]) for file in (*there.files, own)):
                yield _gone(
                    line, pattern, "no file matches the path, so that it starts nothing", "a path that is there"
                )
        for place, suite in enumerate(tests.suites):
            yield from _suite(spec, suite, there, ("tests", index, "suites", place))
    for index, run in enumerate(spec.declared.runs):
        yield from _package(spec.line("runs", index, "package"), run.package, there)
        if not there.has(run.folder):
            yield _gone(spec.line("runs", index), run.folder, "the folder is not there", "a folder of the repository")
    for index, publish in enumerate(spec.declared.publish):
        yield from _package(spec.line("publish", index, "package"), publish.package, there)


def _suite(spec: Spec, suite: Suite, there: Checkout, at: tuple[str | int, ...]) -> Iterator[Problem]:
    for path in suite.tests:
        whole = str(PurePosixPath(suite.folder, path))
        if not there.has(whole):
            yield _gone(spec.line(*at, "tests"), whole, "pytest finds nothing there", "a path that is there")
    yield from _package(spec.line(*at, "package"), suite.package, there)
    found = there.package(suite.package)
    if found is None:
        return
    for kind, named, known in (("extras", suite.extras, found.extras), ("groups", suite.groups, found.groups)):
        for name in named:
            if _normal(name) not in known:
                rule = f"{found.path} declares no such {kind.removesuffix('s')}"
                yield _gone(spec.line(*at, kind), name, rule, ", ".join(sorted(known)) or f"no {kind}")


def _package(line: SpecLine, name: str, there: Checkout) -> Iterator[Problem]:
    if there.package(name) is None:
        yield _gone(line, name, f"no {PROJECT} of the repository has this name", ", ".join(sorted(there.projects)))


def _gone(line: SpecLine, value: str, rule: str, fix: str) -> Problem:
    return Problem(str(line), value, rule, fix)


def _names(found: Collection[str]) -> frozenset[str]:
    return frozenset(map(_normal, found))


def _normal(name: str) -> str:
    """Names as packaging compares them: https://packaging.python.org/en/latest/specifications/name-normalization/."""
    return name.lower().replace("_", "-").replace(".", "-")
