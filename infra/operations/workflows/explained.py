"""Which line made which job of a generated file and where it runs; which tests run where, and the list that says so."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from infra.model.clock import machine_clock  # noqa: TID251 - a committed file names a day of the world, not of a local cloud
from infra.model.yamlfile import decoded
from infra.operations.errors import Refusal
from infra.operations.workflows.scene import refuse_problems, scene, spec_of
from infra.operations.workspace import workspace
from workflows import coverage
from workflows.collected import ENDING, FOLDER, Test, UnreadableFileError, load_collected, read_checkout, written
from workflows.coverage import Coverage
from workflows.generate import Generated
from workflows.spec import Spec, load_spec, spec_names
from workflows.triggering import listed, triggers
from workflows.world import Newer, load_actions, load_world, read_actions

OWN = "own"
_HOW = (
    "Read from the files without running anything: decorators and pytestmark, as docs/workflows.md says. What is",
    "marked at run time, or by a hook of conftest.py, is not in here; workflows/collect/tidepool_markers.py has it.",
)


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


def coverages(name: str | None) -> Iterator[tuple[Spec, Coverage]]:
    """Of every specification that has a list of tests, or of the one that is named; Refusal where that has none."""
    here = scene()
    for each in (name,) if name else spec_names(here.root):
        spec = load_spec(here.root, each, here.world)
        collected = load_collected(here.root, each)
        if collected is not None:
            yield spec, coverage.of_spec(spec, collected)
        elif name:
            raise Refusal(f"{each} has no list of tests; {FOLDER / each}{ENDING} would be it (docs/workflows.md)")


def write_list(checkout: Path, name: str | None, root: Path | None = None) -> tuple[str, int]:
    """Write the list of tests of a specification anew from the files of a checkout: its path, and how many there are.

    root: another copy of this project than the one that the command works in. Refusal for a file that cannot be read,
    and for a checkout without a test or a commit.
    """
    root = root or workspace().root
    spec = spec_of(root, load_world(root), name)
    folders = sorted({path for job in coverage.selections(spec) for path in job.paths})
    try:
        collected = read_checkout(checkout, [each for each in folders if not _inside(each, folders)])
    except UnreadableFileError as error:
        raise Refusal(str(error)) from None
    if not collected.tests:
        raise Refusal(f"{checkout} has no test below {', '.join(folders)}")
    day = machine_clock().date().isoformat()
    source = f"source: https://github.com/{spec.declared.repository}/tree/{_commit(checkout)}"
    (root / FOLDER / f"{spec.name}{ENDING}").write_text(
        written(collected, (f"The tests of {spec.declared.repository}.", source, f"read: {day}", *_HOW))
    )
    return f"{FOLDER / spec.name}{ENDING}", len(collected.tests)


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
        raise Refusal(f"{checkout} is not a checkout with a commit, which the list names; commit there first ({said})")
    return done.stdout.strip()


def newer_actions(file: Path) -> tuple[Newer, ...]:
    """What another table of actions has newer than ours, a tag that moved among it."""
    offered = read_actions(decoded(file.read_bytes(), str(file)), str(file))
    return tuple(load_actions(workspace().root).newer(offered))


def coverage_document(covered: Coverage) -> dict[str, Any]:
    """As `workflows --coverage --json` has it."""
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
