"""A client of what only the local GitHub can be told: repositories, pull requests, tokens, runs, rates."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from infra.local.cloud.control import Control, JsonObject


class GitHubControl(Control):
    """The control surface, with the calls of the local GitHub. Repositories are `owner/name`."""

    @property
    def api(self) -> str:
        """What a client takes as the base URL of a GitHub Enterprise server."""
        return f"{self.url}/github/api/v3"

    def add_token(
        self, token: str, login: str, *, app: bool = False, permissions: Mapping[str, str] | None = None
    ) -> None:
        """Accept a token as this login's. app: as a workflow run's own, which may not ask who it is.

        permissions: GitHub's names to `read` or `write`; all where left out.
        """
        held = {"permissions": dict(permissions)} if permissions is not None else {}
        self._ask("POST", "github/tokens", {"token": token, "login": login, "app": app, **held})

    def add_repository(self, repository: str, *, fork: bool = False, default_branch: str = "main") -> None:
        self._ask(
            "POST", "github/repositories", {"repository": repository, "fork": fork, "default_branch": default_branch}
        )

    def open_pull(
        self, repository: str, *, branch: str, sha: str, head_repository: str | None = None, **more: Any
    ) -> int:
        """Open a pull request from a branch, of a fork where one is named; the answer is its number.

        more: title, author, labels, base, base_sha.
        """
        body = {"repository": repository, "branch": branch, "sha": sha, "head_repository": head_repository, **more}
        return self._ask("POST", "github/pulls", body)["number"]

    def push(self, repository: str, number: int, sha: str) -> None:
        """Give a pull request another head commit."""
        self._ask("POST", "github/pushes", {"repository": repository, "number": number, "sha": sha})

    def add_comments(self, repository: str, number: int, author: str, bodies: Sequence[str]) -> list[int]:
        """Comments by anybody on an issue or a pull request; the answer is their ids."""
        body = {"repository": repository, "number": number, "author": author, "bodies": list(bodies)}
        return self._ask("POST", "github/comments", body)["ids"]

    def add_labels(self, repository: str, names: Sequence[str]) -> None:
        self._ask("POST", "github/labels", {"repository": repository, "names": list(names)})

    def add_run(
        self,
        repository: str,
        *,
        head_sha: str,
        artifacts: Mapping[str, Mapping[str, bytes]] | None = None,
        **more: Any,
    ) -> JsonObject:
        """A workflow run that has ended, with artifacts by name, each of files by name; the answer has ids.

        more: name, event, conclusion, head_branch.
        """
        packed = {
            name: {file: base64.b64encode(content).decode() for file, content in files.items()}
            for name, files in (artifacts or {}).items()
        }
        body = {"repository": repository, "head_sha": head_sha, "artifacts": packed, **more}
        return self._ask("POST", "github/runs", body)

    def add_runner(self, repository: str, name: str, **more: Any) -> JsonObject:
        """A self-hosted runner. more: status (`online`, `offline`), busy, labels."""
        return self._ask("POST", "github/runners", {"repository": repository, "name": name, **more})

    def add_collaborator(self, repository: str, login: str, permission: str) -> None:
        """permission: admin, write, read or none, as GitHub says it of anybody."""
        body = {"repository": repository, "login": login, "permission": permission}
        self._ask("POST", "github/collaborators", body)

    def dispatched(self, repository: str) -> list[JsonObject]:
        """Workflows that were started, the oldest first: workflow, ref, inputs."""
        return self._ask("POST", "github/dispatches", {"repository": repository})["dispatches"]

    def leave(self, token: str, remaining: int, *, reset_in: float = 3600.0) -> None:
        """Leave a token this many requests until, in so many seconds of cloud time, the hour is over."""
        self._ask("POST", "github/rates", {"token": token, "remaining": remaining, "reset_in": reset_in})
