"""A repository on the local GitHub as these tests see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from github.PullRequest import PullRequest

from infra.github.client import Place, connect
from infra.local.cloud.github.control import GitHubControl

REPO, FORK, TOKEN, SHA = "lab/monorepo", "eve/monorepo", "workflow-token", "a" * 40


@dataclass(frozen=True)
class Lab:
    """One pull request, and the token of a workflow run that may write to pull requests and issues."""

    control: GitHubControl
    pull: int

    def place(self) -> Place:
        return connect(api=self.control.api, repository=REPO, token=TOKEN)

    def pull_request(self, place: Place) -> PullRequest:
        return place.repository.get_pull(self.pull)

    def comments(self) -> list[tuple[str, str]]:
        found = self.place().repository.get_issue(self.pull).get_comments()
        return [(comment.user.login, comment.body) for comment in found]

    def labels(self) -> list[str]:
        return sorted(label.name for label in self.place().repository.get_issue(self.pull).get_labels())

    def chatter(self, count: int, author: str = "bob", body: str = "looks good") -> Sequence[int]:
        return self.control.add_comments(REPO, self.pull, author, [f"{body} {index}" for index in range(count)])

    def writes(self) -> list[tuple[str, str]]:
        return [(entry["verb"], entry["method"]) for entry in self.control.log(limit=9999) if entry["verb"] != "GET"]
