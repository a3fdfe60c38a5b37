"""Where results of test runs are kept, what is known of their suites, and who says which files a commit has."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final, Protocol

from infra.fleet.google import GoogleError
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.operations.errors import Failure
from infra.results.flaky import Quarantined
from infra.results.store import ResultStore

BUCKET: Final = "gs://"
_TYPES: Final = {".json": "application/json", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class ResultBucket:
    """Objects of a bucket of Cloud Storage. stack: which declares it; empty where none is known to.

    prefix: of their names in the bucket, which callers leave out.
    """

    records: Records
    stack: str = ""
    prefix: str = ""

    @property
    def said(self) -> str:
        return f"{BUCKET}{self.records.bucket}/{self.prefix}".rstrip("/")

    def read(self, name: str) -> bytes | None:
        with self._standing():
            return self.records.content(self.prefix + name)

    def read_all(self, names: Sequence[str]) -> Iterable[bytes | None]:
        return self.records.contents(self.prefix + name for name in names)

    def update(self, name: str, decide: Callable[[bytes | None], bytes]) -> None:
        with self._standing():
            self.records.update_content(self.prefix + name, decide, _TYPES[Path(name).suffix])

    def replace(self, name: str, content: bytes) -> None:
        self.update(name, lambda _: content)

    def names(self, prefix: str) -> Iterator[str]:
        with self._standing():
            yield from (name.removeprefix(self.prefix) for name in self.records.below(self.prefix + prefix))

    @contextmanager
    def _standing(self) -> Generator[None]:
        """Failure that says what makes the bucket, where it is not there."""
        try:
            yield
        except GoogleError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            makes = f"`./tidepool up {self.stack}` makes it, and " if self.stack else ""
            raise Failure(
                f"the bucket {BUCKET}{self.records.bucket} is not there; {makes}--store names another place"
            ) from None


def bucket_store(records: Records, stack: str = "", repository: str = "") -> ResultStore:
    """Results in a bucket: of one repository, `owner/name`, or where none is named those that no repository keeps."""
    shared = ResultBucket(records, stack)
    if not repository:
        return ResultStore(shared)
    own = replace(shared, prefix=bucket_names.results_prefix(repository))
    return ResultStore(own, repository=repository, former=shared)


class Commits(Protocol):
    """Who knows commits of the repository that is tested."""

    def commit(self, name: str) -> str:
        """The whole name of a commit; of what is tested here, where nothing is said."""
        ...

    def tree(self, commit: str) -> str:
        """The name of its tree."""
        ...

    def files(self, commit: str) -> Iterator[tuple[str, str]]:
        """Path and git's object id of each file."""
        ...


class LocalCommits:
    """Commits of the working directory: results are of whatever repository a command stands in."""

    def commit(self, name: str) -> str:
        return name or _git("rev-parse", "HEAD").strip()

    def tree(self, commit: str) -> str:
        return _git("rev-parse", f"{commit}^{{tree}}").strip()

    def files(self, commit: str) -> Iterator[tuple[str, str]]:
        for line in _git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0"):
            facts, _, path = line.partition("\t")
            if path:
                yield path, facts.split()[2]


def _git(*words_: str) -> str:
    done = subprocess.run(["git", *words_], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"`git {words_[0]}` failed: {done.stderr.strip()[:200]}; run it in the checkout that was tested")
    return done.stdout


@dataclass(frozen=True, kw_only=True)
class ResultsPlace:
    """Results of one repository. now: the time when it was opened. inputs: of each suite that declares the files that
    decide how it ends. others: results of the lab's other repositories, which pages show too."""

    store: ResultStore
    now: datetime
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    quarantine: Sequence[Quarantined] = ()
    commits: Commits = field(default_factory=LocalCommits)
    others: Sequence[ResultStore] = ()
