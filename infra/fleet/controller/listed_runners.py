"""Whether a VM has a job right now, asked again before it is deleted.

Owns the list of runners that serves the deletes of some seconds, and what may be believed of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from infra.fleet.controller.github import GitHub, GitHubError, whole_or_failed
from infra.fleet.controller.memory import Memory
from infra.fleet.controller.observed import NodeSeen, Observed, RunnerSeen
from infra.fleet.controller.sorting import pool_of

LISTED_SECONDS: Final = 30.0
"""For how long a list of runners serves deletes. A VM that is to go is drained, or had no runner for long."""


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
