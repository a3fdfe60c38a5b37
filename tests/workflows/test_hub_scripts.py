"""What jobs do at GitHub, against the local one: one issue, one comment, and tests for whoever may ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from github import Auth, Github
from github.Repository import Repository

from bench.cloud.control import Control
from bench.cloud.testing import running_cloud
from tests.workflows.shipped_scripts import RUN_ID, SHA, run

REPO, BOT, TOKEN = "lab/engine", "github-actions[bot]", "token-of-a-run"
ISSUE = {"KEY": "tpu", "TITLE": "Nightly: failing", "LABELS": "ci-failure,tpu-tests", "TEXT": "The tests fail."}


@dataclass(frozen=True)
class Hub:
    """A repository, what a run's token may do in it, and a folder for the runner's files."""

    control: Control
    folder: Path

    def ask(self, script: str, **told: Any) -> Any:
        around = {"GITHUB_API_URL": self.control.api, "GITHUB_REPOSITORY": REPO, "GITHUB_TOKEN": TOKEN}
        return run(script, self.folder, around | told)

    def well(self, script: str, **told: Any) -> str:
        done = self.ask(script, **told)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def issues(self, state: str = "open") -> list[Any]:
        return list(self.repository().get_issues(state=state))

    def repository(self, token: str = TOKEN) -> Repository:
        """As the holder of a token sees it. Without PyGithub's pauses, a second before each write."""
        client = Github(
            base_url=self.control.api, auth=Auth.Token(token), seconds_between_requests=0, seconds_between_writes=0
        )
        return client.get_repo(REPO)

    def writes(self) -> int:
        log = self.control.log(limit=999)
        return len([each for each in log if each["verb"] != "GET" and each["method"].startswith("github.")])

    def labels(self, number: int) -> list[str]:
        return [label.name for label in next(each for each in self.issues() if each.number == number).labels]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with running_cloud() as cloud:
        control = Control(cloud.url)
        rights = {"issues": "write", "pull-requests": "write", "actions": "write"}
        control.add_token(TOKEN, BOT, app=True, permissions=rights)
        control.add_token("ann", "ann")
        control.add_repository(REPO)
        yield Hub(control, tmp_path)


@pytest.mark.parametrize(
    ("outcomes", "open_", "closed"),
    [
        (["failure", "failure"], 1, 0),
        (["failure", "success"], 0, 1),
        (["failure", "success", "failure"], 1, 1),
        (["cancelled"], 1, 0),
        (["failure", "skipped"], 1, 0),
        (["failure", ""], 1, 0),
    ],
)
def test_an_issue_is_open_from_a_failure_to_a_success(hub: Hub, outcomes: list[str], open_: int, closed: int) -> None:
    for outcome in outcomes:
        hub.well("issue", **ISSUE, OUTCOME=outcome)
    assert (len(hub.issues()), len(hub.issues("closed"))) == (open_, closed)


def test_an_issue_has_its_labels_and_the_runs_that_failed_and_says_where_it_no_longer_happens(hub: Hub) -> None:
    for run_id in (RUN_ID, "78", "78"):
        hub.well("issue", **ISSUE, OUTCOME="failure", GITHUB_RUN_ID=run_id)
    (issue,) = hub.issues()
    assert (issue.title, list(issue.get_comments())) == (ISSUE["TITLE"], [])
    assert hub.labels(issue.number) == ["ci-failure", "tpu-tests"]
    runs = [line for line in issue.body.splitlines() if line.startswith("- ")]
    assert runs == [f"- https://github.example/{REPO}/actions/runs/{each} at {SHA[:12]}" for each in ("78", RUN_ID)]
    before = hub.writes()
    hub.well("issue", **ISSUE, OUTCOME="skipped")
    assert hub.writes() == before
    hub.well("issue", **ISSUE, OUTCOME="success")
    assert "This no longer happens" in next(iter(issue.get_comments())).body


def test_an_issue_whose_answer_was_lost_is_found_by_the_next_run(hub: Hub) -> None:
    hub.control.fail("lost", method="github.create_issue", count=1)
    lost = hub.ask("issue", **ISSUE, OUTCOME="failure")
    assert lost.returncode == 1
    assert lost.stderr.startswith("::error::POST /issues: ")
    hub.well("issue", **ISSUE, OUTCOME="failure")
    assert len(hub.issues("all")) == 1


def test_a_comment_is_made_once_and_changed_in_place(hub: Hub) -> None:
    pull = hub.control.open_pull(REPO, branch="edit", sha=SHA)
    hub.control.add_comments(REPO, pull, "eve", ["<!-- tidepool-comment: tpu-tests -->\nmine"] * 101)
    (hub.folder / "report.md").write_text("20 % slower\n" + "x" * 100_000)
    hub.well("comment", KEY="tpu-tests", NUMBER=pull, TEXT="They run.")
    hub.well("comment", KEY="tpu-tests", NUMBER=pull, TEXT="They passed.", REPORT=hub.folder / "report.md")
    issue = next(each for each in hub.issues() if each.number == pull)
    own = [each.body for each in issue.get_comments() if each.user.login == BOT]
    assert len(own) == 1
    assert own[0].startswith("<!-- tidepool-comment: tpu-tests -->\nThey passed.\n\n20 % slower\n")


def asked(hub: Hub, pull: int, sender: str, sha: str = SHA) -> Any:
    return hub.ask(
        "ask_tests", NUMBER=pull, SHA=sha, LABEL="run-tpu-tests", SENDER=sender, FILE="tpu.yaml", BRANCH="main"
    )


@pytest.mark.parametrize("permission", ["write", "admin"])
def test_who_may_write_starts_tests_of_the_very_commit_of_a_fork(hub: Hub, permission: str) -> None:
    hub.control.add_repository("eve/engine")
    pull = hub.control.open_pull(REPO, branch="edit", sha=SHA, head_repository="eve/engine", labels=["run-tpu-tests"])
    hub.control.add_collaborator(REPO, "ann", permission)
    assert asked(hub, pull, "ann").returncode == 0
    inputs = {"pull_request": str(pull), "sha": SHA}
    (started,) = hub.control.dispatched(REPO)
    assert (started["workflow"], started["ref"], started["inputs"]) == ("tpu.yaml", "main", inputs)


@pytest.mark.parametrize("sender", ["eve", "triager", "../../user"])
def test_who_may_not_write_starts_nothing_and_the_label_goes(hub: Hub, sender: str) -> None:
    hub.control.add_collaborator(REPO, "triager", "read")
    pull = hub.control.open_pull(REPO, branch="edit", sha=SHA, labels=["run-tpu-tests", "bug"])
    refused = asked(hub, pull, sender)
    assert refused.returncode == 1
    assert "may not write" in refused.stderr
    assert hub.control.dispatched(REPO) == []
    assert hub.labels(pull) == ["bug"]


def test_a_new_commit_takes_the_label_off_which_may_be_gone_already_and_is_not_tested(hub: Hub) -> None:
    pull = hub.control.open_pull(REPO, branch="edit", sha=SHA, labels=["run-tpu-tests", "bug"])
    hub.well("same_head", NUMBER=pull, SHA=SHA)
    for _ in range(2):
        hub.well("unlabel", NUMBER=pull, LABEL="run-tpu-tests")
    assert hub.labels(pull) == ["bug"]
    hub.control.push_to_pull(REPO, pull, "b" * 40)
    assert "closed or has another head" in hub.ask("same_head", NUMBER=pull, SHA=SHA).stderr


def test_a_read_is_tried_again_and_a_refusal_says_no_token(hub: Hub) -> None:
    pull = hub.control.open_pull(REPO, branch="edit", sha=SHA)
    hub.control.fail("error", method="github.get_pull", code=502, count=1)
    hub.control.fail("error", method="github.get_pull", code=429, count=1)
    hub.control.fail("lost", method="github.get_pull", count=1)
    hub.well("same_head", NUMBER=pull, SHA=SHA)
    hub.control.add_token(TOKEN, BOT, app=True, permissions={})
    refused = hub.ask("unlabel", NUMBER=pull, LABEL="x")
    refused_write = hub.ask("comment", KEY="k", NUMBER=pull, TEXT="x")
    assert refused.returncode == 1
    assert "403" in refused_write.stderr
    assert TOKEN not in refused.stderr + refused_write.stderr
