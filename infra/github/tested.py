"""What GitHub says of a run of tests and of the files of a commit: for jobs that keep results, and check nothing out.

Owns which of GitHub's answers is believed for what. A run's own files say nothing of the commit, the branch and the
pull request that they are kept under: whoever opens a pull request writes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from pydantic import BaseModel

from infra.github import sticky
from infra.github.client import PostError, PostingPlace, failures_told

_PAGE: Final = 100
"""Jobs that one answer of GitHub's has."""


class _Repository(BaseModel):
    full_name: str


class _Run(BaseModel):
    id: int
    run_attempt: int
    path: str
    event: str
    head_sha: str
    head_branch: str | None
    head_repository: _Repository | None
    run_started_at: datetime


class _RunStep(BaseModel):
    conclusion: str | None


class _RunJob(BaseModel):
    name: str
    conclusion: str | None
    created_at: datetime
    started_at: datetime | None
    steps: list[_RunStep] = []


class _RunJobs(BaseModel):
    jobs: list[_RunJob]


class _Tree(BaseModel):
    sha: str


class _Commit(BaseModel):
    sha: str
    tree: _Tree


class _Entry(BaseModel):
    path: str
    sha: str
    type: Literal["blob", "tree", "commit"]


class _Files(BaseModel):
    tree: list[_Entry]
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOfTests:
    """One run of a workflow. run: its number and attempt. pull: None of a branch of the repository itself.

    event: what started it. workflow: its file. merged: whether it tested the merge of a pull request, whose commit is
    not `commit`.
    """

    run: str
    workflow: str
    event: str
    commit: str
    branch: str
    pull: int | None
    at: datetime

    @property
    def merged(self) -> bool:
        return self.event == "pull_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOfRun:
    """How one job ended. at: when it began. failed: whether one of its steps did.

    lost: whether it ended without success and no step failed, as where its machine was lost or somebody cancelled it.
    waited: seconds from when it was asked for to its beginning.
    """

    at: datetime
    failed: bool
    lost: bool
    waited: float


def jobs_of(place: PostingPlace, run: RunOfTests) -> dict[str, JobOfRun]:
    """The jobs of one attempt of a run that are over, by their names."""
    number, _, attempt = run.run.partition("-")
    found: list[_RunJob] = []
    with failures_told(f"asking for the jobs of run {run.run}"):
        while True:
            path = f"actions/runs/{number}/attempts/{attempt}/jobs?per_page={_PAGE}&page={len(found) // _PAGE + 1}"
            page = _RunJobs.model_validate(place.ask("GET", path).body).jobs
            found += page
            if len(page) < _PAGE:
                break
    return {
        job.name: _ended(job, job.started_at)
        for job in found
        if job.started_at is not None and job.conclusion not in (None, "skipped")
    }


def _ended(job: _RunJob, began: datetime) -> JobOfRun:
    failed = any(step.conclusion == "failure" for step in job.steps)
    return JobOfRun(
        at=began,
        failed=failed,
        lost=not failed and job.conclusion != "success",
        waited=max((began - job.created_at).total_seconds(), 0.0),
    )


def run_facts(place: PostingPlace, number: str, workflows: Collection[str] = ()) -> RunOfTests | None:
    """What GitHub says of a run; None where it is of a pull request that has moved on or is closed.

    workflows: the files of one of which it must be. PostError for a run of another one.
    """
    with failures_told(f"asking for run {number}"):
        run = _Run.model_validate(place.ask("GET", f"actions/runs/{int(number)}").body)
    path = run.path.partition("@")[0]
    if workflows and path not in workflows:
        raise PostError(f"run {number} is of {path}, and results are kept of {', '.join(sorted(workflows))} alone")
    pull = None
    if run.event == "pull_request":
        pull = next(iter(sticky.of_head(place, run.head_sha)), None)
        if pull is None:
            return None
    elif run.head_repository is None or run.head_repository.full_name.lower() != place.repository.lower():
        raise PostError(f"run {number} is of another repository and of no pull request; its results are not kept")
    return RunOfTests(
        run=f"{run.id}-{run.run_attempt}",
        workflow=path,
        event=run.event,
        commit=run.head_sha,
        branch=run.head_branch or "",
        pull=pull,
        at=run.run_started_at,
    )


@dataclass(frozen=True, slots=True)
class GitHubCommits:
    """Commits as GitHub has them."""

    place: PostingPlace

    def commit(self, name: str) -> str:
        return name

    def tree(self, commit: str) -> str:
        with failures_told(f"asking for commit {commit}"):
            return _Commit.model_validate(self.place.ask("GET", f"git/commits/{commit}").body).tree.sha

    def files(self, commit: str) -> Iterator[tuple[str, str]]:
        """PostError for a tree that GitHub does not list whole: its digest would stand for other trees too."""
        with failures_told(f"listing the files of {commit}"):
            found = _Files.model_validate(self.place.ask("GET", f"git/trees/{commit}?recursive=1").body)
        if found.truncated:
            raise PostError(f"GitHub does not list all files of {commit}, so results of its suites cannot be reused")
        yield from ((each.path, each.sha) for each in found.tree if each.type != "tree")
