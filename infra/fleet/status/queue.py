"""Which jobs wait for which pool, by labels, and which wait for none: how many, and since when the oldest does.

Owns the match, which is that of `infra.model.offers`. Asking GitHub for jobs is `infra.fleet.controller.github`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from infra.fleet.controller.github import GitHubError
from infra.fleet.github_lists import QueuedJob
from infra.model.fields.fleet import is_github_own_label
from infra.model.json_shape import JsonShape
from infra.model.offers import RUNNERS_OWN, absent_labels

GITHUBS: Final = "it is for GitHub's own runners"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Taker:
    """A pool as jobs see it. labels, serves: in lower case."""

    pool: str
    labels: frozenset[str]
    serves: frozenset[str]

    def has_labels_of(self, job: QueuedJob) -> bool:
        """Whether GitHub would give the job to its runners, which need all labels of the job; case does not count."""
        return bool(job.labels) and not absent_labels(job.labels, self.labels)

    def takes(self, job: QueuedJob) -> bool:
        return job.repository.lower() in self.serves and self.has_labels_of(job)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unserved:
    """Jobs of one repository that wait for labels which no pool's runners have there. labels: as workflows write them.

    job: the name of the one that waits longest, since `oldest`. why: which label is lacking, or who has them elsewhere.
    """

    repository: str
    labels: tuple[str, ...]
    waiting: int
    oldest: datetime
    job: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWait(JsonShape):
    """One job that waits. ahead: by pool whose runners may take it, how many jobs of its queue are older.

    why: where no pool takes it, the label that is lacking, or who has them elsewhere; else empty.
    """

    repository: str
    name: str
    labels: tuple[str, ...]
    since: datetime
    ahead: Mapping[str, int] = field(hash=False)
    why: str


class JobSource(Protocol):
    """Who says which jobs wait; GitHubError where that is not to be had."""

    def together(self, repositories: Collection[str]) -> tuple[tuple[str, ...], ...]: ...

    def queued(self, repositories: Collection[str]) -> tuple[QueuedJob, ...]: ...


def waiting_jobs(github: JobSource | None, repositories: Iterable[str]) -> JobsSeen:
    """The jobs of these repositories that wait; one that cannot be asked hides none that is asked apart from it."""
    asked = sorted(set(repositories))
    if github is None:
        return JobsSeen(unknown=dict.fromkeys(asked, "there is no token to ask GitHub with"))

    def ask(repositories: Collection[str]) -> tuple[QueuedJob, ...] | str:
        try:
            return github.queued(repositories)
        except GitHubError as error:
            return str(error)

    groups = github.together(asked)
    with ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="jobs") as pool:
        answers = list(zip(groups, pool.map(ask, groups), strict=True))
    return JobsSeen(
        jobs=tuple(job for _, answer in answers if not isinstance(answer, str) for job in answer),
        unknown={each: answer for group, answer in answers if isinstance(answer, str) for each in group},
    )


def queue(labels: Collection[str], repositories: Collection[str], seen: JobsSeen) -> Queue:
    """The queue of a pool with these labels that serves these repositories."""
    silent = sorted(seen.unknown.keys() & set(repositories))
    if silent:
        return Queue(
            waiting=None, reason="; ".join(f"{repository}: {seen.unknown[repository]}" for repository in silent)
        )
    taker = Taker(pool="", labels=_lower(labels), serves=_lower(repositories))
    waits = [job.since for job in seen.jobs if taker.takes(job)]
    return Queue(waiting=len(waits), oldest=min(waits, default=None))


def unserved(seen: JobsSeen, takers: Collection[Taker]) -> tuple[Unserved, ...]:
    """The jobs that none of these pools takes, those that wait longest first. Jobs for runners of GitHub's are none."""
    found: dict[tuple[str, tuple[str, ...]], list[QueuedJob]] = {}
    for job in sorted(seen.jobs, key=lambda job: job.since):
        if not _is_for_githubs(job) and not any(taker.takes(job) for taker in takers):
            found.setdefault((job.repository, job.labels), []).append(job)
    return tuple(
        Unserved(
            repository=repository,
            labels=labels,
            waiting=len(jobs),
            oldest=jobs[0].since,
            job=jobs[0].name,
            why=_lacking(jobs[0], takers),
        )
        for (repository, labels), jobs in found.items()
    )


def job_wait(job: QueuedJob, seen: JobsSeen, takers: Collection[Taker]) -> JobWait:
    """Which pools may take a job that waits, behind how many others, or why none does."""
    mine = [taker for taker in takers if taker.takes(job)]
    ordered = sorted(seen.jobs, key=lambda each: each.since)
    before = ordered[: next(index for index, each in enumerate(ordered) if each is job)]
    why = "" if mine else GITHUBS if _is_for_githubs(job) else _lacking(job, takers)
    ahead = {taker.pool: sum(taker.takes(each) for each in before) for taker in mine}
    return JobWait(repository=job.repository, name=job.name, labels=job.labels, since=job.since, ahead=ahead, why=why)


def _is_for_githubs(job: QueuedJob) -> bool:
    """Whether GitHub's own runners take it. One without labels names a runner group, which is not listed here."""
    own = len(job.labels) == 1 and is_github_own_label(job.labels[0]) and job.labels[0].lower() not in RUNNERS_OWN
    return own or not job.labels


def _lacking(job: QueuedJob, takers: Collection[Taker]) -> str:
    having = sorted(taker.pool for taker in takers if taker.has_labels_of(job))
    if having:
        return f"{' and '.join(having)} {'has' if len(having) == 1 else 'have'} them and serves another repository"
    absent = absent_labels(job.labels, frozenset(label for taker in takers for label in taker.labels))
    return f"no pool has {', '.join(absent)}" if absent else "no pool has them all"


def _lower(labels: Iterable[str]) -> frozenset[str]:
    return frozenset(label.lower() for label in labels)
