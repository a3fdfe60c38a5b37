"""Apps, their tokens, and runners for one job, as GitHub's clients see them."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import github
import pytest
from google.auth import crypt, jwt

from bench.cloud import tokens
from bench.cloud.control import ControlError
from bench.cloud.github.control import GitHubControl
from bench.cloud.testing import TestCloud, running_cloud

REPO, OTHER = "lab/monorepo", "lab/engine"
BOTH = {"administration": "write", "organization_self_hosted_runners": "write"}
RUNNER = {"name": "tpu-0-abcdef", "runner_group_id": 1, "labels": ["tpu", "self-hosted"], "work_folder": "_work"}


@pytest.fixture
def cloud() -> Iterator[TestCloud]:
    with running_cloud() as running:
        hub = GitHubControl(running.url)
        hub.add_repository(REPO, private=True)
        hub.add_repository(OTHER)
        hub.add_token("person", "octo")
        yield running


@pytest.fixture
def hub(cloud: TestCloud) -> GitHubControl:
    return GitHubControl(cloud.url)


def ask(
    hub: GitHubControl, verb: str, path: str, token: str = "person", body: dict[str, Any] | None = None
) -> tuple[int, Any]:
    parts = urlsplit(hub.api)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    content = None if body is None else json.dumps(body)
    connection.request(verb, parts.path + path, content, {"authorization": f"Bearer {token}"})
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response.status, json.loads(data or b"null")


def app_token(cloud: TestCloud, app: dict[str, Any], **claims: Any) -> str:
    """As an app signs it, by another implementation than the local GitHub's own."""
    now = int(cloud.wall.seconds)
    said = {"iss": str(app["id"]), "iat": now - 60, "exp": now + 480, **claims}
    return jwt.encode(crypt.RSASigner.from_string(app["key"]), said).decode()


def installed(cloud: TestCloud, hub: GitHubControl, app: dict[str, Any], **body: Any) -> tuple[int, Any]:
    path = f"/app/installations/{app['installation']}/access_tokens"
    return ask(hub, "POST", path, app_token(cloud, app), body)


def test_a_maintained_client_gets_an_installations_token_and_lists_runners(
    cloud: TestCloud, hub: GitHubControl
) -> None:
    app = hub.add_app("broker", account="lab", permissions=BOTH)
    hub.add_runner(REPO, "one")
    # The client signs by the machine's clock.
    cloud.wall.advance(max(datetime.now(UTC).timestamp() - cloud.wall.seconds, 0))
    auth = github.Auth.AppAuth(app["id"], app["key"]).get_installation_auth(app["installation"])
    made = github.Github(base_url=hub.api, auth=auth, retry=None, lazy=True, seconds_between_requests=0)
    assert [runner.name for runner in made.get_repo(REPO).get_self_hosted_runners()] == ["one"]
    made.close()


def test_a_token_has_no_more_than_it_asked_for(cloud: TestCloud, hub: GitHubControl) -> None:
    app = hub.add_app("broker", account="lab", permissions=BOTH)
    status, given = installed(cloud, hub, app, permissions={"administration": "read"}, repositories=["monorepo"])
    assert (status, given["permissions"], given["repository_selection"]) == (
        201,
        {"administration": "read"},
        "selected",
    )
    token = given["token"]
    assert ask(hub, "GET", f"/repos/{REPO}/actions/runners", token)[0] == 200
    assert ask(hub, "GET", f"/repos/{OTHER}/actions/runners", token)[0] == 404
    assert ask(hub, "POST", f"/repos/{REPO}/actions/runners/generate-jitconfig", token, RUNNER)[0] == 403


def test_a_token_cannot_have_more_than_the_app(cloud: TestCloud, hub: GitHubControl) -> None:
    app = hub.add_app("broker", account="lab", permissions={"administration": "read"}, repositories=["monorepo"])
    assert installed(cloud, hub, app, permissions={"administration": "write"})[0] == 422
    assert installed(cloud, hub, app, permissions={"contents": "read"})[0] == 422
    assert installed(cloud, hub, app, repositories=["engine"])[0] == 422
    assert installed(cloud, hub, app)[1]["permissions"] == {"administration": "read"}


def test_an_installations_token_ends_after_an_hour(cloud: TestCloud, hub: GitHubControl) -> None:
    app = hub.add_app("broker", account="lab", permissions=BOTH)
    token = installed(cloud, hub, app)[1]["token"]
    cloud.wall.advance(3599)
    assert ask(hub, "GET", f"/repos/{REPO}/actions/runners", token)[0] == 200
    cloud.wall.advance(2)
    assert ask(hub, "GET", f"/repos/{REPO}/actions/runners", token)[0] == 401


@pytest.mark.parametrize(
    ("claims", "said"),
    [({"exp": 1}, "future"), ({"exp": 1 << 40}, "too far"), ({"iat": 1 << 40}, "iat"), ({"iss": "77"}, "decoded")],
)
def test_an_apps_own_token_is_checked(cloud: TestCloud, hub: GitHubControl, claims: dict[str, Any], said: str) -> None:
    app = hub.add_app("broker", account="lab", permissions=BOTH)
    status, body = ask(hub, "GET", "/app", app_token(cloud, app, **claims))
    assert status == 401
    assert said in body["message"]


def test_an_apps_keys_are_rotated(cloud: TestCloud, hub: GitHubControl) -> None:
    old = hub.add_app("broker", account="lab", permissions=BOTH)
    new = hub.add_app("broker", account="lab", permissions=BOTH)
    assert (new["id"], new["installation"]) == (old["id"], old["installation"])
    assert [ask(hub, "GET", "/app", app_token(cloud, each))[0] for each in (old, new)] == [200, 200]
    hub.forget_app_keys(old["id"])
    assert [ask(hub, "GET", "/app", app_token(cloud, each))[0] for each in (old, new)] == [401, 200]
    assert ask(hub, "GET", "/app", app_token(cloud, {**new, "key": tokens.new_key()}))[0] == 401


def test_a_runner_for_one_job_connects_works_and_is_gone(hub: GitHubControl) -> None:
    path = f"/repos/{REPO}/actions/runners"
    status, made = ask(hub, "POST", f"{path}/generate-jitconfig", body=RUNNER)
    assert (status, made["runner"]["status"], made["runner"]["busy"]) == (201, "offline", False)
    assert ask(hub, "POST", f"{path}/generate-jitconfig", body=RUNNER)[0] == 409
    jit = made["encoded_jit_config"]
    assert hub.connect(jit)["status"] == "online"
    assert hub.take_job(jit) is None
    foreign = hub.queue_job(OTHER, ["tpu"])
    unfit = hub.queue_job(REPO, ["tpu", "gpu"])
    fit = hub.queue_job(REPO, ["TPU"])
    taken = hub.take_job(jit)
    assert taken is not None
    assert (taken["id"], taken["status"], taken["runner_name"]) == (fit["id"], "in_progress", RUNNER["name"])
    assert ask(hub, "DELETE", f"{path}/{made['runner']['id']}")[0] == 422
    assert hub.end_job(jit)["conclusion"] == "success"
    assert ask(hub, "GET", path)[1]["total_count"] == 0
    with pytest.raises(ControlError, match="served its job"):
        hub.connect(jit)
    runs = ask(hub, "GET", f"/repos/{REPO}/actions/runs?status=queued")[1]["workflow_runs"]
    assert [run["id"] for run in runs] == [unfit["run_id"]]
    jobs = ask(hub, "GET", f"/repos/{OTHER}/actions/runs/{foreign['run_id']}/jobs")[1]["jobs"]
    assert [(job["status"], job["labels"]) for job in jobs] == [("queued", ["tpu"])]


def test_a_configuration_that_nobody_used_within_an_hour_is_no_good(cloud: TestCloud, hub: GitHubControl) -> None:
    made = ask(hub, "POST", f"/repos/{REPO}/actions/runners/generate-jitconfig", body=RUNNER)[1]
    cloud.wall.advance(3601)
    with pytest.raises(ControlError, match="expired"):
        hub.connect(made["encoded_jit_config"])


def test_a_runner_that_was_removed_cannot_connect(hub: GitHubControl) -> None:
    made = ask(hub, "POST", f"/repos/{REPO}/actions/runners/generate-jitconfig", body=RUNNER)[1]
    assert ask(hub, "DELETE", f"/repos/{REPO}/actions/runners/{made['runner']['id']}")[0] == 204
    with pytest.raises(ControlError, match="no runner"):
        hub.connect(made["encoded_jit_config"])


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"runner_group_id": 7}, 404), ({"labels": []}, 422), ({"labels": ["x"] * 101}, 422), ({"labels": [7]}, 422),
        ({"name": ""}, 422), ({"name": "x" * 65}, 422), ({"name": None}, 422),
    ],
)  # fmt: skip
def test_a_runner_that_cannot_be_is_refused(hub: GitHubControl, change: dict[str, Any], status: int) -> None:
    assert ask(hub, "POST", f"/repos/{REPO}/actions/runners/generate-jitconfig", body={**RUNNER, **change})[0] == status


def test_a_runner_without_a_group_is_refused_by_name(hub: GitHubControl) -> None:
    body = {key: value for key, value in RUNNER.items() if key != "runner_group_id"}
    status, said = ask(hub, "POST", f"/repos/{REPO}/actions/runners/generate-jitconfig", body=body)
    assert status == 422
    assert "runner_group_id" in said["message"]


def test_an_organisation_has_groups_and_runners_of_its_own(hub: GitHubControl) -> None:
    groups = hub.add_organization("lab", groups=["tpu-member"])
    listed = ask(hub, "GET", "/orgs/lab/actions/runner-groups")[1]["runner_groups"]
    assert {group["name"]: group["id"] for group in listed} == groups == {"Default": 1, **groups}
    body = {**RUNNER, "runner_group_id": groups["tpu-member"]}
    made = ask(hub, "POST", "/orgs/lab/actions/runners/generate-jitconfig", body=body)[1]
    assert ask(hub, "GET", f"/repos/{REPO}/actions/runners")[1]["total_count"] == 0
    found = ask(hub, "GET", f"/orgs/lab/actions/runners?name={RUNNER['name']}")[1]["runners"]
    assert [runner["runner_group_id"] for runner in found] == [groups["tpu-member"]]
    hub.queue_job(OTHER, ["tpu"])
    hub.connect(made["encoded_jit_config"])
    assert hub.take_job(made["encoded_jit_config"]) is not None
    assert ask(hub, "GET", "/orgs/nobody/actions/runners")[0] == 404


def test_a_runner_of_the_organisation_needs_the_organisations_permission(cloud: TestCloud, hub: GitHubControl) -> None:
    hub.add_organization("lab")
    app = hub.add_app("broker", account="lab", permissions={"administration": "write"})
    token = installed(cloud, hub, app)[1]["token"]
    assert ask(hub, "POST", "/orgs/lab/actions/runners/generate-jitconfig", token, RUNNER)[0] == 403
    assert ask(hub, "POST", f"/repos/{REPO}/actions/runners/generate-jitconfig", token, RUNNER)[0] == 201


def test_the_rate_of_an_installation_is_that_of_all_its_tokens(cloud: TestCloud, hub: GitHubControl) -> None:
    app = hub.add_app("broker", account="lab", permissions=BOTH)
    pair = [installed(cloud, hub, app)[1]["token"] for _ in range(2)]
    hub.leave_installation(app["installation"], 1)
    assert [ask(hub, "GET", f"/repos/{REPO}/actions/runners", token)[0] for token in pair] == [200, 403]
