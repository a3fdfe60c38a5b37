"""`preview --format markdown`: the comment of a pull request around a plan, or around what kept it from being made.

Owns where the meaning on top comes from. Does not own what a comment says (`infra.preview.comment`).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from infra.cli.echo import echo
from infra.cli.facts import read_facts
from infra.cli.options import Form
from infra.cli.workflow_facts import with_workflows
from infra.engines.protocol import EngineError
from infra.model.errors import ConfigError
from infra.operations.errors import Refusal
from infra.operations.stacks.versions import version
from infra.operations.workspace import workspace
from infra.preview.comment import Preview, comment
from infra.preview.explain import explain
from infra.preview.meaning import Meaning


def print_comment(preview: Preview) -> None:
    """The comment on stdout."""
    echo(comment(preview))


@contextmanager
def telling_failures(stack: str, form: Form, base: str | None, facts: Path | None) -> Generator[Meaning | None]:
    """Gives the meaning of the edit where a comment is asked for; the comment then says, too, why there is no plan."""
    meaning = None
    try:
        meaning = _meaning(stack, base, facts) if form is Form.MARKDOWN else None
        yield meaning
    except (ConfigError, EngineError) as error:
        if form is Form.MARKDOWN:
            # A mistake in the stack file is one of the meaning's findings.
            known = meaning is not None and isinstance(error, ConfigError)
            print_comment(Preview(stack=stack, meaning=meaning, failure="" if known else str(error)))
        raise


def _meaning(stack: str, base: str | None, facts: Path | None) -> Meaning | None:
    """What the working tree's edit of `base` means; of HEAD where no base is given, and None where there is no HEAD."""
    root = workspace().root
    try:
        earlier = version(root, stack, base or "HEAD")
    except Refusal:
        if base is not None:
            raise
        return None
    now = version(root, stack, None)
    before, after = earlier.reading(stack), now.reading(stack)
    return explain(before, after, with_workflows(read_facts(facts), earlier, now)) if before or after else None
