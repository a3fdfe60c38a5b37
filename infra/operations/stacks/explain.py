"""What an edit of a stack file means, from its two versions alone: no cloud, no credentials, no code of either."""

from __future__ import annotations

from pathlib import Path

from infra.operations.errors import Refusal
from infra.operations.stacks.facts import read_facts
from infra.operations.stacks.versions import version
from infra.operations.stacks.workflow_facts import with_workflows
from infra.operations.workspace import workspace
from infra.preview.explain import explain
from infra.preview.meaning import Facts, Meaning


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
    return explain(before, after, with_workflows(known, *versions))


def explain_working_tree(stack: str, base: str | None, facts: Path | None) -> Meaning | None:
    """What the working tree's edit of `base` means; of HEAD where no base is given, and None where there is no HEAD."""
    known = read_facts(facts)
    try:
        return explain_edit(stack, base or "HEAD", None, known)
    except Refusal:
        if base is not None:
            raise
        return None
