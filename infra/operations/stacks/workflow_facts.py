"""What workflows say of an edit of a stack file: what they ask of the fleet, and which of their files it leaves behind.

Owns where both come from: the list of demands of the version that is judged, and the generator, asked with the stacks
of both versions. The generator is imported where a checkout has specifications and the edit changes a stack or one of
them, for its start takes longer than all else that `explain` does. It reads specifications of the working tree, and
never code of a version that is judged.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING

from infra.model.demand import FILE, Demands, read_demands
from infra.model.errors import ConfigError
from infra.operations.stacks.versions import Version
from infra.preview.meaning import Facts

if TYPE_CHECKING:
    from workflows.outputs import Outputs
    from workflows.standing import Stands

_SPECS = "workflows/spec"
_GENERATED = ("workflows", ".github")
_SOURCES = (_SPECS, "images/images.yaml")
_ALL = ""
"""What the path of every file starts with."""


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
