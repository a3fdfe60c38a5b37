"""Where runs are kept: one object a run, and an index that is rebuilt from the objects.

Owns names, the index and its rebuilding, for any place that keeps objects: a folder here, a bucket by
`infra.operations.results`; and which runs are read for what, which the index says (`infra.results.chosen`). A run is
written once. The index is a convenience: whoever lost it, or found it behind or of an older version, rebuilds it, and
two writers who race lose nothing but the time of a rebuild.
"""

from __future__ import annotations

import fcntl
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from infra.model.bucket_names import RESULT_INDEX, RESULT_RUNS
from infra.results import chosen
from infra.results.chosen import Line
from infra.results.suite_run import ResultsError, SuiteRun, VmTime, document, read_run

MOST_LINES: Final = 2000
"""Of a suite, in the index, which each run reads and writes whole; older runs are found by their names alone."""
_VERSION: Final = 2
_GITHUB: Final = "https://github.com/"
_GITHUB_RUN: Final = re.compile(r"(\d+)-(\d+)(?:-|$)")
"""How the id of a run begins that a workflow keeps: GitHub's number and attempt."""
_TOLD: Final = (
    "suite", "run", "at", "branch", "pull", "commit", "tree", "hardware", "versions", "ended", "seconds", "inputs",
    "reused", "vm", "other_vms",
)  # fmt: skip


class _UnusableIndexError(Exception):
    """An index that is missing, of another version, or no index."""


class ResultObjects(Protocol):
    """A place that keeps objects by name."""

    @property
    def said(self) -> str:
        """How people call it."""
        ...

    def read(self, name: str) -> bytes | None:
        """An object, None where there is none."""
        ...

    def read_all(self, names: Sequence[str]) -> Iterable[bytes | None]:
        """Many objects, in the order of their names; None for each that is not there."""
        ...

    def update(self, name: str, decide: Callable[[bytes | None], bytes]) -> None:
        """Replace it by what `decide` makes of what stands there, so that no other writer's change is lost."""
        ...

    def replace(self, name: str, content: bytes) -> None:
        """Write it over whatever stands there, be it readable or not."""
        ...

    def names(self, prefix: str) -> Iterator[str]:
        """The names of the objects below a prefix, in no order."""
        ...


@dataclass(frozen=True, slots=True)
class Folder:
    """Objects as files below a folder."""

    root: Path

    @property
    def said(self) -> str:
        return str(self.root)

    def read(self, name: str) -> bytes | None:
        path = self.root / name
        return path.read_bytes() if path.is_file() else None

    def read_all(self, names: Sequence[str]) -> Iterable[bytes | None]:
        return map(self.read, names)

    def update(self, name: str, decide: Callable[[bytes | None], bytes]) -> None:
        """One writer at a time; whole or not at all, as a file beside it takes its place."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self.read(name)
            content = decide(known)
            if content == known:
                return
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as beside:
                beside.write(content)
            Path(beside.name).chmod(0o644)
            Path(beside.name).replace(path)

    def replace(self, name: str, content: bytes) -> None:
        self.update(name, lambda _: content)

    def names(self, prefix: str) -> Iterator[str]:
        start = self.root / prefix
        for path in start.rglob("*.json") if start.is_dir() else ():
            yield path.relative_to(self.root).as_posix()


@dataclass(frozen=True, slots=True)
class ResultStore:
    """Runs in a place. unread: why an object that was met cannot be read, by its name; it is skipped.

    repository: whose alone they are, `owner/name` at GitHub; empty of a place that nobody shares. Its runs link to
    that repository whatever an object says. former: where the version before kept runs of every repository; those of
    this one are read and nothing is written.
    """

    objects: ResultObjects
    repository: str = ""
    former: ResultObjects | None = None
    unread: dict[str, str] = field(default_factory=dict)

    def keep(self, run: SuiteRun) -> bool:
        """Write a run and its line of the index; False where the same run is kept already.

        Raises ResultsError for another content under the same suite, day and id.
        """
        content, known = run.content(), False

        def once(standing: bytes | None) -> bytes:
            nonlocal known
            known = standing is not None
            if standing not in (None, content):
                raise ResultsError(
                    f"run {run.run} of {run.suite} is kept already in {self.objects.said} with another content; "
                    "give this one another id with --run"
                )
            return content

        self.objects.update(run.object_name, once)
        try:
            self.objects.update(RESULT_INDEX, lambda standing: _written([*_without(_lines(standing), run), _line(run)]))
        except _UnusableIndexError:
            self.rebuild()
        return not known

    def suites(self) -> tuple[str, ...]:
        return tuple(sorted({each["suite"] for each in self._index()}))

    def vms_since(self, since: datetime) -> list[VmTime]:
        """The VMs of all runs from a moment on, whatever their suite and branch."""
        lines = (each for each in self._index() if datetime.fromisoformat(each["at"]) >= since)
        return [VmTime(**vm) for each in lines for vm in (each["vm"], *each["other_vms"]) if vm is not None]

    def runs(self, suite: str, *, main: str = "main") -> list[SuiteRun]:
        """The history of a suite, oldest first: of its main branch, and less of all else."""
        return self._read(chosen.history(self.told(suite), main))

    def beside(self, suite: str, runs: Collection[str] = (), *, main: str = "main") -> list[SuiteRun]:
        """Runs, the newest where none is named, among those that they are judged by, oldest first; none where there is
        no such run."""
        return self._read(chosen.beside(self.told(suite), runs, main))

    def by_inputs(self, suite: str, inputs: str, hardware: str, pull: int | None = None) -> list[SuiteRun]:
        """What ran of a suite where its declared files were exactly these, on that hardware, oldest first.

        None where one of them cannot be read, as it may have failed. pull: whose runs count beside those of no pull
        request.
        """
        wanted = {"suite": suite, "inputs": inputs, "hardware": hardware, "reused": ""}
        lines = [each for each in self._index() if wanted.items() <= each.items() and each["pull"] in (None, pull)]
        found = self._read(lines)
        return [] if any(each["object"] in self.unread for each in lines) else found

    def told(self, suite: str) -> list[Line]:
        """What the index says of each run of a suite, oldest first."""
        return [each for each in self._index() if each["suite"] == suite]

    def _read(self, lines: Sequence[Line]) -> list[SuiteRun]:
        """Those that are there: a bucket forgets runs after a time."""
        own = [each["object"] for each in lines if not each.get("former")]
        runs = {run.object_name: self._linked(run) for run in self._readable(self.objects, own)}
        if self.former is not None:
            earlier = [each["object"] for each in lines if each.get("former")]
            found = self._readable(self.former, earlier)
            runs |= {run.object_name: self._linked(run) for run in found if _is_of(run, self.repository)}
        return [runs[each["object"]] for each in lines if each["object"] in runs]

    def _readable(self, objects: ResultObjects, names: Sequence[str]) -> list[SuiteRun]:
        """The runs of objects that are there and can be read."""
        found: list[SuiteRun] = []
        for name, content in zip(names, objects.read_all(names), strict=True):
            try:
                if content is not None:
                    found.append(_run_at(name, content))
            except ResultsError as wrong:
                self.unread[name] = str(wrong)
        return found

    def _linked(self, run: SuiteRun) -> SuiteRun:
        if not self.repository:
            return run
        number = _GITHUB_RUN.match(run.run)
        link = f"{_GITHUB}{self.repository}/actions/runs/{number[1]}/attempts/{number[2]}" if number else ""
        return run.model_copy(update={"link": link})

    def rebuild(self) -> int:
        """Make the index of the objects alone; how many of them can be read."""
        runs = self._readable(self.objects, sorted(self.objects.names(RESULT_RUNS)))
        self.objects.replace(RESULT_INDEX, _written(map(_line, runs)))
        return len(runs)

    def _index(self) -> list[Line]:
        """Lines of runs that the version before kept are marked `former`; a run that is kept here too has one."""
        try:
            lines = _lines(self.objects.read(RESULT_INDEX))
        except _UnusableIndexError:
            self.rebuild()
            lines = _lines(self.objects.read(RESULT_INDEX))
        if self.former is None:
            return lines
        known = {each["object"] for each in lines}
        earlier = [{**each, "former": True} for each in self._former_lines() if each["object"] not in known]
        return sorted((*earlier, *lines), key=_order)

    def _former_lines(self) -> list[Line]:
        """None where there is no index any more: nobody rebuilds that of another place."""
        try:
            return _lines(self.former.read(RESULT_INDEX)) if self.former else []
        except _UnusableIndexError:
            return []


def _run_at(name: str, content: bytes) -> SuiteRun:
    run = read_run(content, name)
    if run.object_name != name:
        raise ResultsError(f"{name}: it holds the run of {run.object_name}. Fix: move it there")
    return run


def _lines(content: bytes | None) -> list[Line]:
    try:
        said = json.loads(content or b"")
        if said["version"] != _VERSION:
            raise _UnusableIndexError
        return [{name: each[name] for name in ("object", *_TOLD)} for each in said["runs"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _UnusableIndexError from None


def _is_of(run: SuiteRun, repository: str) -> bool:
    return run.link.lower().startswith(f"{_GITHUB}{repository}/".lower())


def _order(line: Line) -> tuple[str, str]:
    return line["at"], line["object"]


def _without(lines: Sequence[Line], run: SuiteRun) -> Iterator[Line]:
    return (each for each in lines if each["object"] != run.object_name)


def _written(lines: Iterable[Line]) -> bytes:
    ordered = sorted(lines, key=_order)
    of_suites = Counter(each["suite"] for each in ordered)
    newest = []
    for each in ordered:
        if of_suites[each["suite"]] <= MOST_LINES:
            newest.append(each)
        else:
            of_suites[each["suite"]] -= 1
    return document({"version": _VERSION, "runs": newest})


def _line(run: SuiteRun) -> Line:
    told = run.model_dump(mode="json", include=set(_TOLD))
    return {"object": run.object_name, **{key: told[key] for key in _TOLD}}
