"""GitHub's runners as the controller needs them: the list of a scope, page by page, and removal of one.

Owns the calls. Where a token comes from is told: the environment, or an installation of the app. No token is ever said.
https://docs.github.com/rest/actions/self-hosted-runners, read 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import urllib3

from infra.fleet.controller.observed import RunnerSeen

PAGE: Final = 100
MOST_PAGES: Final = 100
_ONE_CALL: Final = 8.0
_GONE: Final = frozenset({204, 404})


class GitHubError(Exception):
    """A call that GitHub did not answer, or refused; its text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerApi:
    """GitHub at `api`. token: for a scope, `orgs/NAME` or `repos/OWNER/NAME`; raises GitHubError where none is had."""

    api: str
    token: Callable[[str], str] = field(repr=False)
    http: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(num_pools=2, maxsize=4), repr=False)

    def runners(self, scope: str) -> tuple[RunnerSeen, ...]:
        """Every runner of a scope. A list that ends before its own count is an error: it must not look like absence."""
        found: list[RunnerSeen] = []
        for page in range(1, MOST_PAGES + 1):
            body = self._ask("GET", f"{scope}/actions/runners?per_page={PAGE}&page={page}", scope)
            try:
                found += [_seen(scope, runner) for runner in body["runners"]]
                total = int(body["total_count"])
            except (KeyError, TypeError, ValueError):
                raise GitHubError(f"listing runners of {scope}: the answer has another shape") from None
            if len(found) >= total:
                return tuple(found)
            if not body["runners"]:
                break
        raise GitHubError(f"listing runners of {scope}: it ended at {len(found)} of {total}")

    def remove(self, scope: str, number: int) -> None:
        """Remove a runner; one that is gone already is no matter."""
        self._ask("DELETE", f"{scope}/actions/runners/{number}", scope)

    def _ask(self, verb: str, path: str, scope: str) -> Any:
        doing = f"{verb} {path.partition('?')[0]}"
        headers = {
            "Authorization": f"Bearer {self.token(scope)}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "tidepool-controller",
        }
        retries = urllib3.Retry(total=1, redirect=False, status_forcelist=(500, 502, 503, 504), raise_on_status=False)
        try:
            response = self.http.request(
                verb, f"{self.api.rstrip('/')}/{path}", headers=headers, retries=retries, timeout=_ONE_CALL
            )
            if verb == "DELETE" and response.status in _GONE:
                return None
            if not 200 <= response.status < 300:
                raise GitHubError(f"{doing}: {response.status}")
            return json.loads(response.data)
        except urllib3.exceptions.HTTPError as error:
            raise GitHubError(f"{doing}: no answer ({type(error).__name__})") from None
        except ValueError:
            raise GitHubError(f"{doing}: the answer is not JSON") from None


def _seen(scope: str, runner: dict[str, Any]) -> RunnerSeen:
    return RunnerSeen(
        id=int(runner["id"]),
        name=str(runner["name"]),
        scope=scope,
        online=runner["status"] == "online",
        busy=bool(runner["busy"]),
        labels=frozenset(str(label["name"]) for label in runner.get("labels", ())),
    )
