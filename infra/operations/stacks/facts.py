"""Facts from other rooms, as the command line takes them: one JSON object (docs/json.md).

Owns the reading of that object. What it lacks is not known, and a meaning says so.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from infra.model.calendar import in_our_time
from infra.operations.errors import Refusal
from infra.preview.meaning import Facts

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
