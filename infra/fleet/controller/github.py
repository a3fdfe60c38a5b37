"""GitHub as the controller sees it, and as it is asked with a token: runners, jobs that wait, removal of a runner.

Owns what every way to GitHub answers, the calls of this one, which is a person's (the other is `by_broker`), and the
list of runners that says before a delete whether a VM has a job. No token is ever said.
https://docs.github.com/rest/actions/self-hosted-runners, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, Protocol
from urllib.parse import quote

from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import NodeSeen, Observed, RunnerSeen
from infra.fleet.controller.sorting import pool_of
from infra.fleet.github_api import CallError, GitHubClient
from infra.fleet.github_lists import Jobs, ListError, QueuedJob, RunningJob, jobs, whole
from infra.model.errors import OutsideError

NO_WAY: Final = "there is no broker and no token of GitHub"
"""Why nothing is known of GitHub where nobody said how to ask it."""
LISTED_SECONDS: Final = 30.0
"""For how long a list of runners serves deletes. A VM that is to go is drained, or had no runner for long."""
_NEXT_STEPS: Final[Mapping[int, str]] = {
    301: "it was renamed or moved; write its name of today in `serves` and `up` the stack",
    401: "GitHub does not know the token, or it has expired; put another into GITHUB_TOKEN",
    403: "the token may not, or asked too often; it is to manage self-hosted runners and to read actions",
    404: "it does not exist, or the token may not see it; compare `serves`, and what the token may",
}
"""What a refusal means, and what to do. https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api,
read 2026-11."""


class GitHubError(OutsideError):
    """A call that GitHub did not answer, or refused; its text says which."""


class GitHub(Protocol):
    """A way to GitHub. Every call raises GitHubError."""

    def sources(self, scopes: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """What is to be asked for the runners of these scopes, all at once, with the scopes that each has.

        Where a source of several scopes fails, each of those may be asked by itself.
        """

    def runners(self, source: str) -> tuple[RunnerSeen, ...]:
        """The runners of a source, or of one scope by itself."""

    def runner(self, scope: str, name: str) -> RunnerSeen | None:
        """The runner of that name as it is now, None where there is none. It costs one call, however many there are."""

    def together(self, repositories: Collection[str]) -> tuple[tuple[str, ...], ...]:
        """These repositories, those whose waiting jobs one call of `queued` costs no more for than one of them."""

    def queued(self, repositories: Collection[str]) -> tuple[QueuedJob, ...]: ...

    def running(self, repositories: Collection[str]) -> tuple[RunningJob, ...]: ...

    def remove(self, scope: str, number: int) -> None: ...


def whole_or_failed(
    github: GitHub, scopes: Collection[str], left: Iterable[str]
) -> tuple[tuple[RunnerSeen, ...], dict[str, str]]:
    """The runners of these scopes, one after another, and by scope why those that failed could not be listed.

    left: scopes that are declared no more. A source of several scopes that fails is asked for each by itself.
    """
    found: list[RunnerSeen] = []
    failures: dict[str, str] = {}
    asked = [*github.sources(scopes).items(), *((scope, (scope,)) for scope in left)]
    for source, covered in asked:
        try:
            found += github.runners(source)
        except GitHubError as error:
            if len(covered) > 1:
                asked += [(scope, (scope,)) for scope in covered]
            else:
                failures |= dict.fromkeys(covered, str(error))
    return tuple(found), failures


@dataclass(slots=True)
class ListedRunners:
    """Runners as they were listed last, and when; nothing was at first. failures: why scopes could not be listed."""

    at: float = float("inf")
    runners: tuple[RunnerSeen, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)

    def has_a_job(
        self, node: NodeSeen, github: GitHub, scopes: Collection[str], seen: Observed, memory: Memory, now: float
    ) -> bool:
        """Whether a job may have begun on a VM since a sweep looked. GitHubError where nobody can say.

        One list is the second that must lack a runner before it is believed not to be there: what ends while a list is
        read may hide others. Runners on either are asked for by name.
        """
        self._list(github, scopes, seen, now)
        its_own = memory.scopes.get(pool_of(node), self.failures)
        if failed := [why for scope, why in self.failures.items() if scope in its_own]:
            raise GitHubError("; ".join(dict.fromkeys(failed)))
        listed = (*self.runners, *seen.runners_of(node.name))
        names = {(runner.scope, runner.name) for runner in listed if runner.vm == node.name}
        found = (github.runner(scope, name) for scope, name in sorted(names))
        return any(runner is not None and runner.online and runner.busy for runner in found)

    def _list(self, github: GitHub, scopes: Collection[str], seen: Observed, now: float) -> None:
        """List all of them, once in some seconds, also where that failed.

        Of scopes that are declared no more and did not answer before, no VM that goes now depends on one.
        """
        if not self.at <= now < self.at + LISTED_SECONDS:
            left = [scope for scope, source in seen.left.items() if source.known]
            self.at = now
            self.runners, self.failures = whole_or_failed(github, scopes, left)


@dataclass(frozen=True, kw_only=True)
class RunnerApi:
    """GitHub at `api`. token: for a scope, `orgs/NAME` or `repos/OWNER/NAME`; raises GitHubError where none is had."""

    api: str
    token: Callable[[str], str] = field(repr=False)

    def sources(self, scopes: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        return {scope: (scope,) for scope in scopes}

    def runners(self, source: str) -> tuple[RunnerSeen, ...]:
        """Every runner of a scope. A list that ends before its own count is an error: it must not look like absence."""
        scope = source
        try:
            ask, shape = partial(self.ask, "GET", scope=scope), partial(_seen, scope)
            return tuple(whole(ask, f"{scope}/actions/runners", "runners", shape))
        except ListError as error:
            raise GitHubError(str(error)) from None
        except (KeyError, TypeError, ValueError):
            raise GitHubError(f"listing runners of {scope}: the answer has another shape") from None

    def runner(self, scope: str, name: str) -> RunnerSeen | None:
        found = self.ask("GET", f"{scope}/actions/runners?per_page=100&name={quote(name, safe='')}", scope)
        try:
            # A GitHub Enterprise server that does not know the filter answers with others too.
            return next((_seen(scope, each) for each in found["runners"] if each["name"] == name), None)
        except (KeyError, TypeError, ValueError):
            raise GitHubError(f"looking up runner {name} of {scope}: the answer has another shape") from None

    def together(self, repositories: Collection[str]) -> tuple[tuple[str, ...], ...]:
        """Each by itself, so that one that GitHub refuses hides no other."""
        return tuple((each,) for each in repositories)

    def queued(self, repositories: Collection[str]) -> tuple[QueuedJob, ...]:
        """The jobs of these repositories that wait for a runner, whatever their labels, the oldest first."""
        found = [job for repository in repositories for job in self._jobs(repository).waiting]
        return tuple(sorted(found, key=lambda job: job.since))

    def running(self, repositories: Collection[str]) -> tuple[RunningJob, ...]:
        """The jobs of these repositories that a runner has."""
        return tuple(job for repository in repositories for job in self._jobs(repository).running)

    def remove(self, scope: str, number: int) -> None:
        """Remove a runner; one that is gone already is no matter."""
        self.ask("DELETE", f"{scope}/actions/runners/{number}", scope)

    def _jobs(self, repository: str) -> Jobs:
        scope = f"repos/{repository}"
        try:
            return jobs(lambda path: self.ask("GET", path, scope), repository)
        except ListError as error:
            raise GitHubError(str(error)) from None

    def ask(self, verb: str, path: str, scope: str) -> Any:
        """One call with a scope's token; its JSON. Raises GitHubError where GitHub refuses or does not answer."""
        takes = frozenset({404} if verb == "DELETE" else ())
        try:
            return self._client.ask(verb, path, token=self.token(scope), takes=takes).body
        except CallError as refusal:
            step = _NEXT_STEPS.get(refusal.status or 0)
            raise GitHubError(f"{refusal}: {step}" if step else str(refusal)) from None

    @cached_property
    def _client(self) -> GitHubClient:
        return GitHubClient(self.api, "tidepool-controller")


def _seen(scope: str, runner: dict[str, Any]) -> RunnerSeen:
    return RunnerSeen(
        id=int(runner["id"]),
        name=str(runner["name"]),
        scope=scope,
        online=runner["status"] == "online",
        busy=bool(runner["busy"]),
    )
