"""The one family of errors that a person can mend by editing configuration.

Owns how a problem is said: subject, value, rule, next step. Does not own finding problems; callers
collect every `Problem` of an input and raise one `ConfigError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from difflib import get_close_matches

from infra.model.secret_values import without_secrets

_MAX_SHOWN = 80


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake in an input.

    subject: where it is, as a person finds it: `stacks/Pulumi.ci.yaml:42 tidepool:pools[0].zones.us-west4-a`.
    value: what stands there, already rendered; empty where nothing stands there.
    rule: what is wrong, or what must hold where that says it; people read it as the problem.
    fix: what to write instead.
    """

    subject: str
    value: str
    rule: str
    fix: str

    def __str__(self) -> str:
        said = f": {self.value}" if self.value else ""
        return f"{self.subject}{said}\n  problem: {self.rule}\n  write: {self.fix}"


class OutsideError(Exception):
    """What is not of this program's making refused or did not answer: a cloud, GitHub, a registry, another process.

    Its text is what a person reads, wherever it ends.
    """


class EngineError(Exception):
    """An engine's operation that could not start or go on. Names subject, cause and next step, and no secret.

    A resource that fails is a step of the plan, and not an error.
    """


class ConfigError(Exception):
    """Every problem of one input, sorted; shown to people without a traceback (exit code 2).

    What a problem repeats of the input may be a secret that stands in the wrong place; it is masked here.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted({_masked(each) for each in problems}, key=_reading_order))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def nearest(name: str, known: Iterable[str]) -> str:
    """The one of these that a mistyped name most likely meant; empty where none is like it."""
    return next(iter(get_close_matches(name, list(known), n=1)), "")


def meant(name: str, known: Iterable[str]) -> str:
    """The same as a question, to follow a sentence."""
    near = nearest(name, known)
    return f" Did you mean {near!r}?" if near else ""


def _masked(problem: Problem) -> Problem:
    return Problem(*map(without_secrets, astuple(problem)))


def _reading_order(problem: Problem) -> tuple[object, ...]:
    """Line 9 before line 10: numbers within a subject compare as numbers."""
    parts = re.split(r"(\d+)", problem.subject)
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts)), problem


def shown(value: object) -> str:
    """A value as it stands in the file, shortened when it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:  # what could just be read may be nested too deeply to be written from here
        return "nested too deeply"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
