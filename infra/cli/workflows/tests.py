"""`./tidepool workflows --coverage` and `--read-tests`: which tests run where, and the list of tests that says so."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say, show
from infra.operations.errors import Refusal
from infra.operations.workflows.scene import scene
from infra.operations.workspace import workspace
from workflows import coverage
from workflows.collect.static import UnreadableFileError, read_checkout
from workflows.collected import ENDING, FOLDER, Test, load_collected, written
from workflows.coverage import Coverage
from workflows.spec import Spec, load_spec, spec_names
from workflows.world import load_world

_HOW = (
    "Read from the files without running anything: decorators and pytestmark, as docs/workflows.md says. What is",
    "marked at run time, or by a hook of conftest.py, is not in here; workflows/collect/tidepool_markers.py has it.",
)


def told(name: str | None, *, as_json: bool) -> int:
    """The coverage of every specification that has a list of tests, or of one; exit code 1 where it is not complete."""
    here, console = scene(), people(as_json=as_json)
    found: dict[str, Coverage] = {}
    for each in (name,) if name else spec_names(here.root):
        spec = load_spec(here.root, each, here.world)
        collected = load_collected(here.root, each)
        if collected is None:
            if name:
                raise Refusal(f"{each} has no list of tests; {FOLDER / each}{ENDING} would be it (docs/workflows.md)")
            continue
        found[each] = coverage.of_spec(spec, collected)
        _say(console, spec, found[each])
    code = 0 if all(each.complete for each in found.values()) else FAILED
    if as_json:
        machines({"specs": {each: _document(covered) for each, covered in found.items()}, "exit": code})
    return code


def read_list(checkout: Path, name: str, *, as_json: bool) -> int:
    """Write the list of tests of a specification anew from the files of a checkout."""
    root, console = workspace().root, people(as_json=as_json)
    spec = load_spec(root, name, load_world(root))
    folders = sorted({path for job in coverage.selections(spec) for path in job.paths})
    try:
        collected = read_checkout(checkout, [each for each in folders if not _inside(each, folders)])
    except UnreadableFileError as error:
        raise Refusal(str(error)) from None
    if not collected.tests:
        raise Refusal(f"{checkout} has no test below {', '.join(folders)}")
    day = datetime.now(UTC).date().isoformat()
    source = f"source: https://github.com/{spec.declared.repository}/tree/{_commit(checkout)}"
    path = root / FOLDER / f"{name}{ENDING}"
    path.write_text(written(collected, (f"The tests of {spec.declared.repository}.", source, f"read: {day}", *_HOW)))
    say(console, f"wrote {FOLDER / name}{ENDING}: {len(collected.tests)} tests; ./tidepool workflows --coverage")
    if as_json:
        machines({"file": f"{FOLDER / name}{ENDING}", "tests": len(collected.tests), "exit": 0})
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


def _inside(folder: str, others: list[str]) -> bool:
    return any(folder.startswith(f"{other}/") for other in others)


def _commit(checkout: Path) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), "rev-parse", "--verify", "HEAD"], check=False, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise Refusal("git is not installed; it says at which commit a checkout is") from None
    if done.returncode != 0:
        said = done.stderr.strip().partition("\n")[0]
        raise Refusal(f"{checkout} is no checkout with a commit, which the list names; commit there first ({said})")
    return done.stdout.strip()
