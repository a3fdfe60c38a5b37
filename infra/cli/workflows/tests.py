"""`./tidepool workflows --coverage` and `--read-tests`: which tests run where, and the list of tests that says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say, show
from infra.operations.workflows.tests import coverages, write_list
from workflows.collected import Test
from workflows.coverage import Coverage
from workflows.spec import Spec


def told(name: str | None, *, as_json: bool) -> int:
    """The coverage of every specification that has a list of tests, or of one; exit code 1 where it is not complete."""
    console = people(as_json=as_json)
    found = {}
    for spec, covered in coverages(name):
        found[spec.name] = covered
        _say(console, spec, covered)
    code = 0 if all(each.complete for each in found.values()) else FAILED
    if as_json:
        machines({"specs": {each: _document(covered) for each, covered in found.items()}, "exit": code})
    return code


def read_list(checkout: Path, name: str, *, as_json: bool) -> int:
    """Write the list of tests of a specification anew from the files of a checkout."""
    file, tests = write_list(checkout, name)
    say(people(as_json=as_json), f"wrote {file}: {tests} tests; ./tidepool workflows --coverage")
    if as_json:
        machines({"file": file, "tests": tests, "exit": 0})
    return 0


def _say(console: Console, spec: Spec, covered: Coverage) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("tests", justify="right")
    table.add_column("job", overflow="fold")
    table.add_column("markers", overflow="fold")
    for job, count in covered.by_job:
        table.add_row(str(count), str(job), job.markers.text, style="" if count else "yellow")
    for gap, count in covered.by_gap:
        table.add_row(str(count), f"nowhere, on purpose ({gap.package})", gap.markers.text, style="dim")
    say(console, Text(f"{spec.name}: {covered.tests} tests of {spec.declared.repository}", style="bold"))
    show(console, table)
    for job, count in covered.by_job:
        if not count and job.empty_because:
            said = f"{job} selects no test of the list yet ({job.empty_because}): pytest fails by its exit code 5"
            say(console, Text(f"{said}: {job.line}", style="yellow"))
    findings = tuple(covered.findings())
    for line in findings:
        say(console, Text(line, style="red"))
    if not findings:
        say(console, Text("every test runs in one job, or is left out on purpose", style="green"))


def _document(covered: Coverage) -> dict[str, Any]:
    return {
        "tests": covered.tests,
        "jobs": [
            {"file": job.file, "job": job.job, "markers": job.markers.text, "line": str(job.line), "tests": count}
            for job, count in covered.by_job
        ],
        "accepted_gaps": [
            {
                "package": gap.package,
                "markers": gap.markers.text,
                "reason": gap.reason,
                "line": str(gap.line),
                "tests": count,
            }
            for gap, count in covered.by_gap
        ],
        "unrun": [_test(test) for test in covered.unrun],
        "twice": [_test(test) | {"jobs": [str(job) for job in jobs]} for test, jobs in covered.twice],
        "findings": list(covered.findings()),
    }


def _test(test: Test) -> dict[str, Any]:
    return {"test": str(test), "markers": sorted(test.markers)}
