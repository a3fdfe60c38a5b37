"""Self-hosted runners of repositories and organisations: the list, registrations for one job, groups, removal.

https://docs.github.com/rest/actions/self-hosted-runners, read 2026-11. A runner with a just-in-time configuration is
offline until it connects (`work`), takes one job and is gone. That `runner_group_id` must be given, and that a group
that is not there is a 404, was seen at GitHub: https://docs.rs/runner-manager-github/0.4.5/runner_manager_github/jit/.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterable

from bench.cloud.errors import JsonObject
from bench.cloud.github import records
from bench.cloud.github.apps import token_digest
from bench.cloud.github.routes import Ask, GitHubAnswer, GitHubError, Made, Paged, missing, serves
from bench.cloud.store import Resource

JIT_LIFE = 3600.0
"""Seconds within which a just-in-time configuration must be used."""
DEFAULT_GROUP = 1
_REPO, _ORG = "/repos/{owner}/{name}/actions", "/orgs/{org}/actions"
_HIDDEN = {"secret", "connect_by", "connected", "job"}


@serves("GET", _REPO + "/runners")
@serves("GET", _ORG + "/runners")
def list_runners(ask: Ask) -> GitHubAnswer:
    """Needs administration, which no token of a workflow run has."""
    _demand(ask, "read")
    name = ask.query.get("name")
    runners = (shown(found.body) for found in records.each(ask.cloud, records.RUNNER, ask.where))
    return Paged([runner for runner in runners if name in (None, runner["name"])], key="runners")


@serves("GET", _REPO + "/runners/{id}")
@serves("GET", _ORG + "/runners/{id}")
def get_runner(ask: Ask) -> GitHubAnswer:
    return shown(_runner(ask, "read").body)


@serves("DELETE", _REPO + "/runners/{id}")
@serves("DELETE", _ORG + "/runners/{id}")
def delete_runner(ask: Ask) -> GitHubAnswer:
    found = _runner(ask, "write")
    if found.body["busy"]:
        said = f'Runner "{found.body["name"]}" is currently running a job and cannot be deleted.'
        raise GitHubError(422, said)
    ask.cloud.store.delete(records.RUNNER, found.name)
    return None


@serves("POST", _REPO + "/runners/generate-jitconfig")
@serves("POST", _ORG + "/runners/generate-jitconfig")
def generate_jitconfig(ask: Ask) -> GitHubAnswer:
    _demand(ask, "write")
    name, group = ask.body["name"], ask.body["runner_group_id"]
    groups = {found.body["id"] for found in records.each(ask.cloud, records.GROUP, ask.where)}
    if group not in (groups or {DEFAULT_GROUP}):
        raise missing()
    if any(found.body["name"] == name for found in records.each(ask.cloud, records.RUNNER, ask.where)):
        raise GitHubError(409, f"Already exists - A runner with the name {name} already exists.")
    secret = secrets.token_urlsafe(30)
    content = {
        **runner_json(name, ask.body["labels"], os="unknown", status="offline"),
        "runner_group_id": group,
        "secret": token_digest(secret),
        "connect_by": ask.cloud.now + JIT_LIFE,
        "connected": False,
    }
    made = records.add(ask.cloud, records.RUNNER, ask.where, content)
    return Made({"runner": shown(made), "encoded_jit_config": _encoded(ask, made, secret)})


@serves("GET", _ORG + "/runner-groups")
def list_runner_groups(ask: Ask) -> GitHubAnswer:
    _demand(ask, "read")
    return Paged([group.body for group in records.each(ask.cloud, records.GROUP, ask.where)], key="runner_groups")


def runner_json(name: str, labels: Iterable[str], *, os: str = "linux", status: str, busy: bool = False) -> JsonObject:
    """A runner that no program is of yet."""
    shown_labels = [
        {"id": place, "name": label, "type": "read-only" if label == "self-hosted" else "custom"}
        for place, label in enumerate(labels, 1)
    ]
    return {"name": name, "os": os, "status": status, "busy": busy, "labels": shown_labels}


def shown(body: JsonObject) -> JsonObject:
    """A runner as the API shows it."""
    return {name: each for name, each in body.items() if name not in _HIDDEN}


def _demand(ask: Ask, level: str) -> None:
    ask.demand("organization_self_hosted_runners" if "org" in ask.ids else "administration", level=level)


def _runner(ask: Ask, level: str) -> Resource:
    _demand(ask, level)
    return records.get(ask.cloud, records.RUNNER, records.key(ask.where, ask.number("id")))


def _encoded(ask: Ask, runner: JsonObject, secret: str) -> str:
    """Files by name, each in base64, all of it in base64: the form that the runner unpacks."""
    home = ask.base.removesuffix("/api/v3")
    files = {
        ".runner": {
            "agentId": str(runner["id"]),
            "agentName": runner["name"],
            "ephemeral": "true",
            "gitHubUrl": f"{home}/{ask.where.removeprefix('@')}",
        },
        ".credentials": {"scheme": "OAuth", "data": {"clientId": str(runner["id"]), "secret": secret}},
    }
    packed = {name: base64.b64encode(json.dumps(content).encode()).decode() for name, content in files.items()}
    return base64.b64encode(json.dumps(packed).encode()).decode()
