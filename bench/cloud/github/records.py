"""What the local GitHub remembers, and how its API shows it.

Owns the kinds in the store (all below `github.`), their keys and the JSON of issues, comments, labels, users and pull
requests. Names of repositories and labels are found whatever their case, as on GitHub.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.cloud.clock import whole_seconds
from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.github.routes import missing
from bench.cloud.store import Resource

REPOSITORY, ISSUE, COMMENT, LABEL = "github.repository", "github.issue", "github.comment", "github.label"
RUN, RUNNER, TOKEN, RATE = "github.run", "github.runner", "github.token", "github.rate"
COLLABORATOR, DISPATCH, STATUS = "github.collaborator", "github.dispatch", "github.status"
APP, ORGANIZATION, GROUP, JOB = "github.app", "github.organization", "github.group", "github.job"
NO_COLOR = "ededed"


def key(repo: str, part: str | int = "") -> str:
    """A store name below a repository; numbers sort as numbers."""
    return f"{repo.lower()}/{part:012d}" if isinstance(part, int) else f"{repo.lower()}/{part.lower()}"


def scope(organization: str) -> str:
    """What stands for an organisation where a repository would: no repository's name begins like it."""
    return f"@{organization}"


def next_id(cloud: Cloud) -> int:
    """An id that no other thing of this GitHub has; far from issue numbers, so that no test takes one for the other."""
    return 1_000_000 + cloud.store.next_number("github.id")


def repository(cloud: Cloud, repo: str) -> JsonObject:
    """Raises 404."""
    found = cloud.store.find(REPOSITORY, key(repo))
    if found is None:
        raise missing()
    return found.body


def issue(cloud: Cloud, repo: str, number: int) -> Resource:
    """An issue or a pull request. Raises 404."""
    found = cloud.store.find(ISSUE, key(repo, number))
    if found is None:
        raise missing()
    return found


def each(cloud: Cloud, kind: str, repo: str) -> Iterator[Resource]:
    """All of a kind in a repository, oldest first (labels by name)."""
    return cloud.store.each(kind, key(repo))


def save(cloud: Cloud, resource: Resource, **changes: object) -> Resource:
    return cloud.store.replace(resource, resource.body | changes, now=cloud.now)


def add_issue(
    cloud: Cloud, repo: str, *, title: str, body: str, author: str, labels: list[str], pull: JsonObject | None = None
) -> Resource:
    """Opens an issue, or with `pull` a pull request; both count on from one another."""
    number = cloud.store.next_number(f"github.number/{repo.lower()}")
    for name in labels:
        ensure_label(cloud, repo, name)
    content = {
        "id": next_id(cloud),
        "number": number,
        "title": title,
        "body": body,
        "state": "open",
        "author": author,
        "labels": labels,
        "pull": pull,
    }
    return cloud.store.insert(ISSUE, key(repo, number), content, now=cloud.now)


def add_comment(cloud: Cloud, repo: str, number: int, *, body: str, author: str) -> Resource:
    content = {"id": next_id(cloud), "issue": number, "body": body, "author": author}
    return cloud.store.insert(COMMENT, key(repo, content["id"]), content, now=cloud.now)


def comments(cloud: Cloud, repo: str, number: int) -> list[Resource]:
    return [found for found in each(cloud, COMMENT, repo) if found.body["issue"] == number]


def ensure_label(cloud: Cloud, repo: str, name: str) -> JsonObject:
    """The label of this name; GitHub makes one that is missing when an issue is given it."""
    found = cloud.store.find(LABEL, key(repo, name))
    if found is not None:
        return found.body
    content = {"id": next_id(cloud), "name": name, "color": NO_COLOR, "description": None}
    return cloud.store.insert(LABEL, key(repo, name), content, now=cloud.now).body


# As the API shows them


def user_json(login: str) -> JsonObject:
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {"login": login, "id": sum(login.encode()) + 1000, "type": kind, "site_admin": False}


def label_json(base: str, repo: str, label: JsonObject) -> JsonObject:
    return {**label, "url": f"{base}/repos/{repo}/labels/{label['name']}", "default": False}


def comment_json(base: str, repo: str, comment: Resource) -> JsonObject:
    return {
        "id": comment.body["id"],
        "url": f"{base}/repos/{repo}/issues/comments/{comment.body['id']}",
        "issue_url": f"{base}/repos/{repo}/issues/{comment.body['issue']}",
        "body": comment.body["body"],
        "user": user_json(comment.body["author"]),
        "created_at": whole_seconds(comment.created),
        "updated_at": whole_seconds(comment.updated),
    }


def issue_json(cloud: Cloud, base: str, repo: str, found: Resource) -> JsonObject:
    body = found.body
    shown = {
        **_common(base, repo, found),
        "url": f"{base}/repos/{repo}/issues/{body['number']}",
        "labels": [label_json(base, repo, ensure_label(cloud, repo, name)) for name in body["labels"]],
        "comments": len(comments(cloud, repo, body["number"])),
        "closed_at": None if body["state"] == "open" else whole_seconds(found.updated),
    }
    if body["pull"]:
        shown["pull_request"] = {"url": f"{base}/repos/{repo}/pulls/{body['number']}"}
    return shown


def pull_json(cloud: Cloud, base: str, repo: str, found: Resource) -> JsonObject:
    body, pull = found.body, found.body["pull"]
    return {
        **_common(base, repo, found),
        "url": f"{base}/repos/{repo}/pulls/{body['number']}",
        "issue_url": f"{base}/repos/{repo}/issues/{body['number']}",
        "labels": [label_json(base, repo, ensure_label(cloud, repo, name)) for name in body["labels"]],
        "head": _end_json(cloud, base, pull["head"]),
        "base": _end_json(cloud, base, pull["base"]),
        "merged": pull["merged"],
        "draft": False,
    }


def repository_json(base: str, content: JsonObject) -> JsonObject:
    owner, _, name = content["full_name"].partition("/")
    return {
        "id": content["id"],
        "name": name,
        "full_name": content["full_name"],
        "owner": user_json(owner),
        "private": content["private"],
        "fork": content["fork"],
        "default_branch": content["default_branch"],
        "url": f"{base}/repos/{content['full_name']}",
    }


def _common(base: str, repo: str, found: Resource) -> JsonObject:
    body = found.body
    return {
        "id": body["id"],
        "number": body["number"],
        "title": body["title"],
        "body": body["body"],
        "state": body["state"],
        "user": user_json(body["author"]),
        "created_at": whole_seconds(found.created),
        "updated_at": whole_seconds(found.updated),
        "html_url": f"{base.removesuffix('/api/v3')}/{repo}/issues/{body['number']}",
    }


def _end_json(cloud: Cloud, base: str, end: JsonObject) -> JsonObject:
    """One end of a pull request; a fork that was deleted shows as no repository."""
    owner = end["repository"].partition("/")[0]
    known = cloud.store.find(REPOSITORY, key(end["repository"]))
    return {
        "label": f"{owner}:{end['branch']}",
        "ref": end["branch"],
        "sha": end["sha"],
        "user": user_json(owner),
        "repo": repository_json(base, known.body) if known else None,
    }
