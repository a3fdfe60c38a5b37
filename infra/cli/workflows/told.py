"""What operations on workflow files come to, for people and for programs; each function gives the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.echo import machines
from infra.cli.failures import FAILED
from infra.cli.render.console import below, people, say, show
from infra.model.yamlfile import decoded
from infra.operations.workflows.check import Checked, WorkflowTrouble
from infra.operations.workflows.explained import OWN, FileTold, coverage_document, coverages, write_list
from infra.operations.workflows.write import Wrote
from infra.operations.workspace import workspace
from workflows.coverage import Coverage
from workflows.spec import Spec
from workflows.world import TABLE, load_actions, read_actions

_COMMANDS = ("./tidepool ", "git ")
"""How what is to be run begins; all else is to be written."""


def tell_written(wrote: Wrote, *, as_json: bool) -> int:
    console = people(as_json=as_json)
    if wrote.made_folder:
        say(console, f"made the folder {wrote.root}, which was not there")
    for path in wrote.removed:
        say(console, f"removed {path}")
    for path in wrote.written:
        say(console, f"wrote {path}")
    say(console, f"{len(wrote.written)} written, {len(wrote.removed)} removed, {wrote.same} as they were")
    if as_json:
        machines(asdict(wrote) | {"root": str(wrote.root), "exit": 0})
    return 0


def tell_pinned(moved: Mapping[str, str], wrote: Wrote, *, as_json: bool) -> int:
    """moved: by action, the commit that it is pinned at now."""
    for name, commit in moved.items():
        say(people(as_json=as_json), f"pinned {name} at {commit}")
    return tell_written(wrote, as_json=as_json)


def tell_checked(checked: Checked, *, as_json: bool) -> int:
    console, stopping = people(as_json=as_json), checked.stops
    for each in checked.troubles:
        _show_trouble(console, each)
    warned = len(checked.troubles) - stopping
    more = f", {warned} to know of" if warned else ""
    said = f"{stopping} to mend{more}" if stopping else f"{checked.files} generated files: nothing to mend{more}"
    say(console, Text(said, style="bold red" if stopping else "bold green"))
    code = FAILED if stopping else 0
    if as_json:
        machines({"findings": [asdict(each) for each in checked.troubles], "exit": code})
    return code


def tell_explained(files: Sequence[FileTold], *, as_json: bool) -> int:
    console = people(as_json=as_json)
    for each in files:
        _show_file(console, each)
    if as_json:
        machines({"files": [asdict(each) for each in files], "exit": 0})
    return 0


def _show_trouble(console: Console, each: WorkflowTrouble) -> None:
    style = "red" if each.stops else "yellow"
    below(console, Text.assemble((each.subject, "bold"), "  ", (f"[{each.state}]", style)), by=0)
    for why in each.why:
        below(console, why)
    below(console, f"{'run' if each.mend.startswith(_COMMANDS) else 'write'}: {each.mend}", style="dim")


def _show_file(console: Console, told: FileTold) -> None:
    made = "this repository's own" if told.of == OWN else f"of the specification {told.of}"
    below(console, Text.assemble((told.path, "bold"), f"  {told.name}, {made}; on {', '.join(told.events)}"), by=0)
    for job in told.jobs:
        below(console, Text.assemble((job.id, "bold"), f"  {job.source}"))
        below(console, job.says, by=4, style="dim")
        limit = f", {job.timeout_minutes:g} minutes at most" if job.timeout_minutes else ""
        below(console, f"on {', '.join(job.runs_on)}{limit}", by=4)
        for line in job.why.splitlines():
            below(console, line, by=4)


def newer_actions(file: Path, *, as_json: bool) -> int:
    """Compare the tables; exit code 1 where the other has something newer, or a tag that moved."""
    console = people(as_json=as_json)
    offered = read_actions(decoded(file.read_bytes(), str(file)), str(file))
    found = load_actions(workspace().root).newer(offered)
    for each in found:
        say(console, str(each))
    say(
        console, f"take them over in {TABLE}, then ./tidepool workflows --write" if found else f"{TABLE} has the newest"
    )
    code = FAILED if found else 0
    if as_json:
        told = [
            {"have": _plain(asdict(each.have)), "offered": _plain(asdict(each.offered)), "moved": each.moved}
            for each in found
        ]
        machines({"newer": told, "exit": code})
    return code


def _plain(action: dict[str, object]) -> dict[str, str]:
    return {key: str(value) for key, value in action.items()}


def told(name: str | None, *, as_json: bool) -> int:
    """The coverage of every specification that has a list of tests, or of one; exit code 1 where it is not complete."""
    console = people(as_json=as_json)
    found = {}
    for spec, covered in coverages(name):
        found[spec.name] = covered
        _say(console, spec, covered)
    code = 0 if all(each.complete for each in found.values()) else FAILED
    if as_json:
        machines({"specs": {each: coverage_document(covered) for each, covered in found.items()}, "exit": code})
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
