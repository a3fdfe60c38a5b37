"""Whether every test runs in exactly the jobs it should: the list of tests against what the suites select. Pure.

Owns which tests no job runs, which two jobs run, and what accepted gaps are good for. Leaves the list to
`workflows.collected`, and what the shell of a job really selects to `workflows.checks.coverage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from workflows import markers
from workflows.collected import Collected, Test
from workflows.markers import Markers
from workflows.spec import Spec, SpecLine


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
