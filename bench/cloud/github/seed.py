"""Commands: what a person or a test may put into the local GitHub that its API cannot.

Repositories are `owner/name`.
"""

from __future__ import annotations

from bench.cloud import tokens
from bench.cloud.cloud import Cloud, obeys
from bench.cloud.errors import JsonObject
from bench.cloud.github import records, runners
from bench.cloud.github.apps import token_digest
from bench.cloud.github.hub import REQUESTS_AN_HOUR
from bench.cloud.github.routes import GitHubError


@obeys
def add_token(
    cloud: Cloud, token: str, login: str, *, app: bool = False, permissions: dict[str, str] | None = None
) -> None:
    """Accept a token as this login's. app: as a workflow run's own, which may not ask who it is.

    permissions: GitHub's names to `read` or `write`; all where left out.
    """
    content = {"login": login, "app": app, "permissions": permissions}
    cloud.store.put(records.TOKEN, token_digest(token), content, now=cloud.now)


@obeys
def add_repository(cloud: Cloud, repository: str) -> None:
    """One that is there stays as it is."""
    name = records.key(repository)
    if not cloud.store.find(records.REPOSITORY, name):
        content = {"id": records.next_id(cloud), "full_name": repository, "default_branch": "main"}
        cloud.store.insert(records.REPOSITORY, name, content, now=cloud.now)


@obeys
def open_pull(
    cloud: Cloud,
    repository: str,
    *,
    branch: str,
    sha: str,
    head_repository: str | None = None,
    base: str = "main",
    labels: list[str] | None = None,
) -> int:
    """Open a pull request from a branch, of a fork where one is named; the answer is its number."""
    repo = records.place(cloud, repository)
    source = head_repository or repo
    head = {"ref": branch, "sha": sha, "repo": {"full_name": source}}
    into = {"ref": base, "sha": "0" * 40, "repo": {"full_name": repo}}
    said = {"title": "A pull request", "labels": labels or []}
    made = records.add_issue(cloud, repo, source.partition("/")[0], said, pull_request={}, head=head, base=into)
    return made["number"]


@obeys
def push_to_pull(cloud: Cloud, repository: str, number: int, sha: str) -> None:
    """Give a pull request another head commit."""
    found = records.get(cloud, records.ISSUE, records.key(repository, number))
    records.save(cloud, found, head={**found.body["head"], "sha": sha})


@obeys
def add_comments(cloud: Cloud, repository: str, number: int, author: str, bodies: list[str]) -> list[int]:
    """Comments by anybody on an issue or a pull request; the answer is their ids."""
    return [records.add_comment(cloud, repository, number, author, text)["id"] for text in bodies]


@obeys
def add_organization(cloud: Cloud, login: str, *, groups: list[str] | None = None) -> dict[str, int]:
    """An organisation with runner groups beside its own `Default`; the answer is their ids by name.

    One that is there gets more groups.
    """
    where = records.scope(login)
    cloud.store.put(records.ORGANIZATION, login.lower(), {"login": login}, now=cloud.now)
    known = {found.body["name"]: found.body["id"] for found in records.each(cloud, records.GROUP, where)}
    for name in ["Default", *(groups or [])]:
        if name not in known:
            default = {} if known else {"id": runners.DEFAULT_GROUP}
            known[name] = records.add(cloud, records.GROUP, where, {"name": name, **default})["id"]
    return known


@obeys
def add_app(cloud: Cloud, slug: str, *, account: str, permissions: dict[str, str]) -> JsonObject:
    """An app installed on an account: id, installation and key (private, PEM), which GitHub tells once.

    A second call gives the same app another key, and the first goes on until `forget_app_keys`.
    """
    private = tokens.new_key()
    same = [found for found in cloud.store.each(records.APP) if found.body["slug"] == slug]
    content = same[0].body if same else {"id": records.next_id(cloud), "slug": slug, "keys": []}
    content.setdefault("installation", records.next_id(cloud))
    keys = [*content["keys"], tokens.public_pem(private)]
    content |= {"account": account, "permissions": permissions, "keys": keys}
    cloud.store.put(records.APP, str(content["id"]), content, now=cloud.now)
    return {"id": content["id"], "installation": content["installation"], "key": private}


@obeys
def forget_app_keys(cloud: Cloud, app: int) -> None:
    """An app's newest key alone is good."""
    found = cloud.store.get(records.APP, str(app))
    records.save(cloud, found, keys=found.body["keys"][-1:])


@obeys
def add_runner(
    cloud: Cloud,
    repository: str,
    name: str,
    *,
    status: str = "online",
    busy: bool = False,
    labels: list[str] | None = None,
) -> JsonObject:
    """A runner of a repository, or of an organisation. status: `online` or `offline`."""
    made = runners.runner_json(name, labels or ["self-hosted"], status=status, busy=busy)
    return records.add(cloud, records.RUNNER, records.place(cloud, repository), made)


@obeys
def lose_runner(cloud: Cloud, repository: str, name: str) -> None:
    """The registration of that name is gone, and its VM knows nothing of it."""
    for found in list(records.each(cloud, records.RUNNER, records.place(cloud, repository))):
        if found.body["name"] == name:
            cloud.store.delete(records.RUNNER, found.name)
            return
    raise GitHubError(404, f"{repository} has no runner {name!r}")


@obeys
def leave(cloud: Cloud, account: str, remaining: int, *, reset_in: float = 3600.0) -> None:
    """Leave a token this many requests until, in so many seconds of cloud time, the hour is over.

    account: the token, or `installation/NUMBER` of all tokens of one, which GitHub counts together.
    """
    counted = account if account.startswith("installation/") else token_digest(account)
    content = {"used": REQUESTS_AN_HOUR - remaining, "reset": cloud.now + reset_in}
    cloud.store.put(records.RATE, counted, content, now=cloud.now)


@obeys
def add_collaborator(cloud: Cloud, repository: str, login: str, permission: str) -> None:
    """permission: admin, write, read or none, as GitHub says it of anybody."""
    name = records.key(repository, login)
    cloud.store.put(records.COLLABORATOR, name, {"permission": permission}, now=cloud.now)


@obeys
def dispatched(cloud: Cloud, repository: str) -> list[JsonObject]:
    """Workflows that were started, the oldest first: workflow, ref, inputs."""
    return [each.body for each in records.each(cloud, records.DISPATCH, repository)]
