"""Self-hosted runners of repositories and organisations: the list, registrations for one job, groups, removal.

https://docs.github.com/rest/actions/self-hosted-runners, read 2026-11. A runner with a just-in-time configuration is
offline until it connects (`work`), takes one job and is gone. That `runner_group_id` must be given, and that a group
that is not there is a 404, was seen at GitHub: https://docs.rs/runner-manager-github/0.4.5/runner_manager_github/jit/.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.github import records
from bench.cloud.github.apps import token_digest
from bench.cloud.github.routes import (
    Ask,
    GitHubAnswer,
    GitHubError,
    Made,
    Paged,
    missing,
    serves,
)
from bench.cloud.store import Resource

JIT_LIFE = 3600.0
"""Seconds within which a just-in-time configuration must be used."""
DEFAULT_GROUP = 1
_REPO, _ORG = "/repos/{owner}/{name}/actions", "/orgs/{org}/actions"
_SHOWN = ("id", "name", "os", "status", "busy", "labels", "runner_group_id")
_OF_REPO, _OF_ORG = "administration", "organization_self_hosted_runners"


@dataclass(frozen=True, slots=True)
class _Runners(Sequence[JsonObject]):
    """Those of a repository or an organisation, of which a page costs what it has, however many there are."""

    cloud: Cloud
    where: str

    def __len__(self) -> int:
        return self.cloud.store.count(records.RUNNER, records.key(self.where))

    def __getitem__(self, part: Any) -> Any:
        found = self.cloud.store.each(records.RUNNER, records.key(self.where), part)
        return [shown(each.body) for each in found]


@serves("GET", _REPO + "/runners")
@serves("GET", _ORG + "/runners")
def list_runners(ask: Ask) -> GitHubAnswer:
    """Needs administration, which no token of a workflow run has."""
    where = _reading(ask)
    name = ask.query.get("name")
    if name is None:
        return Paged(_Runners(ask.cloud, where), key="runners")
    runners = (shown(found.body) for found in records.each(ask.cloud, records.RUNNER, where))
    return Paged([runner for runner in runners if runner["name"] == name], key="runners")


@serves("GET", _REPO + "/runners/{id}")
@serves("GET", _ORG + "/runners/{id}")
def get_runner(ask: Ask) -> GitHubAnswer:
    return shown(_runner(ask, _reading(ask)).body)


@serves("DELETE", _REPO + "/runners/{id}")
@serves("DELETE", _ORG + "/runners/{id}")
def delete_runner(ask: Ask) -> GitHubAnswer:
    found = _runner(ask, _reading(ask, "write"))
    if found.body["busy"]:
        said = f'Runner "{found.body["name"]}" is currently running a job and cannot be deleted.'
        raise GitHubError(422, said)
    ask.cloud.store.delete(records.RUNNER, found.name)
    return None


@serves("POST", _REPO + "/runners/generate-jitconfig")
@serves("POST", _ORG + "/runners/generate-jitconfig")
def generate_jitconfig(ask: Ask) -> GitHubAnswer:
    return _registered(ask, _reading(ask, "write"))


@serves("GET", _ORG + "/runner-groups")
def list_runner_groups(ask: Ask) -> GitHubAnswer:
    groups = records.each(ask.cloud, records.GROUP, _reading(ask))
    return Paged([group.body for group in groups], key="runner_groups")


def shown(body: JsonObject) -> JsonObject:
    """A runner as the API shows it."""
    return {name: body[name] for name in _SHOWN if name in body}


def labels_json(labels: list[str]) -> list[JsonObject]:
    return [
        {"id": place, "name": label, "type": "read-only" if label == "self-hosted" else "custom"}
        for place, label in enumerate(labels, 1)
    ]


def _reading(ask: Ask, level: str = "read") -> str:
    """Whose runners the path names: a repository's or an organisation's. Raises 403 and 404."""
    ask.demand(_OF_ORG if "org" in ask.ids else _OF_REPO, level=level)
    return _owner(ask)


def _owner(ask: Ask) -> str:
    if "org" not in ask.ids:
        return ask.repo
    found = ask.cloud.store.find(records.ORGANIZATION, ask.ids["org"].lower())
    if found is None:
        raise missing()
    return records.scope(found.body["login"])


def _runner(ask: Ask, where: str) -> Resource:
    found = ask.cloud.store.find(records.RUNNER, records.key(where, ask.number("id")))
    if found is None:
        raise missing()
    return found


def _registered(ask: Ask, where: str) -> Made:
    name, group = ask.body["name"], ask.body["runner_group_id"]
    groups = (found.body["id"] for found in records.each(ask.cloud, records.GROUP, where))
    if group not in (groups if where.startswith("@") else {DEFAULT_GROUP}):
        raise missing()
    if any(found.body["name"] == name for found in records.each(ask.cloud, records.RUNNER, where)):
        raise GitHubError(409, f"Already exists - A runner with the name {name} already exists.")
    number, secret = records.next_id(ask.cloud), secrets.token_urlsafe(30)
    content = {
        "id": number,
        "name": name,
        "os": "unknown",
        "status": "offline",
        "busy": False,
        "labels": labels_json(ask.body["labels"]),
        "runner_group_id": group,
        "secret": token_digest(secret),
        "connect_by": ask.cloud.now + JIT_LIFE,
        "connected": False,
    }
    ask.cloud.store.insert(records.RUNNER, records.key(where, number), content, now=ask.cloud.now)
    return Made({"runner": shown(content), "encoded_jit_config": _encoded(ask, where, content, secret)})


def _encoded(ask: Ask, where: str, runner: JsonObject, secret: str) -> str:
    """Files by name, each in base64, all of it in base64: the form that the runner unpacks."""
    home = ask.base.removesuffix("/api/v3")
    files = {
        ".runner": {
            "agentId": str(runner["id"]),
            "agentName": runner["name"],
            "ephemeral": "true",
            "gitHubUrl": f"{home}/{where.removeprefix('@')}",
        },
        ".credentials": {"scheme": "OAuth", "data": {"clientId": str(runner["id"]), "secret": secret}},
    }
    packed = {name: base64.b64encode(json.dumps(content).encode()).decode() for name, content in files.items()}
    return base64.b64encode(json.dumps(packed).encode()).decode()
