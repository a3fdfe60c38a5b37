"""What a person or a test may put into the local GitHub that its API cannot: `/_tidepool/github/...`.

Owns the shapes of these bodies. The Python client of it is `control`, whose docstrings say what each does.
"""

from __future__ import annotations

from bench.cloud import tokens
from bench.cloud.cloud import Cloud, Order, obeys
from bench.cloud.errors import JsonObject
from bench.cloud.github import records, runners
from bench.cloud.github.apps import token_digest
from bench.cloud.github.hub import REQUESTS_AN_HOUR
from bench.cloud.github.routes import GitHubError


@obeys("POST github/tokens")
def add_token(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    content = {"login": body["login"], "app": body.get("app", False), "permissions": body.get("permissions")}
    cloud.store.put(records.TOKEN, token_digest(body["token"]), content, now=cloud.now)
    return {"login": body["login"]}


@obeys("POST github/repositories")
def add_repository(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    name = records.key(body["repository"])
    if known := cloud.store.find(records.REPOSITORY, name):
        return known.body
    content = {"id": records.next_id(cloud), "full_name": body["repository"], "default_branch": "main"}
    return cloud.store.insert(records.REPOSITORY, name, content, now=cloud.now).body


@obeys("POST github/pulls")
def open_pull(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    repo = records.repository(cloud, body["repository"])["full_name"]
    source = body.get("head_repository") or repo
    pull = {
        "head": {"repository": source, "branch": body["branch"], "sha": body["sha"]},
        "base": {"repository": repo, "branch": body.get("base", "main"), "sha": "0" * 40},
    }
    author, labels = source.partition("/")[0], body.get("labels", [])
    made = records.add_issue(cloud, repo, title="A pull request", body="", author=author, labels=labels, pull=pull)
    return {"number": made.body["number"]}


@obeys("POST github/pushes")
def push(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    found = records.issue(cloud, body["repository"], body["number"])
    pull = found.body["pull"]
    records.save(cloud, found, pull={**pull, "head": {**pull["head"], "sha": body["sha"]}})
    return {}


@obeys("POST github/comments")
def add_comments(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    repo, number = body["repository"], body["number"]
    made = [records.add_comment(cloud, repo, number, body=text, author=body["author"]) for text in body["bodies"]]
    return {"ids": [comment.body["id"] for comment in made]}


@obeys("POST github/organizations")
def add_organization(order: Order) -> JsonObject:
    """An organisation with its default group and those named; one that is there gets more groups."""
    cloud, body = order.cloud, order.body
    login = body["login"]
    where = records.scope(login)
    cloud.store.put(records.ORGANIZATION, login.lower(), {"login": login}, now=cloud.now)
    known = {found.body["name"]: found.body for found in records.each(cloud, records.GROUP, where)}
    for name in ["Default", *body.get("groups", [])]:
        if name not in known:
            number = records.next_id(cloud) if known else runners.DEFAULT_GROUP
            known[name] = {"id": number, "name": name}
            cloud.store.put(records.GROUP, records.key(where, number), known[name], now=cloud.now)
    return {"login": login, "groups": {name: group["id"] for name, group in known.items()}}


@obeys("POST github/apps")
def add_app(order: Order) -> JsonObject:
    """A new key for the app of that name, which is made where it is not there."""
    cloud, body = order.cloud, order.body
    private = tokens.new_key()
    same = [found for found in cloud.store.each(records.APP) if found.body["slug"] == body["slug"]]
    content = same[0].body if same else {"id": records.next_id(cloud), "slug": body["slug"], "keys": []}
    content.setdefault("installation", records.next_id(cloud))
    content |= {
        "account": body["account"],
        "permissions": body["permissions"],
        "keys": [*content["keys"], tokens.public_pem(private)],
    }
    cloud.store.put(records.APP, str(content["id"]), content, now=cloud.now)
    return {"id": content["id"], "installation": content["installation"], "key": private}


@obeys("POST github/app-keys")
def forget_app_keys(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    found = cloud.store.get(records.APP, str(body["id"]))
    records.save(cloud, found, keys=found.body["keys"][-1:])
    return {}


@obeys("POST github/runners")
def add_runner(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    where = _where(cloud, body["repository"])
    number = records.next_id(cloud)
    content = {
        "id": number,
        "name": body["name"],
        "os": "linux",
        "status": body.get("status", "online"),
        "busy": body.get("busy", False),
        "labels": runners.labels_json(body.get("labels", ["self-hosted"])),
    }
    cloud.store.put(records.RUNNER, records.key(where, number), content, now=cloud.now)
    return content


@obeys("POST github/lost-runners")
def lose_runner(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    for found in list(records.each(cloud, records.RUNNER, _where(cloud, body["repository"]))):
        if found.body["name"] == body["name"]:
            cloud.store.delete(records.RUNNER, found.name)
            return {}
    raise GitHubError(404, f"{body['repository']} has no runner {body['name']!r}")


def _where(cloud: Cloud, place: str) -> str:
    """A repository, or an organisation as it stands where one would."""
    if "/" in place:
        return records.repository(cloud, place)["full_name"]
    return records.scope(cloud.store.get(records.ORGANIZATION, place.lower()).body["login"])


@obeys("POST github/rates")
def leave_requests(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    content = {"used": REQUESTS_AN_HOUR - body["remaining"], "reset": cloud.now + body["reset_in"]}
    account = f"installation/{body['installation']}" if "installation" in body else token_digest(body["token"])
    cloud.store.put(records.RATE, account, content, now=cloud.now)
    return content


@obeys("POST github/collaborators")
def add_collaborator(order: Order) -> JsonObject:
    cloud, body = order.cloud, order.body
    content = {"permission": body["permission"]}
    cloud.store.put(records.COLLABORATOR, records.key(body["repository"], body["login"]), content, now=cloud.now)
    return content


@obeys("POST github/dispatches")
def list_dispatches(order: Order) -> JsonObject:
    found = records.each(order.cloud, records.DISPATCH, order.body["repository"])
    return {"dispatches": [each.body for each in found]}
