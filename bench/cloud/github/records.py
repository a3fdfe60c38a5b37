"""What the local GitHub remembers, and how its API shows it.

Owns the kinds in the store (all below `github.`), their keys and the JSON of issues, comments, labels, users and pull
requests. Names of repositories and labels are found whatever their case, as on GitHub.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.github.routes import Ask, missing
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


def named(ask: Ask, kind: str) -> Resource:
    """What the path's `id` names in its repository. Raises 404."""
    found = ask.cloud.store.find(kind, key(ask.repo, ask.number("id")))
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
    return {"login": login, "type": "Bot" if login.endswith("[bot]") else "User"}


def comment_json(base: str, repo: str, comment: Resource) -> JsonObject:
    body = comment.body
    return {
        "id": body["id"],
        "url": f"{base}/repos/{repo}/issues/comments/{body['id']}",
        "body": body["body"],
        "user": user_json(body["author"]),
    }


def issue_json(cloud: Cloud, base: str, repo: str, found: Resource) -> JsonObject:
    """A pull request is shown as an issue too."""
    body = found.body
    shown = {
        **{name: body[name] for name in ("id", "number", "title", "body", "state")},
        "user": user_json(body["author"]),
        "url": f"{base}/repos/{repo}/issues/{body['number']}",
        "labels": labels_json(cloud, repo, found),
        "comments": len(comments(cloud, repo, body["number"])),
    }
    if body["pull"]:
        shown["pull_request"] = {"url": f"{base}/repos/{repo}/pulls/{body['number']}"}
    return shown


def labels_json(cloud: Cloud, repo: str, found: Resource) -> list[JsonObject]:
    return [ensure_label(cloud, repo, name) for name in found.body["labels"]]


def pull_json(cloud: Cloud, base: str, repo: str, found: Resource) -> JsonObject:
    """Each end with its commit; a fork that was deleted shows as no repository."""
    shown = issue_json(cloud, base, repo, found)
    shown |= {"issue_url": shown["url"], "url": shown["pull_request"]["url"]}
    for name in ("head", "base"):
        end = found.body["pull"][name]
        known = cloud.store.find(REPOSITORY, key(end["repository"]))
        shown[name] = {
            "ref": end["branch"],
            "sha": end["sha"],
            "repo": repository_json(base, known.body) if known else None,
        }
    return shown


def repository_json(base: str, content: JsonObject) -> JsonObject:
    name = content["full_name"].partition("/")[2]
    return {**content, "name": name, "url": f"{base}/repos/{content['full_name']}"}
