"""What a person or a test may put into the local GitHub that its API cannot: `/_tidepool/github/...`.

Owns the shapes of these bodies. The Python client of it is `control`, whose docstrings say what each does.
"""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Callable
from typing import Any

from infra.local.cloud import media, tokens
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import ApiError, invalid
from infra.local.cloud.github import records, runners, work
from infra.local.cloud.github.credentials import token_digest
from infra.local.cloud.github.hub import HOUR, REQUESTS_AN_HOUR
from infra.local.cloud.github.routes import GitHubError
from infra.local.cloud.registry import JsonObject
from infra.local.cloud.wire import Reply, Request, refused, sent

CONTROL = "/_tidepool/github/"


class Seeds:
    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._commands: dict[str, Callable[[JsonObject], JsonObject]] = {
            "tokens": self._token,
            "repositories": self._repository,
            "pulls": self._pull,
            "pushes": self._push,
            "comments": self._comments,
            "labels": self._labels,
            "runs": self._run,
            "organizations": self._organization,
            "apps": self._app,
            "app-keys": self._forget_keys,
            "runners": self._runner,
            "lost-runners": self._lose_runner,
            "jobs": lambda body: work.queue(cloud, body),
            "jobs/list": lambda _: work.jobs(cloud),
            "work/connect": lambda body: work.connect(cloud, body),
            "work/disconnect": lambda body: work.disconnect(cloud, body),
            "work/take": lambda body: work.take(cloud, body),
            "work/end": lambda body: work.end(cloud, body),
            "rates": self._rate,
            "collaborators": self._collaborator,
            "dispatches": self._dispatches,
        }

    def reply(self, request: Request) -> Reply:
        try:
            return self._obeyed(request)
        except ApiError as refusal:
            return refused(refusal, "_tidepool")
        except GitHubError as refusal:
            return refused(ApiError(refusal.code, refusal.message), "_tidepool")
        except KeyError as absent:
            return refused(invalid(f"The body needs {absent}."), "_tidepool")

    def _obeyed(self, request: Request) -> Reply:
        command = self._commands.get(request.path.removeprefix(CONTROL))
        if request.verb != "POST" or command is None:
            raise ApiError(404, f"The control surface has no {request.verb} {request.path}.")
        body = media.parsed_json(request.data)
        if not isinstance(body, dict):
            raise invalid("The body is a JSON object.")
        with self._cloud.request():
            return sent(command(body))

    def _token(self, body: JsonObject) -> JsonObject:
        content = {"login": body["login"], "app": body.get("app", False), "permissions": body.get("permissions")}
        self._put(records.TOKEN, token_digest(body["token"]), content)
        return {"login": body["login"]}

    def _repository(self, body: JsonObject) -> JsonObject:
        known = self._cloud.store.find(records.REPOSITORY, records.key(body["repository"]))
        if known and body.get("keep"):
            return known.body
        content = {
            "id": known.body["id"] if known else records.next_id(self._cloud),
            "full_name": body["repository"],
            "private": body.get("private", False),
            "fork": body.get("fork", False),
            "default_branch": body.get("default_branch", "main"),
        }
        self._put(records.REPOSITORY, records.key(body["repository"]), content)
        return content

    def _pull(self, body: JsonObject) -> JsonObject:
        repo = records.repository(self._cloud, body["repository"])
        pull = {
            "head": {
                "repository": body.get("head_repository") or repo["full_name"],
                "branch": body["branch"],
                "sha": body["sha"],
            },
            "base": {
                "repository": repo["full_name"],
                "branch": body.get("base", repo["default_branch"]),
                "sha": body.get("base_sha", "0" * 40),
            },
            "merged": False,
        }
        made = records.add_issue(
            self._cloud,
            repo["full_name"],
            title=body.get("title", "A pull request"),
            body="",
            author=body.get("author", pull["head"]["repository"].partition("/")[0]),
            labels=body.get("labels", []),
            pull=pull,
        )
        return {"number": made.body["number"]}

    def _push(self, body: JsonObject) -> JsonObject:
        found = records.issue(self._cloud, body["repository"], body["number"])
        pull = found.body["pull"]
        records.save(self._cloud, found, pull={**pull, "head": {**pull["head"], "sha": body["sha"]}})
        return {}

    def _comments(self, body: JsonObject) -> JsonObject:
        repo = records.repository(self._cloud, body["repository"])["full_name"]
        number = records.issue(self._cloud, repo, body["number"]).body["number"]
        made = [
            records.add_comment(self._cloud, repo, number, body=text, author=body["author"]) for text in body["bodies"]
        ]
        return {"ids": [comment.body["id"] for comment in made]}

    def _labels(self, body: JsonObject) -> JsonObject:
        repo = records.repository(self._cloud, body["repository"])["full_name"]
        return {"labels": [records.ensure_label(self._cloud, repo, name) for name in body["names"]]}

    def _run(self, body: JsonObject) -> JsonObject:
        repo = records.repository(self._cloud, body["repository"])["full_name"]
        number = records.next_id(self._cloud)
        content = {
            "id": number,
            "name": body.get("name", "Preview"),
            "event": body.get("event", "pull_request"),
            "status": "completed",
            "conclusion": body.get("conclusion", "success"),
            "head_sha": body["head_sha"],
            "head_branch": body.get("head_branch", "edit"),
        }
        self._put(records.RUN, records.key(repo, number), content)
        artifacts = [self._artifact(repo, number, *item) for item in body.get("artifacts", {}).items()]
        return {"id": number, "artifacts": artifacts}

    def _artifact(self, repo: str, run: int, name: str, files: dict[str, str]) -> int:
        number = records.next_id(self._cloud)
        data = _zipped(files)
        content = {"id": number, "run": run, "name": name, "size": len(data)}
        self._put(records.ARTIFACT, records.key(repo, number), content, data)
        return number

    def _organization(self, body: JsonObject) -> JsonObject:
        """An organisation with its default group and those named; one that is there gets more groups."""
        login = body["login"]
        where = records.scope(login)
        self._put(records.ORGANIZATION, login.lower(), {"login": login})
        known = {found.body["name"]: found.body for found in records.each(self._cloud, records.GROUP, where)}
        for name in ["Default", *body.get("groups", [])]:
            if name not in known:
                number = records.next_id(self._cloud) if known else runners.DEFAULT_GROUP
                known[name] = {"id": number, "name": name, "visibility": "all", "default": not known}
                self._put(records.GROUP, records.key(where, number), known[name])
        return {"login": login, "groups": {name: group["id"] for name, group in known.items()}}

    def _app(self, body: JsonObject) -> JsonObject:
        """A new key for the app of that name, which is made where it is not there."""
        private = tokens.new_key()
        same = [found for found in self._cloud.store.each(records.APP) if found.body["slug"] == body["slug"]]
        content = same[0].body if same else {"id": records.next_id(self._cloud), "slug": body["slug"], "keys": []}
        content.setdefault("installation", records.next_id(self._cloud))
        repositories = body.get("repositories")
        content |= {
            "account": body["account"],
            "permissions": body["permissions"],
            "repositories": repositories and [name.lower() for name in repositories],
            "keys": [*content["keys"], tokens.public_pem(private)],
        }
        self._put(records.APP, str(content["id"]), content)
        return {"id": content["id"], "installation": content["installation"], "key": private}

    def _forget_keys(self, body: JsonObject) -> JsonObject:
        found = self._cloud.store.get(records.APP, str(body["id"]))
        records.save(self._cloud, found, keys=found.body["keys"][-1:])
        return {}

    def _runner(self, body: JsonObject) -> JsonObject:
        where = self._where(body["repository"])
        number = records.next_id(self._cloud)
        content = {
            "id": number,
            "name": body["name"],
            "os": "linux",
            "status": body.get("status", "online"),
            "busy": body.get("busy", False),
            "labels": runners.labels_json(body.get("labels", ["self-hosted"])),
        }
        self._put(records.RUNNER, records.key(where, number), content)
        return content

    def _lose_runner(self, body: JsonObject) -> JsonObject:
        for found in list(records.each(self._cloud, records.RUNNER, self._where(body["repository"]))):
            if found.body["name"] == body["name"]:
                self._cloud.store.delete(records.RUNNER, found.name)
                return {}
        raise GitHubError(404, f"{body['repository']} has no runner {body['name']!r}")

    def _where(self, place: str) -> str:
        """A repository, or an organisation as it stands where one would."""
        if "/" in place:
            return records.repository(self._cloud, place)["full_name"]
        return records.scope(self._cloud.store.get(records.ORGANIZATION, place.lower()).body["login"])

    def _rate(self, body: JsonObject) -> JsonObject:
        now = self._cloud.now
        used = REQUESTS_AN_HOUR - int(body["remaining"])
        content = {"used": used, "reset": now + float(body.get("reset_in", HOUR))}
        account = f"installation/{body['installation']}" if "installation" in body else token_digest(body["token"])
        self._put(records.RATE, account, content)
        return content

    def _collaborator(self, body: JsonObject) -> JsonObject:
        repo = records.repository(self._cloud, body["repository"])["full_name"]
        content = {"login": body["login"], "permission": body["permission"]}
        self._put(records.COLLABORATOR, records.key(repo, body["login"]), content)
        return content

    def _dispatches(self, body: JsonObject) -> JsonObject:
        repo = records.repository(self._cloud, body["repository"])["full_name"]
        return {"dispatches": [found.body for found in records.each(self._cloud, records.DISPATCH, repo)]}

    def _put(self, kind: str, name: str, content: JsonObject, data: bytes | None = None) -> Any:
        found = self._cloud.store.find(kind, name)
        if found:
            return self._cloud.store.replace(found, content, now=self._cloud.now, data=data)
        return self._cloud.store.insert(kind, name, content, now=self._cloud.now, data=data)


def _zipped(files: dict[str, str]) -> bytes:
    """An archive of files given as base64; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), base64.b64decode(content))
    return buffer.getvalue()
