"""What operations on workflow files come to, for people and for programs; each function gives the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.cli.workflows.below import below
from infra.operations.workflows.check import Checked, Trouble
from infra.operations.workflows.explained import OWN, FileTold
from infra.operations.workflows.write import Wrote

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


def _show_trouble(console: Console, each: Trouble) -> None:
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
