"""The evaluator agrees with GitHub's documentation in every case of docs/workflow-events.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.prose import laid_out
from workflows import events
from workflows.concurrency import Arrival, GroupResult, RunEnd, group_of, outcomes
from workflows.events import GitHubEvent
from workflows.read import read
from workflows.runs import Given, run

TABLE = yaml.safe_load((Path(__file__).parent / "github_events.yaml").read_text(encoding="utf-8"))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "workflow-events.md"
PART = re.compile(r"(?s)(?<=<!-- events -->\n).*(?=<!-- end of events -->)")


def event(said: Any) -> GitHubEvent:
    ((name, given),) = said.items() if isinstance(said, dict) else [(said, {})]
    given = dict(given)
    if "paths" in given:
        given["paths"] = (*(f"docs/{each}.md" for each in range(given.pop("more_paths", 0))), *given["paths"])
    return getattr(events, name)(**given)


def starts(case: Mapping[str, Any]) -> str:
    """The jobs that start, as a case says it: a file, each of whose jobs has what every job has."""
    data = read(case["file"], "case.yaml").data
    jobs = {job: {"runs-on": "ubuntu-24.04", **spec} for job, spec in data["jobs"].items()}
    found = run({**data, "jobs": jobs}, event(case["event"]), Given(**case.get("given", {})))
    counts = {job.id: len(job.legs) for job in found.jobs if job.starts}
    return ", ".join(f"{job} {legs} times" if legs > 1 else job for job, legs in counts.items()) or "nothing"


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["rule"][:60])
def test_what_starts_is_what_github_documents(case: Mapping[str, Any]) -> None:
    assert starts(case) == case["starts"], case["rule"]


@pytest.mark.parametrize("case", TABLE["runs"], ids=lambda case: case["rule"][:60])
def test_runs_of_one_group_wait_and_end_as_github_documents(case: Mapping[str, Any]) -> None:
    settings = read(case["concurrency"], "case.yaml").data
    file = {"on": ["push", "pull_request"], "concurrency": settings, "jobs": {}}
    come = [event(each) for each in case["events"]]
    arrivals = [Arrival(each.title, at, 10, group_of(file, each)) for at, each in enumerate(come)]
    assert "; ".join(f"{each.name} {each.end}" for each in outcomes(arrivals)) == case["outcome"], case["rule"]


def test_the_page_has_every_case_with_its_rule_and_its_source(update_goldens: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    wanted = laid_out(PART.sub(lambda _: tables(), page))
    if update_goldens:
        PAGE.write_text(wanted, encoding="utf-8")
        page = wanted
    assert page == wanted, "renew with --update-goldens"
    assert {each["source"] for each in TABLE["cases"]} | {"concurrency"} == TABLE["sources"].keys()


def tables() -> str:
    rows = []
    for case in TABLE["cases"]:
        said = case.get("said") or event(case["event"]).title
        rows.append([lines(case["file"]), said, case["starts"], case["rule"], link(case["source"])])
    cases = table(["File", "Event", "Starts", "Documented rule", "Source"], rows, first=1)
    rows = []
    for case in TABLE["runs"]:
        come = ", ".join(f"{each.title}: {each.name} {each.branch}" for each in map(event, case["events"]))
        rows.append([lines(case["concurrency"]), come, case["outcome"], case["rule"], link("concurrency")])
    heads = ["`concurrency`", "Runs", "What becomes of them", "Documented rule", "Source"]
    runs = table(heads, rows, first=len(TABLE["cases"]) + 1)
    between = ["", "Runs of one file, a minute apart, each of which takes ten minutes:", ""]
    return "\n".join(["", *cases, *between, *runs, "", ""])


def table(heads: list[str], rows: list[list[str]], *, first: int) -> list[str]:
    numbered = [[str(number), *(cell.replace("|", "\\|") for cell in row)] for number, row in enumerate(rows, first)]
    return [f"| {' | '.join(row)} |" for row in (["#", *heads], ["---"] * (len(heads) + 1), *numbered)]


def lines(text: str) -> str:
    return "<br>".join(f"`{line}`" for line in text.splitlines())


def link(source: str) -> str:
    url, _, where = TABLE["sources"][source].partition(" ")
    return f"[{source}]({url})" + (f" {where}" if where else "")


def test_who_is_in_no_group_runs_at_once() -> None:
    assert outcomes([Arrival("a", 1, 10, None)]) == (GroupResult("a", RunEnd.RAN, 1),)
