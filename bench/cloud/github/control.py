"""A client of what only the local GitHub can be told: repositories, pull requests, tokens, runs, rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.cloud.control import Control, JsonObject


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

    def add_repository(self, repository: str) -> None:
        """One that is there stays as it is."""
        self._ask("POST", "github/repositories", {"repository": repository})

    def open_pull(
        self, repository: str, *, branch: str, sha: str, head_repository: str | None = None, **more: Any
    ) -> int:
        """Open a pull request from a branch, of a fork where one is named; the answer is its number.

        more: labels, base (a branch).
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

    def add_organization(self, login: str, *, groups: Sequence[str] = ()) -> dict[str, int]:
        """An organisation with runner groups beside its own `Default`; the answer is their ids by name."""
        return self._ask("POST", "github/organizations", {"login": login, "groups": list(groups)})["groups"]

    def add_app(self, slug: str, *, account: str, permissions: Mapping[str, str]) -> JsonObject:
        """An app installed on an account: id, installation and key (private, PEM), which GitHub tells once.

        A second call gives the same app another key, and the first goes on until `forget_app_keys`.
        """
        return self._ask("POST", "github/apps", {"slug": slug, "account": account, "permissions": dict(permissions)})

    def forget_app_keys(self, app: int) -> None:
        """An app's newest key alone is good."""
        self._ask("POST", "github/app-keys", {"id": app})

    def add_runner(self, repository: str, name: str, **more: Any) -> JsonObject:
        """A runner of a repository, or of an organisation. more: status (`online`, `offline`), busy, labels."""
        return self._ask("POST", "github/runners", {"repository": repository, "name": name, **more})

    def lose_runner(self, repository: str, name: str) -> None:
        """The registration of that name is gone, and its VM knows nothing of it."""
        self._ask("POST", "github/lost-runners", {"repository": repository, "name": name})

    # What a runner's program says: jit is the configuration as generate-jitconfig gave it

    def connect(self, jit: str) -> JsonObject:
        """Come online; the answer is the runner."""
        return self._ask("POST", "github/work/connect", {"jit": jit})

    def disconnect(self, jit: str) -> JsonObject:
        """Go offline, as when the VM is taken away."""
        return self._ask("POST", "github/work/disconnect", {"jit": jit})

    def take_work(self, jit: str) -> JsonObject:
        """job: the oldest that waits for this runner's labels, begun now, or None. seconds: to its end, where that
        was said."""
        return self._ask("POST", "github/work/take", {"jit": jit})

    def end_job(self, jit: str, conclusion: str = "success") -> JsonObject:
        """End the job, and with it the runner, which served for one."""
        return self._ask("POST", "github/work/end", {"jit": jit, "conclusion": conclusion})["job"]

    def queue_job(self, repository: str, labels: Sequence[str], **more: Any) -> JsonObject:
        """A run with one job that waits for a runner with these labels.

        more: name, event, head_sha, head_branch; seconds: how long it takes, for the guests of VMs.
        """
        return self._ask("POST", "github/jobs", {"repository": repository, "labels": list(labels), **more})

    def jobs(self) -> list[JsonObject]:
        """Every job there was, the oldest first, as GitHub shows it with its `repository`."""
        return self._ask("POST", "github/jobs/list", {})["jobs"]

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

    def leave_installation(self, installation: int, remaining: int, *, reset_in: float = 3600.0) -> None:
        """As `leave`, for all tokens of an installation together, which is how GitHub counts them."""
        self._ask("POST", "github/rates", {"installation": installation, "remaining": remaining, "reset_in": reset_in})
