"""What the local GitHub remembers: the kinds in the store (all below `github.`), their keys, and what is made of them.

A record is kept as the API shows it, but for addresses, which depend on who asks. Names of repositories are found
whatever their case, as on GitHub.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.github.routes import missing
from bench.cloud.store import Resource

REPOSITORY, ISSUE, COMMENT, STATUS = "github.repository", "github.issue", "github.comment", "github.status"
RUNNER, JOB, TOKEN, RATE = "github.runner", "github.job", "github.token", "github.rate"
COLLABORATOR, DISPATCH = "github.collaborator", "github.dispatch"
APP, ORGANIZATION, GROUP = "github.app", "github.organization", "github.group"


def key(where: str, part: str | int = "") -> str:
    """A store name below a repository or an organisation; numbers sort as numbers."""
    return f"{where.lower()}/{part:012d}" if isinstance(part, int) else f"{where.lower()}/{part.lower()}"


def scope(organization: str) -> str:
    """What stands for an organisation where a repository would: no repository's name begins like it."""
    return f"@{organization}"


def place(cloud: Cloud, said: str) -> str:
    """A repository, `owner/name`, or the scope of an organisation, as they were made. Raises 404."""
    if "/" in said:
        return get(cloud, REPOSITORY, key(said)).body["full_name"]
    return scope(get(cloud, ORGANIZATION, said.lower()).body["login"])


def get(cloud: Cloud, kind: str, name: str) -> Resource:
    """Raises 404."""
    found = cloud.store.find(kind, name)
    if found is None:
        raise missing()
    return found


def each(cloud: Cloud, kind: str, where: str) -> Iterator[Resource]:
    """All of a kind in a repository or an organisation, oldest first."""
    return cloud.store.each(kind, key(where))


def save(cloud: Cloud, resource: Resource, **changes: object) -> Resource:
    return cloud.store.replace(resource, resource.body | changes, now=cloud.now)


def next_id(cloud: Cloud) -> int:
    """An id that no other thing of this GitHub has; far from issue numbers, so that no test takes one for the other."""
    return 1_000_000 + cloud.store.next_number("github.id")


def add(cloud: Cloud, kind: str, where: str, content: JsonObject, *, by: str = "id") -> JsonObject:
    """A new record with an id. by: what of it is its name."""
    made = {"id": next_id(cloud), **content}
    return cloud.store.insert(kind, key(where, made[by]), made, now=cloud.now).body


def add_issue(cloud: Cloud, repo: str, author: str, said: JsonObject, **pull: Any) -> JsonObject:
    """Opens an issue with a title, a body and labels, or with `pull` a pull request; both count on from one another."""
    content = {
        "number": cloud.store.next_number(f"github.number/{repo.lower()}"),
        "title": said["title"],
        "body": said.get("body"),
        "state": "open",
        "user": user_json(author),
        "labels": [{"name": name} for name in said.get("labels", ())],
    }
    return add(cloud, ISSUE, repo, {**content, **pull}, by="number")


def add_comment(cloud: Cloud, repo: str, number: int, author: str, body: str) -> JsonObject:
    return add(cloud, COMMENT, repo, {"issue": number, "body": body, "user": user_json(author)})


def user_json(login: str) -> JsonObject:
    return {"login": login, "type": "Bot" if login.endswith("[bot]") else "User"}
