"""What GitHub shows of a suite's run: one issue while it is broken, and on a pull request a comment and a status."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from infra.github import sticky
from infra.github.artifact import cut, harmless
from infra.github.client import PostingPlace, failures_told
from infra.github.issues import IssueText, Told, follow
from infra.github.labels import Look
from infra.github.sticky import LONGEST
from infra.model.json_shape import JsonShape

LABELS: Final = {
    "ci-failure": Look("d93f0b", "Tests of the main branch fail, or became slower"),
    "tidepool-results": Look("5319e7", "Told of by the results of test runs"),
}
STATE = Literal["success", "failure", "pending", "error"]
_MOST_STATUS: Final = 140
_OTHER: Final = re.compile(r"[^A-Za-z0-9._]+")
_ROOM: Final = 512
"""For markers and what stands around the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteText:
    """What is told of a suite on one kind of hardware: what one breaks, another does not mend.

    title: of the issue. status: one line. failed: whether somebody has to act. link: of the
    log, as `infra.results.suite_run` has it. on_main: whether the run is of the main branch, and of no pull request.
    unknown: whether a part of the suite has no result and nothing else is amiss: the issue says on what it said.
    newer: the run that has said what stands already, empty where none has; overtaken: whether it is of the same commit.
    labels: of the issue, beside those that every one has.
    """

    suite: str
    hardware: str
    title: str
    markdown: str
    status: str
    failed: bool
    link: str = ""
    commit: str = ""
    pull: int | None = None
    on_main: bool = False
    newer: str = ""
    overtaken: bool = False
    unknown: bool = False
    labels: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Of a hidden marker: of letters that end none."""
        return f"{self.suite}:{_OTHER.sub('-', self.hardware)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted(JsonShape):
    """What was posted: the issue of the main branch, or the comment of a pull request; and a commit's status."""

    issue: str = ""
    comment: str = ""
    status: str = ""


def post(place: PostingPlace, told: SuiteText) -> Posted:
    """Let GitHub show it: on the main branch the suite's issue, on a pull request its comment and the status.

    What a newer run has said already stands: jobs end in any order.
    """
    left = f"left to run {told.newer}, which is newer" if told.newer else ""
    if told.on_main:
        if left:
            return Posted(issue=left)
        if told.unknown:
            return Posted(issue="left as it is: a part of the suite has no result")
        followed = tell_main(place, told)
        return Posted(issue=f"{followed.outcome}{f' #{followed.number}' if followed.number else ''}")
    status = left if told.overtaken else set_status(place, told)
    if told.pull is None:
        return Posted(status=status)
    return Posted(comment=left or tell_pull(place, told.pull, told).outcome, status=status)


def tell_main(place: PostingPlace, told: SuiteText) -> Told:
    """Let the suite's issue say what is wrong on the main branch; closed when nothing is."""
    marker = f"<!-- tidepool:suite:{told.key} -->"
    body = f"{marker}\n{fitting(told)}\n\nThis issue follows the suite and closes by itself."
    text = IssueText(title=told.title, body=body) if told.failed else None
    with failures_told(f"telling of the suite {told.suite}"):
        more = {label: Look("ededed", "Of a suite of tests") for label in told.labels if label not in LABELS}
        return follow(place, marker, {**LABELS, **more}, text)


def tell_pull(place: PostingPlace, pull: int, told: SuiteText) -> sticky.Posted:
    """Let the pull request have one comment of the suite."""
    return sticky.post(place, pull, fitting(told), marker=f"<!-- tidepool:results:{told.key} -->")


def set_status(place: PostingPlace, told: SuiteText) -> STATE:
    """Give the commit the status of the suite; GitHub keeps the newest of a name."""
    state: STATE = "failure" if told.failed else "error" if told.unknown else "success"
    body = {
        "state": state,
        "context": f"tidepool/{told.suite} ({told.hardware})",
        "description": told.status[:_MOST_STATUS],
        **({"target_url": told.link} if told.link else {}),
    }
    with failures_told(f"setting the status of {told.commit}"):
        place.ask("POST", f"statuses/{told.commit}", body)
    return state


def fitting(told: SuiteText) -> str:
    """Of what a stranger's tests may have named: without effect, and short enough. The link is the workflow's own."""
    log = f"[Log of the run](<{told.link}>)\n\n" if told.link else ""
    return log + cut(harmless(told.markdown), LONGEST - _ROOM - len(log))
