"""What is posted at GitHub: the issue of a stack's drift, and the comment of a pull request.

The comment is made in two steps, so that the one that reads a stranger's files has no token, and the one that has a
token reads no stranger's files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from infra.github import drift, labels, sticky
from infra.github.artifact import Artifact, UntrustedError, cut, harmless, read
from infra.github.client import PostingPlace, connect
from infra.github.sticky import Posted
from infra.model.errors import ConfigError
from infra.operations.declared.stack_file import declared
from infra.operations.declared.versions import stacks_of
from infra.operations.errors import Failure, Refusal
from infra.operations.stacks.explain import explain_edit
from infra.operations.stacks.findings import findings_of, recorded
from infra.operations.workspace import workspace
from infra.preview.comment import Preview, comment
from infra.preview.meaning import Facts
from infra.rules.book import stops

TOKEN = "GITHUB_TOKEN"  # noqa: S105 - a variable's name
"""The one way for a token to come in: an argument shows in lists of processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenComment:
    """previews: what is said of each stack. artifact: what is left behind for who posts it."""

    previews: tuple[Preview, ...]
    artifact: Artifact

    @property
    def holds(self) -> bool:
        """Whether something keeps the edit from being applied as it is."""
        return any(_holds(each) for each in self.previews)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedComment:
    """pull: the number of the pull request."""

    pull: int
    posted: Posted


def posting_place(repository: str, api: str) -> PostingPlace:
    """The repository, with the token of the environment. Raises Refusal without one, PostError as `connect` does."""
    token = os.environ.get(TOKEN, "")
    if not token:
        raise Refusal(f"{TOKEN} is not set; docs/github.md says which permissions its token needs")
    return connect(api=api, repository=repository, token=token)


def written_artifact(path: Path) -> Artifact:
    """What `write_comment` left behind. Raises Failure for one that is not believed."""
    try:
        return read(path)
    except UntrustedError as refusal:
        raise Failure(f"{refusal}; nothing was posted") from None


def recorded_drift(stack: str, path: Path) -> drift.Drift:
    """How the cloud differs, by what `preview STACK --refresh --json` printed into a file."""
    try:
        return drift.drift_of(stack, json.loads(path.read_bytes()))
    except json.JSONDecodeError:
        raise Refusal(f"{path} holds no JSON; make it with `./tidepool preview {stack} --refresh --json`") from None
    except drift.PlanError as unfit:
        raise Failure(f"{path}: {unfit}; the issue was left as it is") from None


def write_comment(
    stacks: Sequence[str], base: str, head: str | None, known: Facts, plans: Mapping[str, Path]
) -> WrittenComment:
    """What the edit from `base` to `head` means to every stack, to all where none is named.

    plans: by stack, files of what `pulumi preview --json --show-sames` printed. Raises Refusal for a version or a stack
    that is not there.
    """
    there = stacks_of(workspace().root, base, head)
    if absent := sorted({*stacks, *plans} - set(there)):
        raise Refusal(f"neither version has a stack {', '.join(absent)}; there is {', '.join(there) or 'none'}")
    previews = tuple(_planned(_preview(stack, base, head, known), plans, known) for stack in stacks or there)
    meanings = [each.meaning for each in previews if each.meaning is not None]
    told = () if len(meanings) < len(previews) else tuple(sorted(labels.wanted(meanings)))
    made = Artifact(labels=told, markdown=comment(*previews) if previews else "There is no stack.")
    return WrittenComment(previews=previews, artifact=made)


def post_comment(place: PostingPlace, made: Artifact, head: str, *, planned: bool) -> tuple[PostedComment, ...]:
    """Let the pull requests whose newest commit is `head` have the comment and the labels of an artifact.

    planned: whether it shows an engine's plan; the comment without one gives way to it. Raises PostError.
    """
    room = sticky.LONGEST - len(sticky.MARKER) - len(sticky.mark_of_plan(head)) - 2
    text = cut(f"{harmless(made.markdown)}\n\n<sub>For {head[:12]}.</sub>", room)
    posts = []
    for pull in sticky.of_head(place, head):
        posted = sticky.post(place, pull, text, head=head, planned=planned)
        labels.put(place, pull, frozenset(made.labels))
        posts.append(PostedComment(pull=pull, posted=posted))
    return tuple(posts)


def _planned(preview: Preview, plans: Mapping[str, Path], known: Facts) -> Preview:
    """The same with the stack's plan and what the rules say of it, or with the reason why it has none."""
    if preview.failure or preview.stack not in plans:
        return preview
    try:
        plan = recorded(plans[preview.stack], preview.stack)
        found = findings_of(plan, declared(preview.stack), known.today)
    except (ConfigError, Failure) as unreadable:
        return replace(preview, failure=str(unreadable))
    return replace(preview, plan=plan, findings=found)


def _holds(preview: Preview) -> bool:
    known = preview.meaning is not None and not preview.meaning.stops
    failed = bool(preview.failure) or (preview.plan is not None and preview.plan.failed)
    return failed or not known or stops(preview.findings)


def _preview(stack: str, base: str, head: str | None, known: Facts) -> Preview:
    """What the edit means to one stack, or why nobody can say."""
    try:
        return Preview(stack=stack, meaning=explain_edit(stack, base, head, known))
    except (ConfigError, Refusal) as unreadable:
        return Preview(stack=stack, failure=str(unreadable))
