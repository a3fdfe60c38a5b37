"""The words of a shell script: quotes, escapes, expansions. Leaves what stands between words to `shell`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=")
_VARIABLE = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*)")
_ENDS_WORD = frozenset(" \t\n;&|<>()")


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes, as written, and the variables that it expands."""

    text: str
    raw: str
    expands: frozenset[str] = frozenset()


class Words(ABC):
    """A place in a script, and the word that begins there."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._at = 0
        self.backticked = False
        """Whether a backtick ends what is read, which begins one otherwise."""

    @abstractmethod
    def substituted(self, closing: str) -> None:
        """Read the commands of a substitution, up to the sign that closes it."""

    def starts(self, text: str) -> bool:
        return self._script.startswith(text, self._at)

    def until(self, closing: str) -> None:
        end = self._script.find(closing, self._at)
        self._at = len(self._script) if end < 0 else end + len(closing)

    def word(self) -> Word:
        start = self._at
        pieces: list[str] = []
        expands: set[str] = set()
        while self._at < len(self._script):
            sign = self._script[self._at]
            if sign == "(" and ASSIGNMENT.fullmatch(self._script[start : self._at]):
                self._array()
            elif sign in _ENDS_WORD or (sign == "`" and self.backticked):
                break
            elif sign == "\\":
                pieces.append("" if self.starts("\\\n") else self._script[self._at + 1 : self._at + 2])
                self._at += 2
            elif sign in "'\"":
                pieces.append(self.quoted(sign, expands))
            else:
                pieces.append(self._plain(expands))
        if self._at == start:
            self._at += 1
        return Word("".join(pieces), self._script[start : self._at], frozenset(expands))

    def _array(self) -> None:
        """`NAME=( ... )`, whose lines are no commands."""
        depth = 0
        while self._at < len(self._script):
            sign = self._script[self._at]
            if sign in "'\"":
                self.quoted(sign, set())
                continue
            depth += (sign == "(") - (sign == ")")
            self._at += 1
            if not depth:
                return

    def quoted(self, quote: str, expands: set[str]) -> str:
        self._at += 1
        pieces: list[str] = []
        while self._at < len(self._script) and self._script[self._at] != quote:
            if quote == '"' and self._script[self._at] == "\\":
                following = self._script[self._at + 1 : self._at + 2]
                pieces.append("" if following == "\n" else following if following in '"\\$`' else f"\\{following}")
                self._at += 2
            elif quote == '"':
                pieces.append(self._plain(expands))
            else:
                pieces.append(self._script[self._at])
                self._at += 1
        self._at += 1
        return "".join(pieces)

    def _plain(self, expands: set[str]) -> str:
        """One sign, or one expansion as it is written."""
        start = self._at
        if self.starts("${{"):
            self.until("}}")
        elif self.starts("$(("):
            self._at += 3
            self.until("))")
        elif self.starts("$("):
            self._at += 2
            self.substituted(")")
        elif self.starts("`"):
            self._at += 1
            self.substituted("`")
        elif self.starts("$'"):
            self._at += 1
            return self.quoted("'", expands)
        elif self.starts("${"):
            if found := _VARIABLE.match(self._script, self._at):
                expands.add(found[1])
            self.until("}")
        else:
            if self.starts("$") and (found := _VARIABLE.match(self._script, self._at)):
                expands.add(found[1])
                self._at = found.end()
            else:
                self._at += 1
        return self._script[start : self._at]
