"""The GitHub App: from its key to a short-lived token of least permissions, and from that to runners.

Owns which permissions are asked for, how long tokens are kept, and how a key that was rotated is noticed. The key stays
in this process and goes nowhere. https://docs.github.com/rest/apps/apps and .../actions/self-hosted-runners, read
2026-11.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import jwt

from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.github_api import Answered, CallError, GitHubClient
from infra.fleet.github_lists import Jobs, ListError, jobs, whole

RENEWED: Final = timedelta(minutes=5)
"""Before its end a token is kept no longer."""
JIT_LIFE: Final = timedelta(hours=1)
"""A just-in-time configuration is good for about an hour; GitHub does not say until when."""
WORK_FOLDER: Final = "_work"
OF_REPOSITORY: Final = 1
"""The group that every repository's own runners are in."""
_APP_TOKEN: Final = timedelta(minutes=9)
_DRIFT: Final = timedelta(minutes=1)
_GROUPS_KEPT: Final = timedelta(minutes=10)
_UNAUTHORIZED, _NOT_FOUND, _CONFLICT, _BUSY = 401, 404, 409, 422


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A runner that may be started once. jit: the secret that is handed to the VM, and written nowhere else."""

    id: int
    jit: str = field(repr=False)
    expires: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubRunner:
    id: int
    name: str
    online: bool
    busy: bool


@dataclass(frozen=True, slots=True)
class _Token:
    text: str = field(repr=False)
    until: datetime


_ONE_WORD: Final = re.compile(r"[\x21-\x7e]+")
"""What a header or a line of a VM's carries whole."""


@dataclass(slots=True, kw_only=True)
class GitHubApp:
    """One installation of the app. Safe to share between threads.

    key: gives the app's private key (PEM); with True, as it is now and not as it was kept.
    """

    client: GitHubClient
    app: str
    installation: str
    key: Callable[[bool], str] = field(repr=False)
    clock: Callable[[], datetime]
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _tokens: dict[tuple[str, bool], _Token] = field(default_factory=dict, repr=False)
    _groups: dict[str, tuple[datetime, Mapping[str, int]]] = field(default_factory=dict, repr=False)

    def find(self, scope: str, name: str, *, deadline: float) -> GitHubRunner | None:
        """The runner of that name, None where there is none. Every method here raises Refused where GitHub does."""
        found = self._ask("GET", scope, f"actions/runners?per_page=100&name={quote(name, safe='')}", deadline).body
        try:
            # A GitHub Enterprise server that does not know the filter answers with others too.
            return next((_runner(each) for each in found["runners"] if each["name"] == name), None)
        except (KeyError, TypeError):
            raise _unreadable("runners") from None

    def runner(self, scope: str, number: int, *, deadline: float) -> GitHubRunner | None:
        """The runner of that number, None where there is none."""
        found = self._ask("GET", scope, f"actions/runners/{number}", deadline, takes=frozenset({_NOT_FOUND}))
        try:
            return None if found.status == _NOT_FOUND else _runner(found.body)
        except (KeyError, TypeError):
            raise _unreadable("runner") from None

    def runners(self, scope: str, *, deadline: float) -> tuple[GitHubRunner, ...]:
        """All of them; a list that is not whole is refused, since what it lacks would look gone."""
        try:
            ask = lambda path: self._ask("GET", scope, path, deadline).body  # noqa: E731
            return tuple(whole(ask, "actions/runners", "runners", _runner))
        except ListError as error:
            raise Refused(Reason.GITHUB_DOWN, f"{scope}: {error}") from None
        except (KeyError, TypeError):
            raise _unreadable("runners") from None

    def jobs(self, repository: str, *, deadline: float) -> Jobs:
        """The jobs of a repository that wait for a runner or have one.

        It takes many calls, so it is refused while few are left of the hour: those are for registrations.
        """
        scope = f"repos/{repository}"

        def asked(path: str) -> Any:
            if self.client.are_few():
                raise Refused(Reason.GITHUB_LIMITED, "what is left of the hour is for registrations")
            return self._ask("GET", scope, path.removeprefix(f"{scope}/"), deadline, jobs=True).body

        try:
            return jobs(asked, repository)
        except ListError as error:
            raise Refused(Reason.GITHUB_DOWN, str(error)) from None

    def remove(self, scope: str, runner: GitHubRunner, *, deadline: float) -> None:
        """Remove a runner; one that is gone already is no matter. Raises Refused for one that has a job."""
        takes = frozenset({_NOT_FOUND, _BUSY})
        if self._ask("DELETE", scope, f"actions/runners/{runner.id}", deadline, takes=takes).status == _BUSY:
            raise Refused(Reason.SERVING, "GitHub does not let its runner go")

    def register(
        self, scope: str, name: str, *, labels: tuple[str, ...], group: str | None, deadline: float
    ) -> Registered:
        """A runner for one job. One of that name, left by an answer that was lost, is replaced."""
        number = OF_REPOSITORY if group is None else self._group(scope, group, deadline)
        body = {"name": name, "runner_group_id": number, "labels": list(labels), "work_folder": WORK_FOLDER}
        made = self._generated(scope, body, deadline, takes=frozenset({_CONFLICT}))
        if made.status == _CONFLICT:
            if (lost := self.find(scope, name, deadline=deadline)) is not None:
                self.remove(scope, lost, deadline=deadline)
            made = self._generated(scope, body, deadline)
        try:
            jit, number = made.body["encoded_jit_config"], made.body["runner"]["id"]
            if isinstance(jit, str) and _ONE_WORD.fullmatch(jit) and isinstance(number, int):
                return Registered(id=number, jit=jit, expires=self.clock() + JIT_LIFE)
        except (KeyError, TypeError):
            pass
        raise _unreadable("registration")

    def _generated(
        self, scope: str, body: Mapping[str, Any], deadline: float, takes: frozenset[int] = frozenset()
    ) -> Answered:
        return self._ask("POST", scope, "actions/runners/generate-jitconfig", deadline, body=body, takes=takes)

    def _group(self, scope: str, name: str, deadline: float) -> int:
        """The number of a runner group."""
        with self._lock:
            kept = self._groups.get(scope)
        if kept is None or not self.clock() < kept[0] or name not in kept[1]:
            kept = (self.clock() + _GROUPS_KEPT, self._asked_groups(scope, deadline))
            with self._lock:
                self._groups[scope] = kept
        if name not in kept[1]:
            raise Refused(Reason.GITHUB_REFUSED, f"{scope} has no runner group {name!r}")
        return kept[1][name]

    def _asked_groups(self, scope: str, deadline: float) -> Mapping[str, int]:
        found: dict[str, int] = {}
        try:
            for page in range(1, 11):
                body = self._ask("GET", scope, f"actions/runner-groups?per_page=100&page={page}", deadline).body
                found |= {group["name"]: group["id"] for group in body["runner_groups"]}
                if len(found) >= body["total_count"] or not body["runner_groups"]:
                    break
        except (KeyError, TypeError):
            raise _unreadable("runner groups") from None
        return found

    def _ask(
        self,
        verb: str,
        scope: str,
        path: str,
        deadline: float,
        *,
        body: Mapping[str, Any] | None = None,
        takes: frozenset[int] = frozenset(),
        jobs: bool = False,
    ) -> Answered:
        """A call with the installation's token; a token that is refused is replaced once. jobs: one that reads them."""
        asked: dict[str, Any] = {"deadline": deadline, "body": body}
        token = self._token(scope, deadline, jobs=jobs)
        answer = self._call(verb, f"{scope}/{path}", token=token, takes=takes | {_UNAUTHORIZED}, **asked)
        if answer.status == _UNAUTHORIZED:
            with self._lock:
                self._tokens.pop((scope, jobs), None)
            token = self._token(scope, deadline, jobs=jobs)
            answer = self._call(verb, f"{scope}/{path}", token=token, takes=takes, **asked)
        return answer

    def _call(self, verb: str, path: str, **asked: Any) -> Answered:
        """A call as `GitHubClient.ask` makes it. Raises Refused where GitHub does."""
        try:
            return self.client.ask(verb, path, **asked)
        except CallError as refusal:
            if refusal.wait is not None:
                # Not sooner than other refusals, for the broker has a limit of its own.
                again = max(refusal.wait, Reason.GITHUB_LIMITED.again)
                raise Refused(Reason.GITHUB_LIMITED, str(refusal), again=again) from None
            down = refusal.status is None or refusal.status >= 500
            raise Refused(Reason.GITHUB_DOWN if down else Reason.GITHUB_REFUSED, str(refusal)) from None

    def _token(self, scope: str, deadline: float, *, jobs: bool) -> str:
        """A token that may do the one thing there and nothing else. One thread gets it, the others wait."""
        with self._lock:
            kept = self._tokens.get((scope, jobs))
            if kept is None or self.clock() >= kept.until:
                kept = self._tokens[scope, jobs] = self._new_token(_permissions(scope, jobs=jobs), deadline)
            return kept.text

    def _new_token(self, body: Mapping[str, Any], deadline: float) -> _Token:
        path = f"app/installations/{self.installation}/access_tokens"
        signed = self._signed(fresh=False)
        takes = frozenset({_UNAUTHORIZED})
        answer = self._call("POST", path, token=signed, deadline=deadline, body=body, takes=takes)
        if answer.status == _UNAUTHORIZED:
            # The key may have been rotated since it was read.
            answer = self._call("POST", path, token=self._signed(fresh=True), deadline=deadline, body=body)
        try:
            until, text = datetime.fromisoformat(answer.body["expires_at"]), answer.body["token"]
        except (KeyError, TypeError, ValueError):
            raise _unreadable("token") from None
        # It is kept for an hour: one that no clock compares with, or that no header can carry, would fail for as long.
        if until.tzinfo is None or not isinstance(text, str) or not _ONE_WORD.fullmatch(text):
            raise _unreadable("token")
        return _Token(text, until - RENEWED)

    def _signed(self, *, fresh: bool) -> str:
        """The app's own token, by which GitHub knows it."""
        now = self.clock()
        claims = {
            "iss": self.app,
            "iat": int((now - _DRIFT).timestamp()),
            "exp": int((now + _APP_TOKEN - _DRIFT).timestamp()),
        }
        try:
            return jwt.encode(claims, self.key(fresh), algorithm="RS256")
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError):
            # Another kind of key, or one with a passphrase; the error itself might quote it.
            raise Refused(Reason.GITHUB_REFUSED, "the app's secret holds no RSA private key in PEM") from None


def deadline_from_now(patience: float) -> float:
    """By `time.monotonic`, as calls take it. patience: seconds."""
    return time.monotonic() + patience


def _runner(body: Any) -> GitHubRunner:
    return GitHubRunner(
        id=body["id"],
        name=str(body["name"]),
        online=body["status"] == "online",
        busy=bool(body["busy"]),
    )


def _permissions(scope: str, *, jobs: bool) -> dict[str, Any]:
    """For one repository alone, or for the runners of an organisation alone. jobs: to read them and no more."""
    kind, _, name = scope.partition("/")
    if kind == "repos":
        wanted = {"actions": "read"} if jobs else {"administration": "write"}
        return {"repositories": [name.rpartition("/")[2]], "permissions": wanted}
    return {"permissions": {"organization_self_hosted_runners": "write"}}


def _unreadable(what: str) -> Refused:
    return Refused(Reason.GITHUB_REFUSED, f"its answer with the {what} has another shape")
