"""What an edit of a stack file means, from its two versions alone: no cloud, no credentials, no code of either.

Owns the reading of facts from other rooms, one JSON object (docs/json.md): what it lacks is not known. What workflows
say of the edit is asked where that object does not have it: by the list of demands of the version that is judged, and
by the generator with the stacks of both versions. The generator is imported only where a checkout has specifications
and the edit changes a stack or one of them, for its start takes longer than all else.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, AwareDatetime, Field, ValidationError

from infra.model.calendar import in_our_time
from infra.model.demand import FILE, Demands, read_demands
from infra.model.document import DocumentPart
from infra.model.errors import ConfigError, meant
from infra.model.stack_text import stack_names
from infra.operations.declared.versions import Version, version
from infra.operations.errors import Refusal
from infra.operations.workspace import workspace
from infra.preview.explain import explain
from infra.preview.meaning import Facts, Meaning, VersionName

if TYPE_CHECKING:
    from workflows.outputs import Outputs
    from workflows.standing import Stands

_SPECS = "workflows/spec"
_GENERATED = ("workflows", ".github")
_SOURCES = (_SPECS, "images/images.yaml")
_ALL = ""
"""What the path of every file starts with."""
_MAX_HOURS = 744


class _Document(DocumentPart):
    today: Annotated[AwareDatetime, AfterValidator(in_our_time)] | None = None
    busy: dict[str, str] | None = None
    stale: tuple[str, ...] | None = None
    labelsUsed: dict[str, tuple[str, ...]] | None = None  # noqa: N815 - the spelling of the JSON object
    windowHours: dict[str, Annotated[float, Field(ge=0, le=_MAX_HOURS)]] | None = None  # noqa: N815


def read_facts(path: Path | None, now: datetime) -> Facts:
    """The facts of a file; without one nothing is known but the time. now: the time where the file says none."""
    if path is None:
        return Facts(today=now)
    given = _read(path)
    return Facts(
        today=given.today or now,
        busy=given.busy,
        stale=None if given.stale is None else tuple(sorted(set(given.stale))),
        labels_used=given.labelsUsed,
        window_hours=given.windowHours,
    )


def _read(path: Path) -> _Document:
    try:
        return _Document.model_validate_json(path.read_bytes())
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror or error}") from None
    except ValidationError as error:
        said = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'the file'}: {each['msg']}"
            for each in error.errors(include_url=False, include_input=False)
        )
        raise Refusal(f"{path} holds no facts (docs/json.md): {said}") from None


def explain_edit(stack: str, base: str, head: str | None, known: Facts) -> Meaning | None:
    """What the edit from one version to another means; None where neither has the stack.

    base, head: a git reference or a file; None for the working tree. Raises Refusal for a version that is not there,
    and ConfigError for one that cannot be read.
    """
    root = workspace().root
    versions = version(root, stack, base), version(root, stack, head)
    before, after = (each.reading(stack) for each in versions)
    if before is None and after is None:
        return None
    was, becomes = (VersionName(ref=ref, commit=each.commit) for ref, each in zip((base, head), versions, strict=True))
    meaning = explain(before, after, with_workflows(known, *versions))
    return replace(meaning, base_version=was, head_version=becomes)


def nowhere(stack: str, base: str, head: str | None) -> Refusal:
    """That neither version has the stack, with the one that was probably meant."""
    there = stack_names(workspace().root)
    said = f"there is no stack named {stack}, neither in {base} nor in {head or 'the working tree'}."
    return Refusal(f"{said}{meant(stack, there)} Stacks are {', '.join(there)}")


def explain_working_tree(stack: str, base: str | None, known: Facts) -> Meaning | None:
    """What the working tree's edit of `base` means; of HEAD where no base is given, and None where there is no HEAD."""
    try:
        return explain_edit(stack, base or "HEAD", None, known)
    except Refusal:
        if base is not None:
            raise
        return None


def with_workflows(facts: Facts, before: Version, after: Version) -> Facts:
    """The facts with what workflows say, where nobody has given it; ConfigError for a list that cannot be read."""
    demands = _demands(after) if facts.demands is None else facts.demands
    labels = facts.labels_used
    if labels is None and demands is not None:
        labels = demands.labels_used()
    stale = _stale(before, after) if facts.stale is None else facts.stale
    return replace(facts, demands=demands, labels_used=labels, stale=stale)


def _demands(version: Version) -> Demands | None:
    """What workflows ask by the list of a version; by its sources where somebody has just edited them."""
    content = version.content(FILE)
    listed = read_demands(content) if content is not None else None
    if listed is None or not version.edited(*_SOURCES):
        return listed
    try:
        return _outputs(version).demands or listed
    except ConfigError:
        return listed


def _stale(before: Version, after: Version) -> tuple[str, ...] | None:
    """The generated files that the edit leaves behind, None where that is not known."""
    if not (after.root / _SPECS).is_dir():
        return None
    if before.files == after.files:
        return ()
    from workflows.standing import stale

    try:
        was, becomes = _outputs(before), _outputs(after)
    except ConfigError:
        return None  # a stack file with mistakes, which are told as findings
    return tuple(str(each) for each in stale(was, becomes, _stands(before, after)))


def _outputs(version: Version) -> Outputs:
    """All that is generated with the stacks of a version; ConfigError where one of them is not right."""
    from workflows.outputs import Outputs, outputs
    from workflows.world import load_world

    stacks = version.stacks()
    try:
        return outputs(version.root, load_world(version.root, stacks))
    except ConfigError as error:
        return Outputs(problems={"generated workflow files": error.problems[:1]}, hidden=(_ALL,))


def _stands(before: Version, after: Version) -> Stands:
    """Whether a file has a text: of the working tree its content is read.

    Of a commit, a file that differs from the earlier version's counts as made anew with it: the specification may have
    changed too, and its checks hold the file against both.
    """
    if after.commit is None:
        return lambda path, text: _content(after.root / path) == text
    now = after.blobs(*_GENERATED)
    earlier = before.blobs(*_GENERATED) if before.commit is not None else {}
    return lambda path, text: now.get(path) == _blob(text) or (bool(earlier) and now.get(path) != earlier.get(path))


def _content(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _blob(text: str) -> str:
    """The name that git gives to a content."""
    content = text.encode()
    return sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()
