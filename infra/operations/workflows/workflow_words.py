"""Workflow files as people read them: what is wrong with them, which line made which job, which tests run where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra.operations.workflows.check import Checked, WorkflowTrouble
from infra.operations.workflows.explained import OWN, FileTold, JobTold
from infra.preview.toned import Cell, Shown, TextTable, Tone, TonedLine, lines_toned, text_table, toned
from workflows.coverage import Coverage
from workflows.spec import Spec

_COMMANDS: Final = ("./tidepool ", "git ")
"""How what is to be run begins; all else is to be written."""


def checked_shown(checked: Checked) -> Iterator[Shown]:
    """Every finding with what mends it, and how many there are."""
    for each in checked.troubles:
        yield from _trouble(each)
    stopping = checked.stops
    warned = len(checked.troubles) - stopping
    more = f", {warned} to know of" if warned else ""
    said = f"{stopping} to mend{more}" if stopping else f"{checked.files} generated files: nothing to mend{more}"
    yield toned((said, Tone.PROBLEM if stopping else Tone.GOOD))


def _trouble(each: WorkflowTrouble) -> Iterator[TonedLine]:
    tone = Tone.PROBLEM if each.stops else Tone.WARNING
    yield toned((each.subject, Tone.HEADING), "  ", (f"[{each.state}]", tone))
    yield from lines_toned(Tone.PLAIN, each.why, indent=2)
    yield toned((f"{'run' if each.mend.startswith(_COMMANDS) else 'write'}: {each.mend}", Tone.QUIET), indent=2)


def explained_shown(each: FileTold) -> Iterator[TonedLine]:
    """One file: what made each of its jobs, and where it runs."""
    made = "this repository's own" if each.of == OWN else f"of the specification {each.of}"
    yield toned((each.path, Tone.HEADING), f"  {each.name}, {made}; on {', '.join(each.events)}")
    for job in each.jobs:
        yield from _job(job)


def _job(job: JobTold) -> Iterator[TonedLine]:
    limit = f", {job.timeout_minutes:g} minutes at most" if job.timeout_minutes else ""
    yield toned((job.id, Tone.HEADING), f"  {job.source}", indent=2)
    yield toned((job.says, Tone.QUIET), indent=4)
    yield from lines_toned(Tone.PLAIN, (f"on {', '.join(job.runs_on)}{limit}", *job.why.splitlines()), indent=4)


def coverage_shown(spec: Spec, covered: Coverage) -> Iterator[Shown]:
    """Which job runs how many tests, and what is wrong with that."""
    yield toned((f"{spec.name}: {covered.tests} tests of {spec.declared.repository}", Tone.HEADING))
    yield _coverage_table(covered)
    for job, count in covered.by_job:
        if not count and job.empty_because:
            said = f"{job} selects no test of the list yet ({job.empty_because}): pytest fails by its exit code 5"
            yield toned((f"{said}: {job.line}", Tone.WARNING))
    findings = lines_toned(Tone.PROBLEM, covered.findings())
    yield from findings or [toned(("every test runs in one job, or is left out on purpose", Tone.GOOD))]


def _coverage_table(covered: Coverage) -> TextTable:
    rows = [
        _row(count, str(job), job.markers.text, Tone.PLAIN if count else Tone.WARNING) for job, count in covered.by_job
    ]
    rows += [
        _row(count, f"nowhere, on purpose ({gap.package})", gap.markers.text, Tone.QUIET)
        for gap, count in covered.by_gap
    ]
    return text_table(("tests", "job", "markers"), rows, right=("tests",), folded=("job", "markers"))


def _row(count: int, job: str, markers: str, tone: Tone) -> tuple[Cell, ...]:
    return tuple(toned((cell, tone)) for cell in (str(count), job, markers))
