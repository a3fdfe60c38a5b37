"""A client of what starts builds of the local cloud and of their queue: for `./tidepool cloud push` and a runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.cloud.control import Control, JsonObject


class BuildControl(Control):
    """The control surface, with the calls of Cloud Build. A build is a `Build` of the first version of its API."""

    def push(
        self, repository: str, changed: Sequence[str], *, branch: str = "", tag: str = "", commit: str = ""
    ) -> JsonObject:
        """Do what GitHub's webhook does when commits come to a branch or a tag is made.

        repository: `owner/name`. changed: paths from its top. commit: a made-up one where left out.
        The answer has repository, commit, branch, tag, changed, `builds` (QUEUED), and `triggers`: of each push
        trigger of the repository its name, resourceName, build (an id or None) and the reason.
        """
        body = {"repository": repository, "changed": list(changed), "branch": branch, "tag": tag, "commit": commit}
        return self._ask("POST", "builds/push", body)

    def pushed(self, repository: str, branch: str, *, commit: str = "") -> list[tuple[str, int]]:
        """Every commit that a branch was at by a push here, oldest first, and the second since 1970 that it came.

        commit: one that came to it just now, for which no trigger is asked.
        """
        body = {"repository": repository, "branch": branch, "commit": commit}
        return [(each, seconds) for each, seconds in self._ask("POST", "builds/pushed", body)["commits"]]

    def builds(self, *status: str) -> list[JsonObject]:
        """Every build of every project, the oldest first; only those in these states, where any is named."""
        return self._ask("POST", "builds/list", {"status": list(status)})["builds"]

    def take(self, name: str | None = None) -> JsonObject | None:
        """Take the oldest QUEUED build, or the one of this id or full name: it is WORKING from now on.

        None where the queue is empty. Raises ControlError for a named one that does not wait in it.
        """
        return self._ask("POST", "builds/take", {} if name is None else {"name": name})["build"]

    def report(
        self, name: str, *, status: str, steps: Mapping[str, Mapping[str, Any]] | None = None, **more: Any
    ) -> JsonObject:
        """Say how a build that was taken ended; the answer is the build as it is now.

        status: SUCCESS, FAILURE, TIMEOUT, INTERNAL_ERROR, CANCELLED. steps: by their id (or place, from "0", where they
        have none) `status` and `seconds`. more: statusDetail. A build that was cancelled meanwhile is answered as it
        is, CANCELLED, and takes nothing.
        """
        body = {"name": name, "status": status, "steps": {key: dict(value) for key, value in (steps or {}).items()}}
        return self._ask("POST", "builds/report", {**body, **more})["build"]
