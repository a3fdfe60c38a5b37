"""The local GitHub as a maintained client sees it."""

from __future__ import annotations

import http.client
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import github
import pytest

from bench.cloud.control import ControlError
from bench.cloud.github.control import GitHubControl
from bench.cloud.testing import running_cloud

REPO, FORK, SHA = "lab/monorepo", "eve/monorepo", "a" * 40


@pytest.fixture
def hub() -> Iterator[GitHubControl]:
    with running_cloud() as cloud:
        control = GitHubControl(cloud.url)
        control.add_token("person", "octo")
        control.add_repository(REPO)
        yield control


def client(hub: GitHubControl, token: str = "person", page: int = 100) -> Any:
    made = github.Github(
        base_url=hub.api,
        auth=github.Auth.Token(token),
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
        per_page=page,
        lazy=True,
    )
    return made.get_repo(REPO)


def ask(hub: GitHubControl, path: str, token: str = "person") -> tuple[int, dict[str, str], Any]:
    parts = urlsplit(hub.api)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    connection.request("GET", parts.path + path, headers={"Authorization": f"token {token}"})
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, json.loads(data or b"null")


def test_comments_come_page_by_page_oldest_first(hub: GitHubControl) -> None:
    pull = hub.open_pull(REPO, branch="edit", sha=SHA)
    hub.add_comments(REPO, pull, "bob", [f"comment {index}" for index in range(23)])
    seen = [comment.body for comment in client(hub, page=5).get_issue(pull).get_comments()]
    assert seen == [f"comment {index}" for index in range(23)]


def test_a_page_links_to_its_neighbours_and_one_past_the_end_is_empty(hub: GitHubControl) -> None:
    hub.add_labels(REPO, [f"label-{index}" for index in range(7)])
    _, headers, body = ask(hub, f"/repos/{REPO}/labels?per_page=3&page=2")
    assert len(body) == 3
    assert [part.rpartition("rel=")[2] for part in headers["link"].split(", ")] == [
        '"prev"', '"first"', '"next"', '"last"',
    ]  # fmt: skip
    assert ask(hub, f"/repos/{REPO}/labels?page=9")[2] == []


def test_a_page_is_never_longer_than_a_hundred(hub: GitHubControl) -> None:
    hub.add_labels(REPO, [f"label-{index}" for index in range(150)])
    assert len(ask(hub, f"/repos/{REPO}/labels?per_page=1000")[2]) == 100


def test_a_comment_is_made_edited_and_deleted(hub: GitHubControl) -> None:
    issue = client(hub).create_issue("drift", body="found")
    comment = issue.create_comment("first")
    comment.edit("second")
    assert [(each.body, each.user.login) for each in issue.get_comments()] == [("second", "octo")]
    comment.delete()
    assert list(issue.get_comments()) == []


def test_a_comment_longer_than_github_takes_is_refused(hub: GitHubControl) -> None:
    issue = client(hub).create_issue("drift")
    issue.create_comment("x" * 65_536)
    with pytest.raises(github.GithubException, match="too long"):
        issue.create_comment("x" * 65_537)


def test_issues_close_reopen_and_are_listed_by_state_and_label(hub: GitHubControl) -> None:
    repo = client(hub)
    one, two = repo.create_issue("one", labels=["drift"]), repo.create_issue("two")
    two.edit(state="closed")
    assert [issue.title for issue in repo.get_issues(state="open")] == ["one"]
    assert [issue.title for issue in repo.get_issues(state="all", labels=["drift"])] == ["one"]
    two.edit(state="open")
    assert [issue.number for issue in repo.get_issues()] == [two.number, one.number]


def test_labels_are_found_whatever_their_case(hub: GitHubControl) -> None:
    repo = client(hub)
    repo.create_label("Capacity-Up", "ff0000")
    issue = repo.create_issue("one", labels=["capacity-up"])
    assert repo.get_label("capacity-UP").color == "ff0000"
    issue.remove_from_labels("CAPACITY-UP")
    assert list(repo.get_issue(issue.number).get_labels()) == []
    with pytest.raises(github.GithubException, match="already_exists"):
        repo.create_label("capacity-up", "00ff00")


def test_a_branch_is_found_by_its_head_commit_and_a_fork_is_not(hub: GitHubControl) -> None:
    hub.add_repository(FORK, fork=True)
    own = hub.open_pull(REPO, branch="edit", sha=SHA)
    hub.open_pull(REPO, branch="edit", sha="b" * 40, head_repository=FORK)
    repo = client(hub)
    assert [pull.number for pull in repo.get_commit(SHA).get_pulls()] == [own]
    assert list(repo.get_commit("b" * 40).get_pulls()) == []
    assert [pull.head.repo.full_name for pull in repo.get_pulls()] == [FORK, REPO]


def test_an_artifact_of_a_run_is_downloaded_through_its_redirect(hub: GitHubControl) -> None:
    run = hub.add_run(REPO, head_sha=SHA, artifacts={"preview": {"preview.json": b"{}"}})
    [artifact] = client(hub).get_workflow_run(run["id"]).get_artifacts()
    status, headers, _ = ask(hub, f"/repos/{REPO}/actions/artifacts/{artifact.id}/zip")
    assert status == 302
    parts = urlsplit(headers["location"])
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    connection.request("GET", parts.path, headers={"Authorization": "token person"})
    archive = zipfile.ZipFile(io.BytesIO(connection.getresponse().read()))
    connection.close()
    assert archive.read("preview.json") == b"{}"


def test_runners_are_listed_with_their_labels(hub: GitHubControl) -> None:
    hub.add_runner(REPO, "tpu-ci-us-west4-a-0", labels=["self-hosted", "tpu-ci"], busy=True)
    [runner] = client(hub).get_self_hosted_runners()
    assert (runner.name, runner.busy, [label["name"] for label in runner.labels]) == (
        "tpu-ci-us-west4-a-0", True, ["self-hosted", "tpu-ci"],
    )  # fmt: skip


def test_an_unknown_token_is_refused(hub: GitHubControl) -> None:
    assert ask(hub, "/user", token="guess")[0] == 401


def test_a_workflow_token_does_not_learn_who_it_is_and_writes_what_it_may(hub: GitHubControl) -> None:
    hub.add_token("workflow", "github-actions[bot]", app=True, permissions={"pull-requests": "write"})
    assert ask(hub, "/user", token="workflow")[0] == 403
    repo, pull = client(hub, "workflow"), hub.open_pull(REPO, branch="edit", sha=SHA)
    assert repo.get_issue(pull).create_comment("hello").user.type == "Bot"
    with pytest.raises(github.GithubException, match="not accessible"):
        repo.create_issue("an issue")
    with pytest.raises(github.GithubException, match="not accessible"):
        list(repo.get_self_hosted_runners())


def test_the_rate_runs_out_and_comes_back_when_the_hour_is_over(hub: GitHubControl) -> None:
    hub.leave("person", 1, reset_in=60)
    assert ask(hub, "/user")[1]["x-ratelimit-remaining"] == "0"
    status, headers, body = ask(hub, "/user")
    assert (status, headers["x-ratelimit-remaining"]) == (403, "0")
    assert body["message"].startswith("API rate limit exceeded")
    hub.advance(61)
    assert ask(hub, "/user")[0] == 200


@pytest.mark.parametrize("code", [403, 429])
def test_a_secondary_rate_limit_says_when_to_come_again(hub: GitHubControl, code: int) -> None:
    hub.fail("error", method="github.list_labels", code=code, seconds=7, count=1)
    status, headers, body = ask(hub, f"/repos/{REPO}/labels")
    assert (status, headers["retry-after"]) == (code, "7")
    assert "secondary rate limit" in body["message"]
    assert ask(hub, f"/repos/{REPO}/labels")[0] == 200


def test_a_gateway_error_strikes_the_call_it_is_meant_for(hub: GitHubControl) -> None:
    hub.fail("error", method="github.list_*", project=REPO, code=502, count=1)
    assert ask(hub, f"/repos/{REPO}")[0] == 200
    assert ask(hub, f"/repos/{REPO}/issues")[0] == 502


def test_what_is_not_served_or_not_there_is_not_found(hub: GitHubControl) -> None:
    assert ask(hub, f"/repos/{REPO}/wiki")[0] == 404
    assert ask(hub, "/repos/lab/other")[0] == 404
    assert ask(hub, f"/repos/{REPO}/issues/one")[0] == 404


def test_a_seed_that_lacks_something_is_refused_with_its_name(hub: GitHubControl) -> None:
    with pytest.raises(ControlError, match="repository"):
        hub._ask("POST", "github/repositories", {})
    with pytest.raises(ControlError, match="Not Found"):
        hub.open_pull("lab/other", branch="edit", sha=SHA)


def test_no_token_reaches_the_log(hub: GitHubControl) -> None:
    ask(hub, f"/repos/{REPO}", token="person")
    assert "person" not in json.dumps(hub.log())


def test_it_outlives_a_restart(tmp_path: Path) -> None:
    with running_cloud(tmp_path / "cloud.sqlite") as cloud:
        control = GitHubControl(cloud.url)
        control.add_token("person", "octo")
        control.add_repository(REPO)
        client(control).create_issue("drift")
    with running_cloud(tmp_path / "cloud.sqlite") as cloud:
        assert [issue.title for issue in client(GitHubControl(cloud.url)).get_issues()] == ["drift"]


def test_no_token_is_kept_in_clear(tmp_path: Path) -> None:
    with running_cloud(tmp_path / "cloud.sqlite") as cloud:
        GitHubControl(cloud.url).add_token("a-token-to-look-for", "octo")
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"octo" in kept
    assert b"a-token-to-look-for" not in kept
