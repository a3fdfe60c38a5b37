"""Which commits are a branch's own, which of them images and packages are made from, and the status of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.sandbox.hub import Hub, serving
from tests.workflows.shipped_scripts import RUN_ID, run
from workflows.scripts.branch import COMMITS_PER_PAGE, branch_commits

TIP, MERGE, BROUGHT, OLD = (letter * 40 for letter in "abcd")
HISTORY = {TIP: [MERGE], MERGE: [OLD, BROUGHT], BROUGHT: [OLD], OLD: []}
"""Commits as GitHub lists them, with their parents: a pull request brought one of them along."""
COMMITS = [{"sha": sha, "parents": [{"sha": parent} for parent in parents]} for sha, parents in HISTORY.items()]


@pytest.fixture
def hub() -> Iterator[Hub]:
    runs = [{"head_sha": sha, "name": "Tests"} for sha in (BROUGHT, OLD)]
    answers: dict[str, Any] = {
        "/git/ref/heads/main": {"object": {"sha": TIP}},
        "/commits": COMMITS,
        "/actions/workflows": {"workflows": [{"id": 7, "name": "Tests"}, {"id": 8, "name": "Lint"}]},
        "/workflows/7/runs": {"workflow_runs": runs},
        "/workflows/8/runs": {"workflow_runs": [{"head_sha": TIP}]},
    }
    with serving(Hub(answers=answers)) as served:
        yield served


def ask(hub: Hub, folder: Path, script: str, **told: str) -> Any:
    around = {"GITHUB_API_URL": hub.url, "GITHUB_REPOSITORY": "lab/engine", "GITHUB_TOKEN": "t", "BRANCH": "main"}
    return run(script, folder, around | told)


def test_a_branch_has_its_tip_and_what_first_parents_reach() -> None:
    answers: dict[str, Any] = {"/git/ref/heads/a%20b": {"object": {"sha": TIP}}}
    assert list(branch_commits("a b", lambda path: answers.get(path, COMMITS))) == [TIP, MERGE, OLD]


def test_long_histories_are_read_page_by_page_up_to_the_newest_thousand() -> None:
    asked: list[str] = []

    def get(path: str) -> Any:
        asked.append(path)
        if path.startswith("/git/"):
            return {"object": {"sha": "0"}}
        first = (int(path.rpartition("=")[2]) - 1) * COMMITS_PER_PAGE
        return [{"sha": str(each), "parents": [{"sha": str(each + 1)}]} for each in range(first, first + 100)]

    assert list(branch_commits("main", get)) == [str(each) for each in range(1000)]
    assert len(asked) == 11


@pytest.mark.parametrize(("commit", "ends"), [(TIP, 0), (OLD, 0), (BROUGHT, 1), ("e" * 40, 1)])
def test_a_package_is_made_of_commits_of_the_branch_alone(hub: Hub, tmp_path: Path, commit: str, ends: int) -> None:
    done = ask(hub, tmp_path, "branch_commit", COMMIT=commit)
    assert done.returncode == ends, done.stderr
    assert (f"::error::{commit}: not among the newest commits of branch main" in done.stderr) == bool(ends)


@pytest.mark.parametrize(
    ("revision", "found"),
    [("", OLD), (OLD, OLD), (BROUGHT, ""), (TIP, "")],
    ids=["the newest tested", "asked for", "a pull request's", "not tested"],
)
def test_images_are_made_of_tested_commits_of_the_branch(hub: Hub, tmp_path: Path, revision: str, found: str) -> None:
    done = ask(hub, tmp_path, "tested_commit", TESTS="Tests", REVISION=revision)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text() == f"commit={found}\n"
    assert ("::warning::" in done.stdout) == (found == "")
    assert all("/lab/engine/" in each for each in hub.asked)


def test_a_revision_that_is_no_whole_commit_is_refused(hub: Hub, tmp_path: Path) -> None:
    assert ask(hub, tmp_path, "tested_commit", TESTS="Tests", REVISION="main").returncode == 1


@pytest.mark.parametrize(
    ("outcome", "state"),
    [("pending", "pending"), ("success", "success"), ("failure", "failure"), ("cancelled", "error"), ("", "error")],
)
def test_a_status_says_how_the_tests_of_the_commit_ended_and_leads_to_the_run(
    hub: Hub, tmp_path: Path, outcome: str, state: str
) -> None:
    told = {"CONTEXT": "TPU tests, asked for", "TEXT": "the tests have ended", "SHA": TIP, "OUTCOME": outcome}
    done = ask(hub, tmp_path, "status", **told)
    assert done.returncode == 0, done.stderr
    assert hub.asked == [f"POST /repos/lab/engine/statuses/{TIP}"]
    (sent,) = map(json.loads, hub.sent)
    assert (sent["state"], sent["context"]) == (state, "TPU tests, asked for")
    assert sent["target_url"].endswith(f"/actions/runs/{RUN_ID}")
    hub.asked.clear()
    for commit in ("main", TIP[:4], f"{TIP}/../x", ""):
        assert ask(hub, tmp_path, "status", **{**told, "SHA": commit}).returncode != 0
    assert hub.asked == []
