"""The commands of a shell script with their words and lines, as far as rules need them.

Owns quoting, continued lines, here-documents, substitutions and `case`. Leaves what a command does to the rules. A
script that bash would refuse gives what can be read of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from workflows.checks.words import ASSIGNMENT, Word, Words, verbs

_RESERVED = frozenset(
    ("if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}", "time", "esac")
)
_SHELL = re.compile(r"(^|/)(ba|da)?sh$")
_RUNS = re.compile(r"-[a-z]*c")
_REDIRECT = re.compile(r"\d*(&>>|&>|>>|>\||>&|<&|<<<|<<-|<<|<>|>|<)")
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|\||;|&")


@dataclass(frozen=True)
class Command:
    """A simple command. line: of its first word, from 0. ends: the operator behind it, `\\n` for none.

    substituted: it stands within another command. redirects: (operator, target).
    """

    words: tuple[Word, ...]
    line: int
    ends: str
    substituted: bool
    redirects: tuple[tuple[str, Word], ...]

    @cached_property
    def arguments(self) -> tuple[Word, ...]:
        """The program and what it is given, without the assignments before it."""
        for index, word in enumerate(self.words):
            if not ASSIGNMENT.match(word.raw):
                return self.words[index:]
        return ()

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.arguments)

    @property
    def program(self) -> str:
        return self.texts[0] if self.arguments else ""

    @cached_property
    def said(self) -> str:
        """What is run in the end, with its verbs first: `sudo gcloud --quiet a b` is `gcloud a b`."""
        return verbs(self.texts)

    def option(self, *names: str) -> tuple[str, ...]:
        """Values of an option, `--name value` and `--name=value`."""
        found: list[str] = []
        texts = self.texts
        for index, each in enumerate(texts):
            for name in names:
                if each == name and index + 1 < len(texts):
                    found.append(texts[index + 1])
                elif each.startswith(f"{name}="):
                    found.append(each[len(name) + 1 :])
        return tuple(found)


@lru_cache(maxsize=512)
def commands(script: str) -> tuple[Command, ...]:
    """Every command of a script in the order in which they end, those within substitutions and `bash -c` too.

    A command of a script within a script has the line of the one that starts it.
    """
    reader = _Reader(script)
    reader.read("")
    return tuple(each for command in reader.found for each in (command, *_within(command)))


def _within(command: Command) -> Iterator[Command]:
    texts = command.texts
    for index, each in enumerate(texts[:-1]):
        shell = index and _SHELL.search(texts[index - 1]) and _RUNS.fullmatch(each)
        if shell or (each == "--command" and command.program == "gcloud"):
            for inner in commands(texts[index + 1]):
                yield replace(inner, line=command.line, substituted=True)


class _Reader(Words):
    def __init__(self, script: str) -> None:
        super().__init__(script)
        self.found: list[Command] = []
        self._depth = 0
        self._heredocs: list[tuple[str, bool]] = []

    def read(self, closing: str) -> None:
        """Commands until the sign that closes them, or the end."""
        now = _Open()
        while self._at < len(self._script):
            if now.pattern:
                self._pattern(now)
                continue
            sign = self._script[self._at]
            if sign in " \t\r":
                self._at += 1
            elif self.starts("\\\n"):
                self._at += 2
            elif sign == "#":
                self._at = self._line_end()
            elif sign == "\n":
                self._end(now, "\n")
                self._at += 1
                self._skip_heredocs()
            elif sign == closing:
                self._end(now, sign)
                self._at += 1
                return
            elif sign in "()":
                self._bracket(now, sign)
            elif redirect := _REDIRECT.match(self._script, self._at):
                self._redirect(now, redirect)
            elif operator := _OPERATOR.match(self._script, self._at):
                self._end(now, operator[0])
                self._at = operator.end()
                now.pattern = now.cases > 0 and operator[0].startswith((";;", ";&"))
            else:
                self._take(now)
        self._end(now, "")

    def _line(self) -> int:
        return self._script.count("\n", 0, self._at)

    def _line_end(self) -> int:
        end = self._script.find("\n", self._at)
        return len(self._script) if end < 0 else end

    def _end(self, now: _Open, operator: str) -> None:
        if now.words or now.redirects:
            words, redirects = tuple(now.words), tuple(now.redirects)
            self.found.append(Command(words, now.line, operator, self._depth > 0, redirects))
        now.words, now.redirects = [], []

    def _take(self, now: _Open) -> None:
        """One word, and what it means where a command begins."""
        line = self._line()
        word = self.word()
        if not now.words:
            if word.raw in _RESERVED:
                now.cases -= word.raw == "esac" and now.cases > 0
                return
            now.line = line
            if word.raw in {"[[", "(("}:
                self.until("]]" if word.raw == "[[" else "))")
        now.words.append(word)
        if word.raw == "in" and len(now.words) == 3 and now.words[0].raw == "case":
            now.words = []
            now.cases += 1
            now.pattern = True

    def _pattern(self, now: _Open) -> None:
        """A pattern of a case, up to its bracket; nothing where the case ends."""
        blank = re.compile(r"(?:\s|#[^\n]*\n)*").match(self._script, self._at)
        self._at = blank.end() if blank else self._at
        now.pattern = False
        if re.compile(r"esac\b").match(self._script, self._at):
            return
        while self._at < len(self._script) and self._script[self._at] != ")":
            if self._script[self._at] in "'\"":
                self.quoted(self._script[self._at], set())
            else:
                self._at += 2 if self._script[self._at] == "\\" else 1
        self._at += 1

    def _bracket(self, now: _Open, sign: str) -> None:
        if sign == ")" or now.words:
            if self.starts("()"):
                now.words = []  # a function's name
                self._at += 1
            self._at += 1
            return
        if self.starts("(("):
            self._at += 2
            self.until("))")
            return
        self._at += 1
        self.read(")")

    def _redirect(self, now: _Open, found: re.Match[str]) -> None:
        self._at = found.end()
        while self._at < len(self._script) and self._script[self._at] in " \t":
            self._at += 1
        if self._at < len(self._script) and self._script[self._at] == "(":
            self._at += 1  # <( ) and >( )
            self.read(")")
            return
        target = self.word()
        if found[1] in {"<<", "<<-"}:
            self._heredocs.append((target.text, found[1] == "<<-"))
        else:
            now.redirects.append((found[1], target))

    def _skip_heredocs(self) -> None:
        for delimiter, tabs in self._heredocs:
            while self._at < len(self._script):
                end = self._line_end()
                line = self._script[self._at : end]
                self._at = min(end + 1, len(self._script))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self._heredocs = []

    def substituted(self, closing: str) -> None:
        outer, self.backticked = self.backticked, closing == "`"
        self._depth += 1
        self.read(closing)
        self._depth -= 1
        self.backticked = outer


class _Open:
    """A command that is being read."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.redirects: list[tuple[str, Word]] = []
        self.line = 0
        self.cases = 0
        self.pattern = False
