"""Results of test runs: taken in and kept, reported on, posted, and whether an earlier one may stand for a run.

Owns where they are kept (a folder, or the bucket that a stack declares) and what of a checkout goes into them. What a
result means is `infra.results`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from infra.fleet.google import clients
from infra.fleet.records import Records
from infra.github.suites import SuiteText
from infra.model import federation
from infra.model.schema import StackConfig
from infra.operations.declared.stack_file import known_stacks, stack_file
from infra.operations.errors import Refusal
from infra.operations.ports import SILENT, CloudName, Teller
from infra.operations.result_place import BUCKET, ResultsPlace, bucket_store
from infra.operations.session import clock_without_cloud, open_cloud
from infra.operations.workspace import workspace
from infra.pages.badge import Tone, badge, told_at
from infra.results import cache, markdown
from infra.results.bench import Figures, figures
from infra.results.board import Board, board
from infra.results.flaky import Quarantined
from infra.results.intake import MOST_BYTES, joined, joined_timing, read_coverage, read_junit, read_timing
from infra.results.judge import Kind, Report, judge
from infra.results.store import Folder, ResultStore
from infra.results.suite_run import Outcome, ResultsError, SuiteRun, Test, mistakes


@contextmanager
def open_results(
    where: str, cloud: CloudName | None = None, teller: Teller = SILENT, repository: str = ""
) -> Generator[ResultsPlace]:
    """Results at `gs://BUCKET` or in a folder; where nothing is said, in the bucket of the stack that declares one.

    Where no stack does, in `results` below the home. repository: `owner/name`, whose results in a bucket these are; a
    folder has no parts.
    """
    config = _declaring(where)
    found = where or (f"{BUCKET}{config.results.bucket.name}" if config and config.results else "")
    if not found.startswith(BUCKET):
        folder = Path(found) if found else workspace().home / "results"
        yield _place(ResultStore(Folder(folder.absolute())), config, clock_without_cloud(cloud)())
        return
    session = open_cloud(cloud, teller)
    with clients(config.project if config else "", session.endpoint) as google:
        records = Records(google=google, bucket=found.removeprefix(BUCKET))
        stack, named = config.stack if config else "", repository.lower()
        others = ["", *(each for each in _kept_repositories(config) if each != named)]
        place = _place(bucket_store(records, stack, repository), config, session.clock())
        yield replace(place, others=[bucket_store(records, stack, each) for each in others if named or each])


def _place(store: ResultStore, config: StackConfig | None, now: datetime) -> ResultsPlace:
    declared = config.results if config else None
    return ResultsPlace(
        store=store,
        now=now,
        inputs={each.name: each.inputs for each in declared.suites} if declared else {},
        quarantine=tuple(Quarantined(**dict(each)) for each in declared.quarantine) if declared else (),
    )


def _kept_repositories(config: StackConfig | None) -> list[str]:
    """The repositories whose workflows keep results in the bucket of a stack, by the stacks of its project."""
    if config is None:
        return []
    stacks = (stack_file(name).config for name in known_stacks())
    writers = (each for stack in stacks if stack.project == config.project for each in federation.result_writers(stack))
    return sorted({each.declared.repository.lower() for each in writers})


def _declaring(where: str) -> StackConfig | None:
    """The stack whose results these are: the one that declares the bucket, or the only one that declares any."""
    having = [config for config in (stack_file(name).config for name in known_stacks()) if config.results]
    named = [each for each in having if each.results and f"{BUCKET}{each.results.bucket.name}" == where]
    if not named and len(having) > 1:
        raise Refusal(f"{', '.join(each.stack for each in having)} declare results; add --store gs://BUCKET")
    return next(iter(named or having), None)


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """What a run left behind: JUnit XML, coverage XML, timing JSON, of each shard one.

    silent: shards of which there shall be one of the latter and is none; each fails the suite. failed: whether who ran
    them says that they failed, whatever the files say. lost: why there are none that can be read, where it is known.
    """

    junit: tuple[Path, ...] = ()
    coverage: Path | None = None
    timing: tuple[Path, ...] = ()
    silent: tuple[str, ...] = ()
    failed: bool = False
    lost: str = ""


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What of a run its files do not say. Texts as `infra.results.suite_run.SuiteRun` has them.

    commit: empty for the checkout's own. at: when it began, now where not given. more: `waited`, `vm`, `zone`,
    `versions`, `link`, `branch`, `pull`, `seconds`: what is given there wins over the files.
    """

    suite: str
    run: str
    hardware: str
    commit: str = ""
    at: datetime | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


def publish(place: ResultsPlace, facts: RunFacts, files: RunFiles) -> SuiteRun:
    """Take in what a run left behind, and keep it. Raises ResultsError for files that cannot be believed."""
    said: dict[str, Any] = {"ended": "incomplete", "missing": (files.lost,)} if files.lost else {}
    tests: list[Test] = []
    if files.timing:
        said = joined_timing([read_timing(beginning(path), path.name) for path in files.timing], files.silent)
        tests += said.pop("tests")
    for path in files.junit:
        tests += read_junit(beginning(path), path.name)
    if files.coverage is not None:
        said["coverage"] = read_coverage(beginning(files.coverage), files.coverage.name)
    found = joined(tests)
    outcomes = {test.outcome for test in found}
    passed = Outcome.FAILED not in outcomes and outcomes & {Outcome.PASSED, Outcome.FLAKY}
    # A file that says that all is well, beside a test that failed, is not believed.
    claimed = said.pop("ended", "passed")
    whole = "passed" if passed and claimed == "passed" and not files.failed else "failed"
    failed = files.failed or Outcome.FAILED in outcomes
    ended = claimed if claimed == "incomplete" and not failed else whole
    body = {"seconds": sum(test.seconds for test in found), **said, **facts.more, "ended": ended}
    run = _made(place, facts, {**body, "tests": found})
    place.store.keep(run)
    return run


def reuse(place: ResultsPlace, facts: RunFacts) -> SuiteRun | None:
    """Keep an earlier result for this commit, whose declared inputs are the same; None where the suite must run."""
    if not place.inputs.get(facts.suite):
        raise Refusal(f"tidepool:results declares no inputs of the suite {facts.suite}, so nothing stands for a run")
    asked = _made(place, facts, {"ended": "passed", "seconds": 0.0, **facts.more})
    known = place.store.by_inputs(asked.suite, asked.inputs, asked.hardware, asked.pull)
    found = cache.reusable(known, asked.versions, asked.pull)
    if found is None:
        return None
    kept = found.model_copy(
        update={
            "run": asked.run, "commit": asked.commit, "tree": asked.tree, "branch": asked.branch, "pull": asked.pull,
            "at": asked.at, "link": asked.link, "reused": found.run, "vm": None, "other_vms": (),
            "waited": None,
        }
    )  # fmt: skip
    place.store.keep(kept)
    return kept


def report(place: ResultsPlace, suite: str, run: str = "", *, main: str = "main") -> Report:
    """What is found of a run, of the suite's newest where none is named. Refusal where there is none."""
    runs = place.store.beside(suite, [run] if run else [], main=main)
    found = [each for each in runs if run in ("", each.run)]
    if not found:
        known = ", ".join(place.store.suites()) or "none yet"
        more = [
            *place.store.unread.values(),
            *(f"Fix: add --repository {each.repository}" for each in place.others if suite in each.suites()),
        ]
        unread = "".join(f"; {why}" for why in more)
        raise Refusal(
            f"{place.store.objects.said} has no run {run or 'at all'} of suite {suite!r}; suites: {known}{unread}"
        )
    return judged(place, found[-1], runs, main=main)


def judged(place: ResultsPlace, run: SuiteRun, runs: Sequence[SuiteRun], *, main: str = "main") -> Report:
    """What is found of a run. runs: of its suite, oldest first."""
    return judge(run, runs, place.quarantine, place.now, main=main)


def text_of(legs: Sequence[Report], *, alone: bool = True, main: str = "main", labels: Sequence[str] = ()) -> SuiteText:
    """What GitHub shows of one run of a suite, of each leg its report.

    alone: whether the suite has one leg; of several, a run may have fewer. labels: of the issue, besides.
    """
    failed = any(each.failed and not each.unknown for each in legs)
    run, newer = legs[0].run, next((each.newer for each in legs if each.newer), None)
    return SuiteText(
        suite=run.suite,
        hardware=run.hardware if alone else "",
        title=markdown.issue_title(legs),
        markdown=markdown.markdown(legs, linked=False),
        status=markdown.status_text(legs),
        failed=failed,
        unknown=not failed and any(each.unknown for each in legs),
        link=run.link,
        commit=run.commit,
        pull=run.pull,
        on_main=run.pull is None and run.branch == main,
        newer=newer.run if newer else "",
        overtaken=newer is not None and newer.commit == run.commit,
        labels=tuple(labels),
    )


def write_outputs(legs: Sequence[Report], summary: Path | None, badges: Path | None) -> list[Path]:
    """Add to a job's summary, and write the badges of a suite: how it ended, and its coverage where one leg has one."""
    if summary is not None:
        with summary.open("a", encoding="utf-8") as file:
            file.write(markdown.markdown(legs))
    if badges is None:
        return []
    badges.mkdir(parents=True, exist_ok=True)
    made = {f"{legs[0].run.suite}{end}": svg for end, svg in _badges(legs).items()}
    for name, svg in made.items():
        (badges / name).write_bytes(svg)
    return [badges / name for name in sorted(made)]


def keep_badges(place: ResultsPlace, legs: Sequence[Report], main: str, *, alone: bool = True) -> list[str]:
    """Write the badges of a run of the main branch where results are kept, under names that never change.

    That of a suite on one kind of hardware bears its name, that of several legs the suite's alone, however many of them
    a run has. One that tells of a newer run stands: jobs end in any order. The names of what stands then; none of
    another branch.
    """
    run, at = legs[0].run, _moment(legs)
    if run.pull is not None or run.branch != main:
        return []
    begin = f"badges/{run.suite}"
    if alone:
        begin += f"/{re.sub(r'[^A-Za-z0-9._-]+', '-', run.hardware)}"
    made = {f"{begin}{end}": svg for end, svg in _badges(legs).items()}
    for name, svg in made.items():

        def newest(standing: bytes | None, svg: bytes = svg) -> bytes:
            before = None if standing is None else told_at(standing)
            return standing if standing is not None and before is not None and before > at else svg

        place.store.objects.update(name, newest)
    return sorted(made)


def _badges(legs: Sequence[Report]) -> dict[str, bytes]:
    """By the end of their names: how a suite ended, and its least coverage where a leg has one."""
    at = _moment(legs)
    made = {".svg": badge(legs[0].run.suite, *_state(legs), at=at)}
    if covered := [each.run.coverage for each in legs if each.run.coverage is not None]:
        made["-coverage.svg"] = badge("coverage", f"{min(covered):.0f} %", "muted", at=at)
    return {end: svg.encode() for end, svg in made.items()}


def _moment(legs: Sequence[Report]) -> datetime:
    return max(each.run.at for each in legs)


def _state(legs: Sequence[Report]) -> tuple[str, Tone]:
    """What a badge says: the worst finding that fails, in its own word."""
    kinds = {finding.kind for each in legs for finding in each.findings if finding.fails}
    first = next((kind for kind in Kind if kind in kinds), None)
    if first is None:
        return "passing", "good"
    if first is Kind.BROKEN:
        return "failing", "bad"
    if first is Kind.MISSING:
        return "no result", "muted"
    return {Kind.COVERAGE: "less coverage", Kind.EXPIRED: "quarantine over"}.get(first, first.value), "warning"


def _made(place: ResultsPlace, facts: RunFacts, body: Mapping[str, Any]) -> SuiteRun:
    commit = place.commits.commit(facts.commit)
    tree = place.commits.tree(commit)
    inputs = place.inputs.get(facts.suite, ())
    digest = cache.inputs_digest(place.commits.files(commit), inputs) if inputs else ""
    try:
        return SuiteRun(
            suite=facts.suite, run=facts.run, commit=commit, tree=tree, at=facts.at or place.now,
            hardware=facts.hardware, inputs=digest, **body,
        )  # fmt: skip
    except ValidationError as wrong:
        raise ResultsError(f"run {facts.run!r} of suite {facts.suite!r} cannot be kept: {mistakes(wrong)}") from None


def beginning(path: Path) -> bytes:
    """As much of a file as is ever read, and a byte more, by which one that is too long is seen."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def vm_time(path: Path) -> dict[str, Any]:
    """The time of a VM by what `run-on --json` printed."""
    try:
        said = json.loads(beginning(path))
        return {
            "accelerator": said["accelerator"], "zone": said["zone"], "capacity": said["capacity"],
            "seconds": said["vmSeconds"],
        }  # fmt: skip
    except (ValueError, KeyError, TypeError):
        raise ResultsError(f"{path.name} is not what `run-on --json` prints") from None


def read_board(place: ResultsPlace, *, main: str = "main") -> Board:
    """What is known of every suite of every repository; a suite bears its repository's name where several have some."""
    # A run that a repository's store read from the former place is in the shared store too: it is shown once.
    stores = sorted((place.store, *place.others), key=lambda each: (not each.repository, each.repository))
    met, boards = set[tuple[str, str, datetime]](), dict[str, Board]()
    for store in stores:
        runs = {
            suite: [
                run for run in store.runs(suite, main=main) if store.repository or (suite, run.run, run.at) not in met
            ]
            for suite in store.suites()
        }
        met |= {(run.suite, run.run, run.at) for found in runs.values() for run in found}
        boards[store.repository] = board(runs, place.quarantine, place.now, main=main)
    several = sum(bool(each.suites) for each in boards.values()) > 1
    suites = tuple(
        replace(suite, suite=f"{repository} {suite.suite}".lstrip() if several else suite.suite)
        for repository, each in boards.items()
        for suite in each.suites
    )
    unread = sorted((f"{each.objects.said}/{name}", why) for each in stores for name, why in each.unread.items())
    return Board(made=place.now, suites=suites, unread=tuple(unread))


def write_page(place: ResultsPlace, out: Path | None, *, main: str = "main") -> Path:
    """All results as one page."""
    path = (out or workspace().home / "results.html").absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    # What draws charts is loaded where a page is drawn: jobs that keep results do without.
    from infra.pages.health import results_page

    path.write_text(results_page(read_board(place, main=main)), encoding="utf-8")
    return path


def bench(series: int, seed: int) -> list[Figures]:
    """How often reports cry wolf, and how soon they find a step."""
    return list(figures(series, seed))
