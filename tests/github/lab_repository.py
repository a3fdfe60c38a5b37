"""A repository on the local GitHub as these tests see it."""

from __future__ import annotations

from dataclasses import dataclass

from github import Auth, Github
from github.Repository import Repository

from bench.cloud.control import Control
from infra.github.client import PostingPlace, connect

REPO, FORK, TOKEN, SHA = "lab/monorepo", "eve/monorepo", "workflow-token", "a" * 40


@dataclass(frozen=True)
class Lab:
    """One pull request, and the token of a workflow run that may write to pull requests and issues."""

    control: Control
    pull: int

    def place(self) -> PostingPlace:
        return connect(api=self.control.api, repository=REPO, token=TOKEN)

    def repository(self) -> Repository:
        """As a client of others sees it, without its pauses."""
        client = Github(
            base_url=self.control.api, auth=Auth.Token(TOKEN), seconds_between_requests=0, seconds_between_writes=0
        )
        return client.get_repo(REPO)

    def comments(self) -> list[tuple[str, str]]:
        found = self.repository().get_issue(self.pull).get_comments()
        return [(comment.user.login, comment.body) for comment in found]

    def labels(self) -> list[str]:
        return sorted(label.name for label in self.repository().get_issue(self.pull).get_labels())

    def chatter(self, count: int) -> None:
        self.control.add_comments(REPO, self.pull, "bob", [f"looks good {index}" for index in range(count)])

    def writes(self) -> list[tuple[str, str]]:
        return [(entry["verb"], entry["method"]) for entry in self.control.log(limit=9999) if entry["verb"] != "GET"]
