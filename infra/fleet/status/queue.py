"""Which jobs wait for which pool, by labels: how many, and since when the oldest does.

Owns the match. Asking GitHub for jobs is `infra.fleet.controller.github`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from infra.fleet.controller.github import GitHubError
from infra.fleet.github_lists import QueuedJob

_THREADS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsSeen:
    """Jobs that wait. unknown: repositories, `OWNER/NAME`, that could not be asked, with the reason."""

    jobs: tuple[QueuedJob, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Jobs that any runner of a pool may take. waiting: None where a repository could not be asked; `reason` says."""

    waiting: int | None
    oldest: datetime | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        oldest = self.oldest.isoformat() if self.oldest else None
        return {"waiting": self.waiting, "oldest": oldest, "reason": self.reason}


class Asked(Protocol):
    """Who says which jobs wait; GitHubError where that is not to be had."""

    def queued(self, repositories: Collection[str]) -> tuple[QueuedJob, ...]: ...


def waiting_jobs(github: Asked | None, repositories: Iterable[str]) -> JobsSeen:
    """The jobs of these repositories that wait; one that cannot be asked hides no other."""
    asked = sorted(set(repositories))
    if github is None:
        return JobsSeen(unknown=dict.fromkeys(asked, "nobody is at hand who may ask GitHub"))

    def ask(repository: str) -> tuple[QueuedJob, ...] | str:
        try:
            return github.queued([repository])
        except GitHubError as error:
            return str(error)

    with ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="jobs") as pool:
        answers = dict(zip(asked, pool.map(ask, asked), strict=True))
    return JobsSeen(
        jobs=tuple(job for answer in answers.values() if not isinstance(answer, str) for job in answer),
        unknown={repository: answer for repository, answer in answers.items() if isinstance(answer, str)},
    )


def queue(labels: Collection[str], repositories: Collection[str], seen: JobsSeen) -> Queue:
    """The queue of a pool with these labels that serves these repositories.

    GitHub gives a job to a runner that has all labels of the job; letters' case does not count.
    """
    silent = sorted(seen.unknown.keys() & set(repositories))
    if silent:
        return Queue(
            waiting=None, reason="; ".join(f"{repository}: {seen.unknown[repository]}" for repository in silent)
        )
    held = _lower(labels)
    waits = [
        job.since for job in seen.jobs if job.repository in repositories and job.labels and _lower(job.labels) <= held
    ]
    return Queue(waiting=len(waits), oldest=min(waits, default=None))


def _lower(labels: Iterable[str]) -> frozenset[str]:
    return frozenset(label.lower() for label in labels)
