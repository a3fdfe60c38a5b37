"""The valid parts of a stack file with mistakes: whole sections, and whole items of lists.

Owns that nothing half-read is ever seen. Every object that leaves this module has every field that its type declares,
so rules need no guards. Rules name the sections that they read (`infra.model.rules.common`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from infra.model.errors import Problem
from infra.model.schema import StackConfig

STAND_INS: Final[Mapping[str, Any]] = {
    "project": "not-known",
    "owner": "not-known",
    "bucket": {"name": "not-known", "location": "us"},
}
"""Values of the required sections where the file has no valid ones. Nothing shows or compares them."""

_HIDE_LIMITS = frozenset(("project", "reservations", "quotas"))
_HIDE_CHIPS = frozenset(("pools", "slices", "runs"))
"""Sections whose mistakes may hide a limit, or chips that a stack draws on one: a wrong owner hides neither."""


class UnsureStack(StackConfig):
    """The valid parts of another stack's file that has mistakes.

    problems: every mistake of the file by itself. hides_chips: whether they may hide chips that a limit has to cover.
    hides_limits: whether they may hide a limit, and not only what the stack draws on those of others.
    """

    problems: tuple[Problem, ...]
    hides_chips: bool
    hides_limits: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """The valid parts of one file.

    config: complete; lists lack their invalid items, other invalid sections have their default or a stand-in. refused:
    the sections that are not valid as a whole. places: for a list that lacks items, the index in the file of each item
    that is left. error: what pydantic refused, None for a valid file.
    """

    config: StackConfig
    refused: frozenset[str] = frozenset()
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)
    error: ValidationError | None = None

    def items(self, section: str) -> tuple[tuple[int, Any], ...]:
        """The valid items of a list, each with its index in the file."""
        items = getattr(self.config, section)
        return tuple(zip(self.places.get(section, range(len(items))), items, strict=True))


def draft(raw: Mapping[str, Any]) -> Draft:
    """The valid parts of the fields of a StackConfig, given as plain data with a valid `stack`."""
    try:
        return Draft(StackConfig.model_validate(raw))
    except ValidationError as error:
        wrong: dict[str, set[int | str]] = {}
        for detail in error.errors(include_url=False, include_input=False):
            section, *below = detail["loc"]
            wrong.setdefault(str(section), set()).update(below[:1] or ("",))
        places = {
            section: [index for index in range(len(raw[section])) if index not in indices]
            for section, indices in wrong.items()
            if isinstance(raw.get(section), list) and "" not in indices
        }
        valid = {section: value for section, value in raw.items() if section not in wrong}
        valid |= {section: [raw[section][index] for index in kept] for section, kept in places.items()}
        missing = {section: value for section, value in STAND_INS.items() if section not in valid}
        config = StackConfig.model_validate({**valid, **missing})
        return Draft(config, frozenset(wrong), places, error)


def unsure_stack(parts: Draft, problems: Sequence[Problem], *, unread: bool, misplaced: bool = False) -> UnsureStack:
    """Another stack whose file has those mistakes.

    unread: whether one of them may hide any section. misplaced: whether pools or slices are not what somebody meant.
    """
    hides_limits = unread or not _HIDE_LIMITS.isdisjoint(parts.refused)
    return UnsureStack.model_construct(
        **parts.config.__dict__,
        problems=tuple(problems),
        hides_limits=hides_limits,
        hides_chips=hides_limits or misplaced or not _HIDE_CHIPS.isdisjoint(parts.refused),
    )
