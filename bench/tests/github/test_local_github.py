"""The local GitHub: pages, rates and refusals, apps with their tokens, and runners for one job."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from google.auth import crypt, jwt

from bench.cloud import tokens
from bench.cloud.control import Control, ControlError
from bench.cloud.testing import TestCloud, running_cloud

REPO, OTHER, FORK, SHA = "lab/monorepo", "lab/engine", "eve/monorepo", "a" * 40
BOTH = {"administration": "write", "organization_self_hosted_runners": "write"}
RUNNER = {"name": "tpu-0-abcdef", "runner_group_id": 1, "labels": ["tpu", "self-hosted"], "work_folder": "_work"}
RUNNERS = f"/repos/{REPO}/actions/runners"


@pytest.fixture
def cloud() -> Iterator[TestCloud]:
    with running_cloud() as running:
        hub = Control(running.url)
        hub.add_repository(REPO)
        hub.add_repository(OTHER)
        hub.add_token("person", "octo")
        yield running


@pytest.fixture
def hub(cloud: TestCloud) -> Control:
    return Control(cloud.url)


def asked(
    hub: Control, path: str, token: str = "person", verb: str = "GET", body: dict[str, Any] | None = None
) -> tuple[int, dict[str, str], Any]:
    parts = urlsplit(hub.api)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    content = None if body is None else json.dumps(body)
    connection.request(verb, parts.path + path, content, {"authorization": f"Bearer {token}"})
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, json.loads(data or b"null")


def registered(hub: Control, token: str = "person", path: str = RUNNERS, **change: Any) -> tuple[int, Any]:
    status, _, found = asked(hub, f"{path}/generate-jitconfig", token, "POST", {**RUNNER, **change})
    return status, found


def app_token(cloud: TestCloud, app: dict[str, Any], **claims: Any) -> str:
    """As an app signs it, by another implementation than the local GitHub's own."""
    now = int(cloud.wall.seconds)
    said = {"iss": str(app["id"]), "iat": now - 60, "exp": now + 480, **claims}
    return jwt.encode(crypt.RSASigner.from_string(app["key"]), said).decode()


def installed(cloud: TestCloud, hub: Control, app: dict[str, Any], claims: Any = None, **body: Any) -> tuple[int, Any]:
    path = f"/app/installations/{app['installation']}/access_tokens"
    status, _, given = asked(hub, path, app_token(cloud, app, **(claims or {})), "POST", body)
    return status, given


def test_what_is_not_served_or_not_there_is_not_found(hub: Control) -> None:
    paths = (f"/repos/{REPO}/wiki", "/repos/lab/other", f"/repos/{REPO}/issues/one", "/orgs/nobody/actions/runners")
    assert [asked(hub, path)[0] for path in paths] == [404] * 4
    with pytest.raises(ControlError, match="repository"):
        hub.add_repository()
    with pytest.raises(ControlError, match="Not Found"):
        hub.open_pull("lab/other", branch="edit", sha=SHA)


def test_it_outlives_a_restart_and_keeps_no_token_in_clear(tmp_path: Path) -> None:
    token, issues = "a-token-to-look-for", f"/repos/{REPO}/issues"
    with running_cloud(tmp_path / "cloud.sqlite") as cloud:
        hub = Control(cloud.url)
        hub.add_token(token, "octo")
        hub.add_repository(REPO)
        assert asked(hub, issues, token, "POST", {"title": "drift"})[0] == 201
        assert token not in json.dumps(hub.log())
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert (b"octo" in kept, token.encode() in kept) == (True, False)
    with running_cloud(tmp_path / "cloud.sqlite") as cloud:
        assert [issue["title"] for issue in asked(Control(cloud.url), issues, token)[2]] == ["drift"]


# Apps


def test_a_token_has_what_it_asked_for_of_what_the_app_has_for_an_hour(cloud: TestCloud, hub: Control) -> None:
    app = hub.add_app("broker", account="lab", permissions=BOTH)
    asks = {"permissions": {"administration": "read"}, "repositories": ["monorepo"]}
    status, given = installed(cloud, hub, app, **asks)
    assert (status, given["permissions"], given["repository_selection"]) == (201, asks["permissions"], "selected")
    assert [asked(hub, RUNNERS.replace(REPO, each), given["token"])[0] for each in (REPO, OTHER)] == [200, 404]
    assert registered(hub, given["token"])[0] == 403
    cloud.wall.advance(3601)
    assert asked(hub, RUNNERS, given["token"])[0] == 401
    little = hub.add_app("reader", account="lab", permissions={"administration": "read"})
    for body in (
        {"permissions": {"administration": "write"}},
        {"permissions": {"contents": "read"}},
    ):
        assert installed(cloud, hub, little, **body)[0] == 422, body
    assert installed(cloud, hub, little)[1]["permissions"] == {"administration": "read"}


def test_an_apps_own_token_is_checked_and_its_keys_are_rotated(cloud: TestCloud, hub: Control) -> None:
    old = hub.add_app("broker", account="lab", permissions=BOTH)
    for claims in ({"exp": 1}, {"exp": 1 << 40}, {"iss": "77"}):
        assert installed(cloud, hub, old, claims)[0] == 401, claims
    new = hub.add_app("broker", account="lab", permissions=BOTH)
    assert (new["id"], new["installation"]) == (old["id"], old["installation"])
    assert [installed(cloud, hub, each)[0] for each in (old, new)] == [201, 201]
    hub.forget_app_keys(old["id"])
    made_up = {**new, "key": tokens.new_key()}
    assert [installed(cloud, hub, each)[0] for each in (old, new, made_up)] == [401, 201, 401]


# Runners


def test_a_runner_for_one_job_connects_works_and_is_gone(hub: Control) -> None:
    status, made = registered(hub)
    assert (status, made["runner"]["status"], made["runner"]["busy"]) == (201, "offline", False)
    assert registered(hub)[0] == 409
    jit = made["encoded_jit_config"]
    assert hub.connect(jit)["status"] == "online"
    assert hub.take_work(jit) is None
    foreign = hub.queue_job(OTHER, ["tpu"])
    unfit = hub.queue_job(REPO, ["tpu", "gpu"])
    fit = hub.queue_job(REPO, ["TPU"])
    taken = hub.take_work(jit) or {}
    assert (taken["id"], taken["status"], taken["runner_name"]) == (fit["id"], "in_progress", RUNNER["name"])
    assert asked(hub, f"{RUNNERS}/{made['runner']['id']}", verb="DELETE")[0] == 422
    assert hub.end_job(jit)["conclusion"] == "success"
    assert asked(hub, RUNNERS)[2]["total_count"] == 0
    with pytest.raises(ControlError, match="served its job"):
        hub.connect(jit)
    runs = asked(hub, f"/repos/{REPO}/actions/runs?status=queued")[2]["workflow_runs"]
    assert [run["id"] for run in runs] == [unfit["run_id"]]
    jobs = asked(hub, f"/repos/{OTHER}/actions/runs/{foreign['run_id']}/jobs")[2]["jobs"]
    assert [(job["status"], job["labels"]) for job in jobs] == [("queued", ["tpu"])]


def test_a_registration_that_is_late_or_removed_is_no_good(cloud: TestCloud, hub: Control) -> None:
    assert registered(hub, runner_group_id=7)[0] == 404
    made = registered(hub)[1]
    assert asked(hub, f"{RUNNERS}/{made['runner']['id']}", verb="DELETE")[0] == 204
    with pytest.raises(ControlError, match="no runner"):
        hub.connect(made["encoded_jit_config"])
    made = registered(hub)[1]
    cloud.wall.advance(3601)
    with pytest.raises(ControlError, match="expired"):
        hub.connect(made["encoded_jit_config"])


def test_an_organisation_has_groups_runners_and_a_permission_of_its_own(cloud: TestCloud, hub: Control) -> None:
    groups, path = hub.add_organization("lab", groups=["tpu-member"]), "/orgs/lab/actions/runners"
    listed = asked(hub, "/orgs/lab/actions/runner-groups")[2]["runner_groups"]
    assert {group["name"]: group["id"] for group in listed} == groups == {"Default": 1, **groups}
    made = registered(hub, path=path, runner_group_id=groups["tpu-member"])[1]
    assert asked(hub, RUNNERS)[2]["total_count"] == 0
    found = asked(hub, f"{path}?name={RUNNER['name']}")[2]["runners"]
    assert [runner["runner_group_id"] for runner in found] == [groups["tpu-member"]]
    hub.queue_job(OTHER, ["tpu"])
    hub.connect(made["encoded_jit_config"])
    assert hub.take_work(made["encoded_jit_config"]) is not None
    app = hub.add_app("broker", account="lab", permissions={"administration": "write"})
    token = installed(cloud, hub, app)[1]["token"]
    assert [registered(hub, token, each, name="other")[0] for each in (path, RUNNERS)] == [403, 201]
