"""`./tidepool workflows --explain FILE`: which line made which job of a generated file, and where it runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from rich.console import Console
from rich.text import Text

from infra.cli.render.console import machines, people
from infra.cli.workflows.below import below
from infra.cli.workflows.scene import refuse_problems, scene
from infra.operations.errors import Refusal
from workflows.generate import Generated
from workflows.triggering import listed, triggers

OWN = "own"


@dataclass(frozen=True, slots=True)
class JobTold:
    """One job. source: file, line and key of what made it. says: the text of that line. why: its placement."""

    id: str
    source: str
    says: str
    runs_on: tuple[str, ...]
    timeout_minutes: int | float | None
    why: str


@dataclass(frozen=True, slots=True)
class FileTold:
    """One generated file; of: the specification that it is made of, or `own`."""

    path: str
    of: str
    name: str
    events: tuple[str, ...]
    jobs: tuple[JobTold, ...]


def explained(name: str, spec: str | None, *, as_json: bool) -> int:
    """Explain a file by its name or path, of every specification that has it or of this repository's own modules."""
    here = scene()
    refuse_problems(here)
    every = ((made.name if made else OWN, file) for made, files in here.generated() for file in files)
    known = [(of, file) for of, file in every if spec is None or of == spec]
    path = PurePosixPath(name)
    found = [
        (of, file)
        for of, file in known
        if PurePosixPath(file.path).name == path.name and ("generated" not in path.parts or of in path.parts)
    ]
    if not found:
        names = ", ".join(sorted({PurePosixPath(file.path).name for _, file in known})) or "none"
        raise Refusal(f"{name} is not generated; these are: {names}")
    told = [_told(of, file, here.root) for of, file in found]
    console = people(as_json=as_json)
    for each in told:
        _say(console, each)
    if as_json:
        machines({"files": [asdict(each) for each in told], "exit": 0})
    return 0


def _told(of: str, file: Generated, root: Path) -> FileTold:
    data = file.workflow.plain()
    why = {job.id: job.why for job in file.workflow.jobs}
    jobs = []
    for job, spec in data["jobs"].items():
        source = file.sources[job]
        lines = (root / source.file).read_text(encoding="utf-8").splitlines()
        says = lines[source.line - 1].strip() if source.line <= len(lines) else ""
        runs_on = tuple(listed(spec.get("runs-on")))
        jobs.append(JobTold(job, str(source), says, runs_on, spec.get("timeout-minutes"), why.get(job, "")))
    return FileTold(file.path, of, str(data["name"]), tuple(triggers(data["on"])), tuple(jobs))


def _say(console: Console, told: FileTold) -> None:
    made = "this repository's own" if told.of == OWN else f"of the specification {told.of}"
    below(console, Text.assemble((told.path, "bold"), f"  {told.name}, {made}; on {', '.join(told.events)}"), by=0)
    for job in told.jobs:
        below(console, Text.assemble((job.id, "bold"), f"  {job.source}"))
        below(console, job.says, by=4, style="dim")
        limit = f", {job.timeout_minutes:g} minutes at most" if job.timeout_minutes else ""
        below(console, f"on {', '.join(job.runs_on)}{limit}", by=4)
        for line in job.why.splitlines():
            below(console, line, by=4)
