"""The one family of errors that a person can mend by editing configuration.

Owns how a problem is said: subject, value, rule, next step. Does not own finding problems; callers
collect every `Problem` of an input and raise one `ConfigError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from difflib import SequenceMatcher
from operator import itemgetter

from infra.model.secret_values import without_secrets

_MAX_SHOWN = 80
_MAX_TEXT = 2000
_LONG_WORD = re.compile(r"([^\s.]{80})[^\s.]{80,}")
_MOST_NAMED = 8
"""Names beside the nearest that a message lists."""
_ALIKE = 0.6
"""Share of characters in common from which on a name may be a mistyped one; difflib's own default."""


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
    unchecked: the stacks that could not be checked for these problems, each with the stacks that it reads.
    """

    def __init__(self, problems: Iterable[Problem], unchecked: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.problems = tuple(sorted({_masked(each) for each in problems}, key=_reading_order))
        self.unchecked = dict(unchecked or {})
        super().__init__("\n".join([*map(str, self.problems), *unchecked_lines(self.unchecked)]))


def unchecked_lines(unchecked: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """`2 stacks not checked: nightly, training (they read ci)`, a line for each set of stacks that is read."""
    for read in dict.fromkeys(unchecked.values()):
        stacks = [stack for stack, each in unchecked.items() if each == read]
        what, who = ("1 stack", "it reads") if len(stacks) == 1 else (f"{len(stacks)} stacks", "they read")
        yield f"{what} not checked: {', '.join(stacks)} ({who} {', '.join(read)})"


def nearest(name: str, known: Iterable[str]) -> str:
    """The one of these that a mistyped name most likely meant, the first of equals; empty where none is like it."""
    compared = known if len(name) <= _MAX_SHOWN else ()  # takes the square of its length
    alike = [(SequenceMatcher(None, name.lower(), each.lower()).ratio(), each) for each in compared]
    ratio, best = max(alike, key=itemgetter(0), default=(0, ""))
    return best if ratio >= _ALIKE else ""


def suggestion(name: str, known: Iterable[str], listed: str) -> str:
    """What to write in place of a mistyped name: the nearest known one first, then the others.

    listed: what has all of them where they are too many to name, such as a command or a page; or what to write where
    there is none.
    """
    names = tuple(dict.fromkeys(known))
    near = nearest(name, names)
    others = [each for each in names if each != near]
    rest = listed if len(others) > _MOST_NAMED or not names else f"one of {', '.join(others)}" if others else ""
    return ", or ".join(filter(None, (near, rest)))


def meant(name: str, known: Iterable[str]) -> str:
    """The same as a question, to follow a sentence."""
    near = nearest(name, known)
    return f" Did you mean {near!r}?" if near else ""


def _masked(problem: Problem) -> Problem:
    return Problem(*(_brief(without_secrets(part)) for part in astuple(problem)))


def _brief(text: str) -> str:
    """The text without the rest of what is too long to be read, such as a key of 5,000 digits."""
    text = _LONG_WORD.sub(r"\1...", text)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."


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
