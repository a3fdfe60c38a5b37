"""From YAML text to a typed model with every problem at its line: what the files below images/ share.

Owns no key and no rule of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from infra.model import refusals, yamlfile
from infra.model.errors import Problem
from infra.model.refusals import Subject
from infra.model.yamlfile import Form, YamlPath

M = TypeVar("M", bound=BaseModel)
PAGE = "docs/images.md"

_FORM = Form(kind="such a file", content="version: 1 and further keys", first="version: 1", page=PAGE)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file's plain data, where its parts stand, and mistakes of syntax that did not keep it from being read."""

    source: str
    data: Mapping[str, Any]
    lines: Mapping[YamlPath, int]
    problems: tuple[Problem, ...]

    @classmethod
    def read(cls, text: str, source: str) -> WrittenFile:
        """ConfigError where nothing of the text can be read."""
        document = yamlfile.read(text, source, _FORM)
        return cls(source=source, data=document.data, lines=document.lines, problems=document.problems)

    def subject(self, path: YamlPath) -> str:
        """How a path is called in messages."""
        return yamlfile.subject(self.source, self.lines, path)


def parsed(model: type[M], data: object, subject: Subject) -> tuple[M | None, list[Problem]]:
    """The model, or None with what is wrong in its single values."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return None, list(refusals.problems(error, model, subject, page=PAGE))
