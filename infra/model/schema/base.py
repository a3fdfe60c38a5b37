"""What every section of a stack file is: a part of a document, and spans of time."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from pydantic import ConfigDict, create_model

from infra.model.document import DocumentPart
from infra.model.fields.common import Moment


class Section(DocumentPart):
    model_config = ConfigDict(arbitrary_types_allowed=True)


# `from` is a word of Python, so this field cannot be written as the others are.
_FromTo: Any = create_model("_FromTo", __base__=Section, **{"from": (Moment, ...), "to": (Moment, ...)})


class Span(_FromTo):
    """A stretch of days or of wall-clock time; `to` is its last day or moment."""

    @property
    def start(self) -> date | datetime:
        return getattr(self, "from")

    @property
    def end(self) -> date | datetime:
        return self.to
