"""Which line made which job of a generated file, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from infra.operations.errors import Refusal
from infra.operations.workflows.scene import refuse_problems, scene
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


def explained(name: str, spec: str | None) -> tuple[FileTold, ...]:
    """Explain a file by its name or path, of every specification that has it or of this repository's own modules."""
    here = scene()
    refuse_problems(here)
    every = ((made.name if made else OWN, file) for made, files in here.outputs.made for file in files)
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
    return tuple(_told(of, file, here.root) for of, file in found)


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
