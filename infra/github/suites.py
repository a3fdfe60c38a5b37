"""What GitHub shows of a suite's run: one issue while it is broken, and on a pull request a comment and a status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
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
_COMMENT: Final = "<!-- tidepool:results -->"
_PART: Final = re.compile(
    r"^<!-- tidepool:part (?P<key>\S+) (?P<commit>[0-9a-f]+) (?P<state>failed|missing|passed) -->\n", re.MULTILINE
)
_OTHER: Final = re.compile(r"[^A-Za-z0-9._]+")
_ROOM: Final = 512
"""For markers and what stands around the text."""
_TRIES: Final = 5
"""How often one run tells, where others tell of the same commit at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteText:
    """What is told of a run of a suite, of all its legs together.

    hardware: empty where there are several legs; of one, what one kind breaks another does not mend. title: of the
    issue. status: one line. failed: whether somebody has to act. link: of the log, as `infra.results.suite_run` has it.
    on_main: whether the run is of the main branch, and of no pull request. unknown: whether a part of the suite has no
    result and nothing else is amiss: the issue says on what it said. newer: the run that has said what stands already,
    empty where none has; overtaken: whether it is of the same commit. labels: of the issue, beside those that every one
    has.
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
    def place(self) -> str:
        """What people call it."""
        return f"{self.suite} ({self.hardware})" if self.hardware else self.suite

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


def post(place: PostingPlace, texts: Sequence[SuiteText]) -> list[Posted]:
    """Let GitHub show them: on the main branch each suite's issue, on a pull request one comment and one status of all.

    What a newer run has said already stands: jobs end in any order.
    """
    of_pulls: dict[int, list[SuiteText]] = {}
    for each in texts:
        if each.pull is not None and not each.newer:
            of_pulls.setdefault(each.pull, []).append(each)
    told = {pull: tell_pull(place, pull, found) for pull, found in of_pulls.items()}
    return [_posted(place, each, told) for each in texts]


def _posted(place: PostingPlace, text: SuiteText, told: Mapping[int, Posted]) -> Posted:
    left = f"left to run {text.newer}, which is newer" if text.newer else ""
    if text.on_main:
        if left:
            return Posted(issue=left)
        if text.unknown:
            return Posted(issue="left as it is: a part of the suite has no result")
        followed = tell_main(place, text)
        return Posted(issue=f"{followed.outcome}{f' #{followed.number}' if followed.number else ''}")
    if text.pull is not None and not left:
        return told[text.pull]
    status = left if text.overtaken else set_status(place, text, text.place)
    return Posted(comment=left if text.pull is not None else "", status=status)


def tell_main(place: PostingPlace, told: SuiteText) -> Told:
    """Let the suite's issue say what is wrong on the main branch; closed when nothing is."""
    marker = f"<!-- tidepool:suite:{told.key} -->"
    body = f"{marker}\n{fitting(told)}\n\nThis issue follows the suite and closes by itself."
    text = IssueText(title=told.title, body=body) if told.failed else None
    with failures_told(f"telling of the suite {told.suite}"):
        more = {label: Look("ededed", "Of a suite of tests") for label in told.labels if label not in LABELS}
        return follow(place, marker, {**LABELS, **more}, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What the comment of a pull request says of one suite. text: made harmless."""

    key: str
    commit: str
    state: str
    text: str

    @classmethod
    def of(cls, told: SuiteText) -> _Part:
        state = "failed" if told.failed else "missing" if told.unknown else "passed"
        return cls(key=told.key, commit=told.commit, state=state, text=fitting(told))

    @property
    def suite(self) -> str:
        return self.key.partition(":")[0]

    def within(self, room: int) -> str:
        return f"<!-- tidepool:part {self.key} {self.commit} {self.state} -->\n{cut(self.text, room)}"


def tell_pull(place: PostingPlace, pull: int, texts: Sequence[SuiteText]) -> Posted:
    """Let the pull request have one comment of all its suites, and its commit one status.

    texts: of one commit. What other runs said of the same commit stays: each tells of its own suites alone. Two that
    tell at once may read the same comment, so each looks again at the end, and goes on until both are there.
    """
    parts: list[_Part] = []

    def joined(standing: Sequence[str]) -> str:
        nonlocal parts
        body = _body(texts, standing)
        parts = list(_parts(body))
        return body

    for _ in range(_TRIES):
        comment = sticky.amend(place, pull, _COMMENT, joined)
        whole = replace(
            texts[0],
            failed=any(each.state == "failed" for each in parts),
            unknown=any(each.state == "missing" for each in parts),
            status=_summary(texts[0], parts),
        )
        state = set_status(place, whole, "results")
        if list(_parts(sticky.standing(place, pull, _COMMENT))) == parts:
            break
    return Posted(comment=comment.outcome, status=state)


def _body(texts: Sequence[SuiteText], standing: Sequence[str]) -> str:
    """The comment that says what these do, and of their commit what stands beside them."""
    first = texts[0]
    known = {part.key: part for body in standing for part in _parts(body) if part.commit == first.commit}
    known |= {each.key: _Part.of(each) for each in texts}
    parts = sorted(known.values(), key=lambda each: (each.state, each.key))  # failed, missing, passed
    heading = f"**Tests of {first.commit[:12]}: {_summary(first, parts)}.**\n\n" if len(parts) > 1 else ""
    room = (LONGEST - _ROOM - len(heading)) // len(parts) - _ROOM
    return heading + "\n\n".join(each.within(room) for each in parts)


def _summary(first: SuiteText, parts: Sequence[_Part]) -> str:
    """How all suites of a commit are, in one line."""
    if len(parts) == 1:
        return first.status
    failed = [each.suite for each in parts if each.state == "failed"]
    missing = [each.suite for each in parts if each.state == "missing"]
    said = [f"{len(failed)} of {len(parts)} suites need a look: {', '.join(failed)}"] if failed else []
    said += [f"without a whole result: {', '.join(missing)}"] if missing else []
    return "; ".join(said) or f"all {len(parts)} suites are well"


def _parts(body: str) -> Iterator[_Part]:
    """The parts of a comment of ours. Texts of suites cannot end one: what is harmless has no comment of HTML."""
    found = list(_PART.finditer(body))
    for one, following in zip_longest(found, found[1:]):
        text = body[one.end() : following.start() if following else None].strip()
        yield _Part(key=one["key"], commit=one["commit"], state=one["state"], text=text)


def set_status(place: PostingPlace, told: SuiteText, name: str) -> STATE:
    """Give the commit a status of this name; GitHub keeps the newest of one."""
    state: STATE = "failure" if told.failed else "error" if told.unknown else "success"
    body = {
        "state": state,
        "context": f"tidepool/{name}",
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
