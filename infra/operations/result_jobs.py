"""What jobs of generated workflows do with results: ask whether a suite must run, keep what ran, tell GitHub.

`python -P -m infra.operations.result_jobs reuse|keep|tell`, as the actions `results-reuse`, `results-keep` and
`results-tell` call it, told by the environment. The one that keeps has an identity at Google and no right to write at
GitHub, the one that tells has it the other way round; what goes from one to the other is a folder. None of them checks
anything out or runs anything of what was tested.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from infra.fleet.google import clients
from infra.fleet.records import Records
from infra.github import suites
from infra.github.client import PostingPlace, connect, failures_told
from infra.github.suites import SuiteText
from infra.github.tested import GitHubCommits, JobOfRun, RunOfTests, jobs_of, run_facts
from infra.model.clock import machine_clock  # noqa: TID251 - a job of a workflow keeps results on Google Cloud
from infra.model.dollars import NOTHING
from infra.model.errors import ConfigError, OutsideError
from infra.model.result_request import KeptSuite, ResultRequest, read_result_request
from infra.model.visible import visible
from infra.operations import results
from infra.operations.errors import Failure
from infra.operations.result_place import BUCKET, ResultsPlace, bucket_store
from infra.operations.results import RunFacts, RunFiles
from infra.results.board import time_cost
from infra.results.chosen import Line
from infra.results.flaky import Quarantined
from infra.results.intake import MOST_BYTES, run_named, vm_place, vm_seconds
from infra.results.suite_run import LONGEST_NAME, ResultsError
from workflows.scripts.branch import branch_commits

MONTH: Final = timedelta(days=30)
_JUNIT: Final = ".xml"
_LOST: Final = "its job was cancelled, or its machine was lost, so there is no result"
_TEXT: Final = TypeAdapter(SuiteText)
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class _Job:
    """What a job works with. run: None where nothing is to be kept of it. suites: those of its workflow; ended: how
    GitHub says that jobs of the run ended, by name, where suites name theirs."""

    request: ResultRequest
    told: Mapping[str, str]
    say: Say
    run: RunOfTests | None
    suites: tuple[KeptSuite, ...]
    ended: Mapping[str, JobOfRun]
    place: ResultsPlace

    def facts(self, suite: KeptSuite, run: RunOfTests, **more: Any) -> RunFacts:
        known = {"branch": run.branch, "pull": run.pull, "versions": dict(suite.versions), **more}
        name = f"{run.run}-{suite.leg}" if suite.leg else run.run
        return RunFacts(suite=suite.name, run=name, hardware=suite.hardware, commit=run.commit, at=run.at, more=known)

    def files(self, suite: KeptSuite) -> tuple[Path, ...]:
        """Of its shards, those that are there as plain files."""
        found = (Path(self.told["RESULTS"]) / name for name in suite.files)
        return tuple(path for path in found if _is_plain(path))


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _in_words(error: Exception | str) -> str:
    return " ".join(visible(str(error)).split())


def main(what: str, told: Mapping[str, str], say: Say) -> int:
    """0 where all was done, 1 where it was not; told: the environment."""
    try:
        return {"reuse": reuse, "keep": keep, "tell": tell}[what](told, say)
    except (ConfigError, OutsideError, Failure) as error:
        say(f"::error::{_in_words(error)}")
        return 1


def reuse(told: Mapping[str, str], say: Say) -> int:
    """Put out as `reused` which suites an earlier pass stands for, `|name|name|`, and keep it for this commit.

    What cannot be asked is said, and the suite runs: a store that does not answer stops no test.
    """
    found: list[str] = []
    try:
        with _job(told, say) as job:
            for suite in job.suites:
                if suite.inputs and job.run and (kept := results.reuse(job.place, job.facts(suite, job.run))):
                    say(f"{suite.name}: nothing to run; its inputs are those of run {kept.reused}, which passed")
                    found.append(suite.name)
    except (OutsideError, Failure) as error:
        say(f"::warning::every suite runs: {_in_words(error)}")
    _put_out(told, "reused", f"|{'|'.join(found)}|" if found else "")
    return 0


def keep(told: Mapping[str, str], say: Say) -> int:
    """Keep what the suites left in RESULTS, and write to REPORT what GitHub shall show of it.

    A leg whose result cannot be kept is said, and keeps no other one from it.
    Puts out `budget`: failure where the VMs of 30 days cost more than they may, else success.
    """
    report, said, lost = Path(told["REPORT"]), list[str](), False
    report.mkdir(parents=True, exist_ok=True)
    with _job(told, say) as job:
        if job.run is None:
            say("the pull request is closed or has moved on: nothing is kept")
        for name, legs in _by_name(job.suites).items():
            for suite in legs:
                lost = not _is_kept(job, suite) or lost
            if text := _judged(job, legs, report):
                (report / f"{name}.json").write_bytes(_TEXT.dump_json(text, indent=2))
                said.append(suites.fitting(text))
        _put_out(told, "budget", _budget(job))
        for why in job.place.store.unread.values():
            say(f"::warning::{_in_words(why)}")
    (report / "report.md").write_text("\n\n".join(said), encoding="utf-8")
    return int(lost)


def _by_name(kept: Sequence[KeptSuite]) -> dict[str, list[KeptSuite]]:
    """The legs of each suite."""
    found: dict[str, list[KeptSuite]] = {}
    for each in kept:
        found.setdefault(each.name, []).append(each)
    return found


def _is_kept(job: _Job, suite: KeptSuite) -> bool:
    """Whether what one leg left is kept. What cannot be read is said, and the leg is kept as broken: others are told
    of all the same."""
    try:
        try:
            _keep(job, suite)
        except ResultsError as wrong:
            job.say(f"::error::{_named(suite)}: {_in_words(wrong)}")
            _keep(job, suite, unread=_in_words(wrong))
    except (OutsideError, Failure) as error:
        job.say(f"::error::{_named(suite)} is not kept: {_in_words(error)}")
        return False
    return True


def _named(suite: KeptSuite) -> str:
    return f"{suite.name} {suite.leg}".rstrip()


def _keep(job: _Job, suite: KeptSuite, unread: str = "") -> None:
    """Keep what one leg left; one whose job failed before it left anything, as failed, and one that was lost.

    unread: why its files cannot be read, which fails it.
    """
    run, files, ended = job.run, job.files(suite), job.ended.get(suite.job)
    if run is None or (suite.job if ended is None else ended.at < run.at):
        return  # It is not over, or was in an earlier attempt, of which its files are then.
    failed = bool(unread) or (ended is not None and ended.failed)
    lost = unread or (_LOST if ended is not None and ended.lost and not files else "")
    if files or failed or lost:
        waited = {} if ended is None else {"waited": ended.waited}
        stood = {} if unread and suite.vm is None else _of_files(suite, run, files)
        found = _sorted(suite, () if unread else files, failed=failed, folder=Path(job.told["RESULTS"]))
        found = replace(found, lost=f"{suite.leg or suite.name}: {lost}"[:LONGEST_NAME] if lost else "")
        kept = results.publish(job.place, job.facts(suite, run, **waited, **stood), found)
        job.say(f"{suite.name}: {kept.ended}, {len(kept.tests)} tests; kept as {kept.object_name}")


def _sorted(suite: KeptSuite, files: tuple[Path, ...], *, failed: bool, folder: Path) -> RunFiles:
    junit = tuple(path for path in files if path.suffix == _JUNIT)
    timing = tuple(path for path in files if path not in junit)
    there = {path.name for path in files}
    covered = folder / suite.coverage if suite.coverage else None
    return RunFiles(
        junit=junit,
        timing=timing,
        silent=tuple(name.removesuffix(".json") for name in suite.files if name not in there) if timing else (),
        coverage=covered if files and covered and _is_plain(covered) else None,
        failed=failed or (bool(junit) and len(junit) < len(suite.files)),
    )


def _judged(job: _Job, legs: Sequence[KeptSuite], report: Path) -> SuiteText | None:
    """What is told of one suite, of each leg its newest attempt; None where it left nothing."""
    run, name = job.run, legs[0].name
    if run is None:
        return None
    store, main = job.place.store, job.request.main
    lines = store.told(name)
    newest = [found[-1]["run"] for suite in legs if (found := [each for each in lines if _is_of(each, suite, run)])]
    if not newest:
        job.say(f"{name}: no result")
        return None
    runs = store.beside(name, newest, main=main)
    known = {each.run: each for each in runs}
    if unread := [each for each in newest if each not in known]:
        job.say(f"::error::{name}: run {', '.join(unread)} cannot be read, so nothing is reported")
        return None
    found = [results.judged(job.place, known[each], runs, main=main) for each in newest]
    summary = Path(job.told["GITHUB_STEP_SUMMARY"]) if job.told.get("GITHUB_STEP_SUMMARY") else None
    on_main = run.pull is None and run.branch == main
    results.write_outputs(found, summary, report if on_main else None)
    alone = len(legs) == 1
    for written in results.keep_badges(job.place, found, main, alone=alone):
        job.say(
            f"badge: https://storage.cloud.google.com/{job.place.store.objects.said.removeprefix(BUCKET)}/{written}"
        )
    return results.text_of(found, alone=alone, main=main, labels=legs[0].labels)


def _is_of(line: Line, suite: KeptSuite, run: RunOfTests) -> bool:
    """Whether a run is one of this leg: of this attempt, or of an earlier one, whose jobs GitHub carries over."""
    number = run.run.partition("-")[0]
    same = line["run"].partition("-")[0] == number if suite.job else line["run"] == run.run
    return same and (line["hardware"], line["versions"]) == (suite.hardware, dict(suite.versions))


def _of_files(suite: KeptSuite, run: RunOfTests, files: tuple[Path, ...]) -> dict[str, Any]:
    """The time of the VM, and whether a cache gave back all of it: what a result says beside its tests."""
    content = [results.beginning(path) for path in files]
    if suite.vm is not None:
        stood = defaultdict[tuple[str, str], float](float)
        for each in content:
            stood[vm_place(each) or (suite.vm.zone, suite.vm.capacity)] += vm_seconds(each)
        made = [
            {**suite.vm.model_dump(), "zone": zone, "capacity": capacity, "seconds": seconds}
            for (zone, capacity), seconds in sorted(stood.items(), key=lambda each: -each[1])
        ]
        return {"zone": made[0]["zone"], "vm": made[0], "other_vms": [each for each in made[1:] if each["seconds"]]}
    # Only where an earlier pass may stand for a run does the JUnit XML say whose it is.
    told = [each for path, each in zip(files, content, strict=True) if suite.inputs or path.suffix != _JUNIT]
    named = {run_named(each) for each in told} - {""}
    if not named or run.run in named:
        return {}
    return {"reused": visible(f"{min(named)}-{suite.leg}" if suite.leg else min(named))[:100]}


def _budget(job: _Job) -> str:
    """Of every suite of the repository: they share one budget."""
    if job.request.usd_per_month is None:
        return "success"
    vms = job.place.store.vms_since(job.place.now - MONTH)
    spent = sum(map(time_cost, vms), NOTHING)
    job.say(f"VMs of tests cost {spent} in {MONTH.days} days, of ${job.request.usd_per_month}")
    for why in spent.reasons:
        job.say(f"not known: {why}")
    return "failure" if spent.over(job.request.usd_per_month) else "success"


def tell(told: Mapping[str, str], say: Say) -> int:
    """Let GitHub show what `keep` wrote to REPORT: an issue of each suite of the main branch, or comment and status."""
    github = _github(told)
    texts: list[SuiteText] = []
    for path in sorted(Path(told["REPORT"]).glob("*.json")):
        try:
            texts.append(_TEXT.validate_json(path.read_bytes()[:MOST_BYTES]))
        except ValidationError:
            raise Failure(f"{path.name} is not what the job that keeps results writes") from None
    for text, posted in zip(texts, suites.post(github, texts), strict=True):
        say(f"{text.suite}: {', '.join(f'{name} {what}' for name, what in posted.to_json().items() if what)}")
    return 0


@contextmanager
def _job(told: Mapping[str, str], say: Say) -> Generator[_Job]:
    """COMMIT and PULL say what was tested where the run itself stands at another commit, as one that was asked for."""
    request, github = read_result_request(told["REQUEST"]), _github(told)
    run = run_facts(github, told["TESTED_RUN"], {each.workflow for each in request.suites} - {""})
    mine = tuple(each for each in request.suites if run and each.workflow in ("", run.workflow))
    ended = jobs_of(github, run) if run and any(each.job for each in mine) else {}
    if run is not None and (commit := told.get("COMMIT")):
        pull = int(told["PULL"]) if told.get("PULL") else None
        run = replace(run, commit=commit, pull=pull, branch=run.branch if pull is None else "")
    if run is not None and run.pull is None and run.branch == request.main and not _is_on(github, run):
        say(f"::warning::{run.commit} is not a commit of {run.branch}; its results are kept without a branch")
        run = replace(run, branch="")
    # What was tested is the merge of a pull request: files of its own commit are not all of the inputs.
    merged = run is not None and run.merged
    with clients(request.project, told.get("GOOGLE_ENDPOINT") or None) as google:
        place = ResultsPlace(
            store=bucket_store(Records(google=google, bucket=request.bucket), repository=told["GITHUB_REPOSITORY"]),
            now=machine_clock(),
            inputs={} if merged else {each.name: each.inputs for each in request.suites if each.inputs},
            quarantine=tuple(Quarantined(**dict(each)) for each in request.quarantine),
            commits=GitHubCommits(github),
        )
        yield _Job(request=request, told=told, say=say, run=run, suites=mine, ended=ended, place=place)


def _is_on(github: PostingPlace, run: RunOfTests) -> bool:
    """Whether the commit of a run is one of its branch's own. A tag of that name makes runs of the same `branch`."""
    with failures_told(f"listing the commits of {run.branch}"):
        return run.commit in branch_commits(run.branch, lambda path: github.ask("GET", path.lstrip("/")).body)


def _github(told: Mapping[str, str]) -> PostingPlace:
    return connect(api=told["GITHUB_API_URL"], repository=told["GITHUB_REPOSITORY"], token=told["GITHUB_TOKEN"])


def _put_out(told: Mapping[str, str], name: str, value: str) -> None:
    if output := told.get("GITHUB_OUTPUT"):
        with Path(output).open("a", encoding="utf-8") as file:
            file.write(f"{name}={value}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], os.environ, lambda line: print(line, flush=True)))  # noqa: T201 - a job's log
