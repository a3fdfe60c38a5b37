"""Repositories, pull requests and who asks."""

from __future__ import annotations

from infra.local.cloud.github import records
from infra.local.cloud.github.routes import Answer, Ask, GitHubError, Listing, missing, serves
from infra.local.cloud.store import Resource

_REPO = "/repos/{owner}/{name}"


@serves("GET", "/user")
def get_user(ask: Ask) -> Answer:
    """A token of a workflow run belongs to an app, which is no user and is refused."""
    if ask.user.app:
        raise GitHubError(403, "Resource not accessible by integration")
    return records.user_json(ask.user.login)


@serves("GET", _REPO)
def get_repository(ask: Ask) -> Answer:
    return records.repository_json(ask.base, records.repository(ask.cloud, ask.repo))


@serves("GET", _REPO + "/collaborators/{login}/permission")
def get_permission(ask: Ask) -> Answer:
    """What somebody may do here; anybody may read a public repository."""
    found = ask.cloud.store.find(records.COLLABORATOR, records.key(ask.repo, ask.ids["login"]))
    permission = found.body["permission"] if found else "read"
    return {"permission": permission, "role_name": permission, "user": records.user_json(ask.ids["login"])}


@serves("GET", _REPO + "/pulls")
def list_pulls(ask: Ask) -> Answer:
    state, head, base = ask.query.get("state", "open"), ask.query.get("head"), ask.query.get("base")
    shown = []
    for found in _pulls(ask):
        ends = found.body["pull"]
        label = f"{ends['head']['repository'].partition('/')[0]}:{ends['head']['branch']}"
        if state in ("all", found.body["state"]) and head in (None, label) and base in (None, ends["base"]["branch"]):
            shown.append(records.pull_json(ask.cloud, ask.base, ask.repo, found))
    return Listing(shown[::-1])


@serves("GET", _REPO + "/pulls/{number}")
def get_pull(ask: Ask) -> Answer:
    found = records.issue(ask.cloud, ask.repo, ask.number("number"))
    if not found.body["pull"]:
        raise missing()
    return records.pull_json(ask.cloud, ask.base, ask.repo, found)


@serves("GET", _REPO + "/commits/{sha}/pulls")
def list_pulls_of_commit(ask: Ask) -> Answer:
    """Empty for the pull request of a fork: its commits are not in this repository's tree.

    Seen by many who relied on it: https://github.com/learningequality/kolibri/pull/14719 (2026-05-15).
    """
    own = [
        found
        for found in _pulls(ask)
        if found.body["pull"]["head"]["sha"] == ask.ids["sha"]
        and found.body["pull"]["head"]["repository"].lower() == ask.repo.lower()
    ]
    return Listing([records.pull_json(ask.cloud, ask.base, ask.repo, found) for found in own])


def _pulls(ask: Ask) -> list[Resource]:
    return [found for found in records.each(ask.cloud, records.ISSUE, ask.repo) if found.body["pull"]]
