"""What registries answer about the pin table, compared with what it says, and the table with answers written into it.

Owns the comparison, the file of answers and the edit of the table's text. Who asks registries is `infra.fleet.images`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from infra.model.document import DocumentPart
from infra.model.errors import ConfigError, Problem
from infra.model.fields.common import Day
from infra.model.images.pins import PINS_FILE, UNRESOLVED, Base, Digest, PinName, Pins, Sha256, Source
from infra.model.images.reading import WrittenFile, parsed
from infra.model.images.spec import Version
from infra.model.json_shape import JsonShape


class PinOutcome(StrEnum):
    """What an answer means for its entry."""

    SAME = "same"
    RESOLVED = "resolved"
    """The entry was unresolved; now its value is known."""
    NEWER = "newer"
    """The tag of a base names another digest than the pinned one: an image was pushed since."""
    CHANGED = "changed"
    """A download of a stated version has other bytes than the pinned ones: never written, a person must look."""


@dataclass(frozen=True, slots=True, order=True)
class PinAnswer:
    """What was read for one entry: a base's digest or a download's checksum, where, and on which day (UTC)."""

    name: str
    value: str
    source: str
    read: date


@dataclass(frozen=True, slots=True)
class PinFinding(JsonShape):
    """An answer beside the entry that it is about."""

    JSON = ("answer.name", "outcome", "pinned", "answered=answer.value", "answer.source", "answer.read")

    answer: PinAnswer
    pinned: str
    outcome: PinOutcome

    @property
    def differs(self) -> bool:
        return self.outcome is not PinOutcome.SAME


def compare(pins: Pins, answers: Iterable[PinAnswer]) -> tuple[PinFinding, ...]:
    """Each answer with what it means, by name; KeyError for an entry that the table has not."""
    return tuple(_finding(pins, answer) for answer in sorted(answers))


def _finding(pins: Pins, answer: PinAnswer) -> PinFinding:
    entry = pins.entry(answer.name)
    if entry is None:
        raise KeyError(answer.name)
    pinned = entry.digest if isinstance(entry, Base) else entry.sha256
    if pinned == answer.value:
        outcome = PinOutcome.SAME
    elif entry.is_unresolved:
        outcome = PinOutcome.RESOLVED
    else:
        outcome = PinOutcome.NEWER if isinstance(entry, Base) else PinOutcome.CHANGED
    return PinFinding(answer=answer, pinned=pinned, outcome=outcome)


def written(text: str, findings: Iterable[PinFinding]) -> str:
    """The table's text with what was resolved and what is newer: value, source and day; all else stays as it stands."""
    pins_text, lines = WrittenFile.read(text, PINS_FILE), text.splitlines(keepends=True)
    for finding in findings:
        if finding.outcome not in (PinOutcome.RESOLVED, PinOutcome.NEWER):
            continue
        answer = finding.answer
        kind, key = ("bases", "digest") if answer.value.startswith("sha256:") else ("downloads", "sha256")
        for field, value in ((key, answer.value), ("source", answer.source), ("read", answer.read.isoformat())):
            number = pins_text.lines[kind, answer.name, field] - 1
            lines[number] = _replaced(lines[number], field, value)
    return "".join(lines)


def _replaced(line: str, field: str, value: str) -> str:
    """The line with another value of the field; a comment behind it stays."""
    return re.sub(rf"(\b{field}:\s*)[^\s,}}]+", lambda found: f"{found[1]}{value}", line, count=1)


class _Entry(DocumentPart):
    value: Digest | Sha256
    source: Source
    read: Day


class _File(DocumentPart):
    """What `./tidepool images bases --ask --json` prints; what it says besides the answers is worked out anew."""

    version: Version
    answers: dict[PinName, _Entry]
    findings: tuple[Any, ...] = ()
    failures: tuple[Any, ...] = ()
    exit: int = 0


def answers_json(answers: Iterable[PinAnswer]) -> dict[str, Any]:
    """Answers as a file that `parse_answers` reads."""
    entries = {
        each.name: {"value": each.value, "source": each.source, "read": each.read.isoformat()}
        for each in sorted(answers)
    }
    return {"version": 1, "answers": entries}


def parse_answers(text: str, pins: Pins, source: str) -> tuple[PinAnswer, ...]:
    """The answers that a file has about this table; ConfigError with every problem. `source`: how people call it."""
    given = WrittenFile.read(text, source)
    file, problems = parsed(_File, given.data, given.subject)
    for name, entry in file.answers.items() if file is not None else ():
        where = given.subject(("answers", name))
        if (known := pins.entry(name)) is None:
            problems.append(Problem(where, name, f"{PINS_FILE} has no such entry", "ask again with this table"))
        elif entry.value == UNRESOLVED:
            rule = "an answer is a digest or a checksum; what got none is left out"
            problems.append(Problem(where, entry.value, rule, "ask again where there is internet"))
        elif entry.value.startswith("sha256:") is not isinstance(known, Base):
            rule = "a base has a digest (sha256:...), a download a checksum without it"
            problems.append(Problem(where, json.dumps(entry.value), rule, "ask again with this table"))
    if file is None or problems or given.problems:
        raise ConfigError([*given.problems, *problems])
    return tuple(PinAnswer(name, each.value, each.source, each.read) for name, each in file.answers.items())
