"""GitHub as the controller asks it without a credential of GitHub's: through the broker, by its own Google identity.

Owns the calls and what is believed of their answers. What the broker allows is docs/broker.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import urllib3

from infra.fleet.broker.refusals import Reason
from infra.fleet.controller.github import GitHubError
from infra.fleet.controller.observed import RunnerSeen
from infra.fleet.github_lists import QueuedJob, RunningJob
from infra.fleet.google import GoogleError
from infra.model.visible import visible_json

SOURCE: Final = "broker"
T = TypeVar("T")
_ONE_CALL: Final = 18.0
"""Seconds; the broker gives GitHub fifteen."""


class _NeverRegisteredError(GitHubError):
    """No runner of this stack is or was where one was asked for, by the broker's own record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerApi:
    """The broker of a stack. address: its URL, for every call; raises GitHubError where there is none.

    token: an identity token for that audience; raises GoogleError.
    """

    stack: str
    address: Callable[[], str]
    token: Callable[[str], str] = field(repr=False)
    http: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(num_pools=1, maxsize=4), repr=False)

    def sources(self, scopes: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """One list has every scope that is declared: the broker knows where it registers runners."""
        return {SOURCE: tuple(scopes)} if scopes else {}

    def runners(self, source: str) -> tuple[RunnerSeen, ...]:
        """Every runner whose name is made by our rule. source: SOURCE, or one scope. Raises GitHubError.

        A repository may be declared and left without a runner ever registered with it: pools of several take turns.
        """
        try:
            return self._runners(**({} if source == SOURCE else {"scope": source}))
        except _NeverRegisteredError:
            return ()

    def runner(self, scope: str, name: str) -> RunnerSeen | None:
        """The runner of that name. Raises GitHubError."""
        return next((each for each in self._runners(scope=scope, name=name) if each.name == name), None)

    def together(self, repositories: Collection[str]) -> tuple[tuple[str, ...], ...]:
        """All at once: the broker's queue is one list, and it counts how often it is asked."""
        return (tuple(repositories),) if repositories else ()

    def queued(self, repositories: Collection[str]) -> tuple[QueuedJob, ...]:
        """The jobs that wait in these repositories, the oldest first; as it was a minute ago at most."""
        jobs = self._listed("jobs", _job)
        return tuple(job for job in jobs if job.repository in repositories)

    def running(self, repositories: Collection[str]) -> tuple[RunningJob, ...]:
        """The jobs of these repositories that runners of ours have, as it was a minute ago at most."""
        return tuple(job for job in self._listed("running", _running) if job.repository in repositories)

    def remove(self, scope: str, number: int) -> None:
        """Remove a runner; one that is gone already is no matter."""
        self._ask("DELETE", f"runners/{number}", scope=scope)

    def _runners(self, **query: str) -> tuple[RunnerSeen, ...]:
        body = self._ask("GET", "runners", **query)
        try:
            return tuple(_seen(str(each["scope"]), runner) for each in body["scopes"] for runner in each["runners"])
        except (KeyError, TypeError, ValueError):
            raise GitHubError(f"the {SOURCE}'s list of runners has another shape") from None

    def _listed(self, key: str, shaped: Callable[[Mapping[str, Any]], T]) -> list[T]:
        """A list of the queue. One that is not there is unknown, and not empty."""
        body = self._ask("GET", "queue")
        try:
            return [shaped(each) for each in body[key]]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise GitHubError("the broker's queue has another shape") from None

    def _ask(self, verb: str, path: str, **query: str) -> Any:
        doing = f"asking the broker to {verb} {path}"
        url = self.address()
        try:
            token = self.token(url)
        except GoogleError as error:
            raise GitHubError(f"{doing}: {error}") from None
        # Cloud Run checks the one, and hands over the other as it is.
        headers = {"Authorization": f"Bearer {token}", "X-Serverless-Authorization": f"Bearer {token}"}
        where = f"{url.rstrip('/')}/v1/{path}?{urlencode({'stack': self.stack, **query})}"
        try:
            response = self.http.request(
                verb, where, headers=headers, redirect=False, retries=False, timeout=urllib3.Timeout(total=_ONE_CALL)
            )
            body = visible_json(response.data)
        except urllib3.exceptions.HTTPError as error:
            raise GitHubError(f"{doing}: no answer ({type(error).__name__})") from None
        except ValueError:
            raise GitHubError(f"{doing}: the answer is not JSON") from None
        if response.status != 200:
            said: Mapping[str, Any] = body if isinstance(body, dict) else {}
            never = said.get("reason") == Reason.FOREIGN_RUNNER.word
            kind = _NeverRegisteredError if never else GitHubError
            raise kind(f"{doing}: {response.status} {said.get('reason', '')}: {said.get('message', '')}")
        return body


def _seen(scope: str, runner: Mapping[str, Any]) -> RunnerSeen:
    return RunnerSeen(
        id=int(runner["id"]),
        name=str(runner["name"]),
        scope=scope,
        online=bool(runner["online"]),
        busy=bool(runner["busy"]),
    )


def _job(job: Mapping[str, Any]) -> QueuedJob:
    return QueuedJob(
        labels=tuple(str(label) for label in job["labels"]),
        since=datetime.fromisoformat(job["since"]),
        repository=str(job["repository"]),
        name=str(job["name"]),
    )


def _running(job: Mapping[str, Any]) -> RunningJob:
    return RunningJob(
        repository=str(job["repository"]), name=str(job["name"]), runner=str(job["runner"]), url=str(job["url"])
    )
