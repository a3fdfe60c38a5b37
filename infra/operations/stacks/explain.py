"""What an edit of a stack file means, from its two versions alone: no cloud, no credentials, no code of either.

Owns the reading of facts from other rooms, one JSON object (docs/json.md): what it lacks is not known.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from infra.model.calendar import in_our_time
from infra.operations.errors import Refusal
from infra.operations.stacks.versions import version
from infra.operations.stacks.workflow_facts import with_workflows
from infra.operations.workspace import workspace
from infra.preview.explain import explain
from infra.preview.meaning import Facts, Meaning

_MAX_HOURS = 744


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    today: Annotated[AwareDatetime, AfterValidator(in_our_time)] | None = None
    busy: dict[str, str] | None = None
    stale: tuple[str, ...] | None = None
    labelsUsed: dict[str, tuple[str, ...]] | None = None  # noqa: N815 - the spelling of the JSON object
    windowHours: dict[str, Annotated[float, Field(ge=0, le=_MAX_HOURS)]] | None = None  # noqa: N815


def read_facts(path: Path | None) -> Facts:
    """The facts of a file; without one nothing is known but the time."""
    given = _read(path) if path else _Document()
    return Facts(
        today=given.today or datetime.now(UTC),
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
