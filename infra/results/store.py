"""Where runs are kept: one object a run, and an index that is rebuilt from the objects.

Owns names, the index and its rebuilding, for any place that keeps objects: a folder here, a bucket by
`infra.operations.results`. A run is written once. The index is a convenience: whoever lost it, or found it behind,
rebuilds it, and two writers who race lose nothing but the time of a rebuild.
"""

from __future__ import annotations

import fcntl
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from infra.results.suite_run import ResultsError, SuiteRun, document, read_run

INDEX: Final = "index.json"
RUNS: Final = "runs/"
MOST_LINES: Final = 2000
"""Of a suite, in the index, which each run reads and writes whole; older runs are found by their names alone."""
_TOLD: Final = ("suite", "run", "at", "branch", "commit", "tree", "hardware", "ended", "seconds", "inputs", "reused")


class ResultObjects(Protocol):
    """A place that keeps objects by name."""

    @property
    def said(self) -> str:
        """How people call it."""
        ...

    def read(self, name: str) -> bytes | None:
        """An object, None where there is none."""
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
    """Runs in a place."""

    objects: ResultObjects

    def keep(self, run: SuiteRun) -> bool:
        """Write a run and its line of the index; False where the same run is kept already.

        Raises ResultsError for another content under the same suite, day and id.
        """
        content, known = run.content(), self.objects.read(run.object_name)

        def once(standing: bytes | None) -> bytes:
            if standing not in (None, content):
                raise ResultsError(
                    f"run {run.run} of {run.suite} is kept already in {self.objects.said} with another content; "
                    "give this one another id with --run"
                )
            return content

        self.objects.update(run.object_name, once)
        self.objects.update(INDEX, lambda standing: _written([*_without(_lines(standing), run), _line(run)]))
        return known is None

    def suites(self) -> tuple[str, ...]:
        return tuple(sorted({each["suite"] for each in self._index()}))

    def runs(self, suite: str, *, most: int = 400) -> list[SuiteRun]:
        """The newest runs of a suite, oldest first."""
        lines = [each for each in self._index() if each["suite"] == suite][-most:]
        found = ((each["object"], self.objects.read(each["object"])) for each in lines)
        return [read_run(content, name) for name, content in found if content is not None]

    def by_inputs(self, suite: str, inputs: str, hardware: str) -> list[SuiteRun]:
        """Runs of a suite whose declared files were exactly these, on that hardware, oldest first."""
        wanted = {"suite": suite, "inputs": inputs, "hardware": hardware}
        lines = [each for each in self._index() if wanted.items() <= each.items()]
        found = ((each["object"], self.objects.read(each["object"])) for each in lines)
        return [read_run(content, name) for name, content in found if content is not None]

    def rebuild(self) -> int:
        """Make the index of the objects alone; how many there are. Raises ResultsError for an object that is no run."""
        lines = []
        for name in self.objects.names(RUNS):
            content = self.objects.read(name)
            if content is not None:
                run = read_run(content, name)
                if run.object_name != name:
                    raise ResultsError(f"{name} holds the run of {run.object_name}; move it there and rebuild again")
                lines.append(_line(run))
        self.objects.replace(INDEX, _written(lines))
        return len(lines)

    def _index(self) -> list[dict[str, Any]]:
        content = self.objects.read(INDEX)
        if content is None:
            self.rebuild()
            content = self.objects.read(INDEX)
        return _lines(content)


def _lines(content: bytes | None) -> list[dict[str, Any]]:
    if content is None:
        return []
    try:
        return [{name: each[name] for name in ("object", *_TOLD)} for each in json.loads(content)["runs"]]
    except (ValueError, KeyError, TypeError):
        raise ResultsError(f"{INDEX} cannot be read; make it anew with `./tidepool results rebuild`") from None


def _without(lines: Sequence[dict[str, Any]], run: SuiteRun) -> Iterator[dict[str, Any]]:
    return (each for each in lines if each["object"] != run.object_name)


def _written(lines: Iterable[dict[str, Any]]) -> bytes:
    ordered = sorted(lines, key=lambda each: (each["at"], each["object"]))
    of_suites = Counter(each["suite"] for each in ordered)
    newest = []
    for each in ordered:
        if of_suites[each["suite"]] <= MOST_LINES:
            newest.append(each)
        else:
            of_suites[each["suite"]] -= 1
    return document({"version": 1, "runs": newest})


def _line(run: SuiteRun) -> dict[str, Any]:
    told = run.model_dump(mode="json", include=set(_TOLD))
    return {"object": run.object_name, **{key: told[key] for key in _TOLD}}
