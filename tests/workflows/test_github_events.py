"""The evaluator agrees with GitHub's documentation in every case of docs/workflow-events.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.prose import laid_out
from tests.workflows.github_events import CASES, NOTHING, RUNS, SOURCES, Case, Waits
from workflows.concurrency import Arrival, group_of, outcomes
from workflows.read import read
from workflows.runs import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "workflow-events.md"
TABLES = re.compile(r"(?s)(?<=<!-- events -->\n).*(?=<!-- end of events -->)")
LEAST = 50


def starts(case: Case) -> str:
    """The jobs that start, as a case says it."""
    found = run(workflow(case.file), case.event, case.given)
    counts = {job.id: len(job.legs) for job in found.jobs if job.starts}
    return ", ".join(f"{job} {legs} times" if legs > 1 else job for job, legs in counts.items()) or NOTHING


def workflow(text: str) -> dict[str, Any]:
    """A file, each of whose jobs has what every job has."""
    data = read(text, "case.yaml").data
    return {**data, "jobs": {job: {"runs-on": "ubuntu-24.04", **spec} for job, spec in data["jobs"].items()}}


def happen(waits: Waits) -> str:
    settings = read(waits.concurrency, "case.yaml").data
    file = {"on": ["push", "pull_request"], "concurrency": settings, "jobs": {}}
    arrivals = [Arrival(each.title, at, 10, group_of(file, each)) for at, each in enumerate(waits.events)]
    return "; ".join(f"{each.name} {each.end}" for each in outcomes(arrivals))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule[:60])
def test_what_starts_is_what_github_documents(case: Case) -> None:
    assert starts(case) == case.starts, case.rule


@pytest.mark.parametrize("waits", RUNS, ids=lambda waits: waits.rule[:60])
def test_runs_of_one_group_wait_and_end_as_github_documents(waits: Waits) -> None:
    assert happen(waits) == waits.outcome, waits.rule


def test_the_page_has_every_case_with_its_rule_and_its_source(update_goldens: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    wanted = laid_out(TABLES.sub(lambda _: tables(), page))
    if update_goldens:
        PAGE.write_text(wanted, encoding="utf-8")
        page = wanted
    assert page == wanted, "renew with --update-goldens"
    assert len(CASES) + len(RUNS) >= LEAST


def test_every_source_is_used() -> None:
    assert {each.source for each in CASES} | {"concurrency"} == set(SOURCES)


def tables() -> str:
    lines = ["", "| # | File | Event | Starts | Documented rule | Source |", "|---|---|---|---|---|---|"]
    for number, case in enumerate(CASES, start=1):
        file = "<br>".join(f"`{cell(line)}`" for line in case.file.splitlines())
        said = cell(case.said or case.event.title)
        lines.append(f"| {number} | {file} | {said} | {case.starts} | {cell(case.rule)} | {link(case.source)} |")
    lines += ["", "Runs of one file, a minute apart, each of which takes ten minutes:", ""]
    lines += [
        "| # | `concurrency` | Runs | What becomes of them | Documented rule | Source |",
        "|---|---|---|---|---|---|",
    ]
    for number, waits in enumerate(RUNS, start=len(CASES) + 1):
        asked = "<br>".join(f"`{cell(line)}`" for line in waits.concurrency.splitlines())
        events = ", ".join(f"{each.title}: {each.name} {each.branch}" for each in waits.events)
        lines.append(
            f"| {number} | {asked} | {events} | {waits.outcome} | {cell(waits.rule)} | {link('concurrency')} |"
        )
    return "\n".join([*lines, "", ""])


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def link(source: str) -> str:
    url, _, where = SOURCES[source].partition(" ")
    return f"[{source}]({url})" + (f" {where}" if where else "")
