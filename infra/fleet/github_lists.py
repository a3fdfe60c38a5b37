"""GitHub's lists, read to their end: pages of anything, and the jobs of a repository that wait for a runner or run.

Owns pages, shapes and which runs are looked into. Does not own who asks, with which token and for how long: every list
is read through a call that is handed in. https://docs.github.com/rest/actions/workflow-runs and .../workflow-jobs,
read 2026-11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from itertools import chain
from operator import or_
from typing import Any, Final, TypeAlias, TypeVar

PAGE: Final = 100
MOST_PAGES: Final = 500
READERS: Final = 8
"""Parts of one long list that are read at a time; GitHub asks for fewer than 100 requests at once
(docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api, read 2026-11)."""
_PART: Final = 4
"""Pages that one reader reads at least."""
MOST_RUNS: Final = 30
"""Runs of one repository whose jobs are asked for, one call each: those that have waited longest."""
_STATUSES: Final = ("queued", "in_progress")
"""A run is in progress once any of its jobs has begun, so that others of it may wait."""

T = TypeVar("T")
Ask: TypeAlias = Callable[[str], Any]
"""The body of the answer to a GET of a path below the API's root."""


class ListError(ValueError):
    """A list that is not whole, or not of the shape that GitHub documents; its text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A job that waits for a runner. labels: as its workflow wrote them. since: with a time zone.

    repository: `OWNER/NAME`. name: the job's own, as GitHub's pages show it.
    """

    labels: tuple[str, ...]
    since: datetime
    repository: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A job that a runner has, which is named. url: its page at GitHub; empty where GitHub does not say."""

    repository: str
    name: str
    runner: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """waiting: for a runner, the one that waits longest first."""

    waiting: tuple[QueuedJob, ...]
    running: tuple[RunningJob, ...]


def pages(ask: Ask, path: str, key: str) -> Iterator[Any]:
    """Every element of a list that may shrink while it is read. What `ask` raises is passed on; raises ListError."""
    found = 0
    for page in range(1, MOST_PAGES + 1):
        items, total = _page(ask, path, key, page)
        yield from items
        found += len(items)
        if found >= total or not items:
            return


def whole(ask: Ask, path: str, key: str, shape: Callable[[Any], T]) -> list[T]:
    """Every element of a list, by its `id`, where what it lacks would be taken for gone.

    ask, shape: called from several threads where a list is long. shape: makes of an element what is kept of it.

    Pages are read from the last to the first. Runners end while a list is read, and each that does moves those after it
    towards the front: read from the front, one of them would slip from a page to come onto a page that was read. A long
    list is read in parts at once, each from its last page to its first. Then the last page of each part is read again:
    it has what left the next part before that was read, unless a whole page of runners ended meanwhile. What is added
    meanwhile may be missed. Raises ListError for a page that has less than its own count says, for a list that loses a
    page while it is read, and what `ask` raises.
    """
    first, total = _full_page(ask, path, key, shape, 1)
    last = -(-total // PAGE)
    if last > MOST_PAGES:
        raise ListError(f"listing {path.partition('?')[0]}: it has {total} elements, more than are read")
    size = max(_PART, -(-last // READERS))
    parts = (
        [range(min(start + size - 1, last), start - 1, -1) for start in range(1, last + 1, size)] if last > 1 else []
    )

    def read(pages: Iterable[int]) -> list[tuple[dict[Any, T], int]]:
        return [_full_page(ask, path, key, shape, page) for page in pages]

    with ThreadPoolExecutor(max_workers=max(1, len(parts)), thread_name_prefix="pages") as readers:
        found = [(first, total), *chain.from_iterable(readers.map(read, parts))]
        found += chain.from_iterable(readers.map(read, ([part[0]] for part in parts[:-1])))
    if total - min(count for _, count in found) >= PAGE:
        raise ListError(f"listing {path.partition('?')[0]}: {PAGE} elements or more went while it was read")
    return list(reduce(or_, (items for items, _ in found)).values())


def _full_page(ask: Ask, path: str, key: str, shape: Callable[[Any], T], page: int) -> tuple[dict[Any, T], int]:
    items, total = _page(ask, path, key, page)
    before = PAGE * (page - 1)
    if len(items) < min(PAGE, total - before):
        raise ListError(f"listing {path.partition('?')[0]}: it ended at {before + len(items)} of {total}")
    return {each["id"]: shape(each) for each in items}, total


def _page(ask: Ask, path: str, key: str, page: int) -> tuple[list[Any], int]:
    body = ask(f"{path}{'&' if '?' in path else '?'}per_page={PAGE}&page={page}")
    try:
        return list(body[key]), int(body["total_count"])
    except (KeyError, TypeError, ValueError):
        raise ListError(f"listing {path.partition('?')[0]}: the answer has another shape") from None


def jobs(ask: Ask, repository: str) -> Jobs:
    """The jobs of a repository that wait for a runner or have one.

    Of more than MOST_RUNS runs the oldest are looked into. Raises ListError, and what `ask` raises.
    """
    waiting, running = [], []
    try:
        for run in _runs(ask, repository):
            path = f"repos/{repository}/actions/runs/{run}/jobs?filter=latest"
            for job in pages(ask, path, "jobs"):
                if job["status"] == "queued":
                    waiting.append(_job(repository, job))
                elif job["status"] == "in_progress" and job.get("runner_name"):
                    running.append(_running(repository, job))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ListError):
            raise
        raise ListError(f"listing the jobs of {repository}: one of them has another shape") from None
    return Jobs(waiting=tuple(sorted(waiting, key=lambda job: (job.since, job.name))), running=tuple(running))


def _runs(ask: Ask, repository: str) -> list[int]:
    """Runs that may have waiting jobs: those of which none has begun first, and of each kind the oldest first."""
    found: dict[int, None] = {}
    for status in _STATUSES:
        runs = pages(ask, f"repos/{repository}/actions/runs?status={status}", "workflow_runs")
        found |= dict.fromkeys(int(run["id"]) for run in sorted(runs, key=lambda run: str(run["created_at"])))
    return list(found)[:MOST_RUNS]


def _job(repository: str, job: Any) -> QueuedJob:
    since = datetime.fromisoformat(job["created_at"])
    if since.tzinfo is None:
        raise ListError(f"a job of {repository} says no time zone")
    return QueuedJob(
        labels=tuple(str(label) for label in job["labels"]),
        since=since,
        repository=repository,
        name=str(job["name"]),
    )


def _running(repository: str, job: Any) -> RunningJob:
    url = str(job.get("html_url") or "")
    return RunningJob(repository=repository, name=str(job["name"]), runner=str(job["runner_name"]), url=url)
