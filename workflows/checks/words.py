"""The words of a shell script (quotes, escapes, expansions), and what a command of them runs in the end.

Owns programs that run others (`timeout`, `sudo`, `uv run`, `python -m`) and the options that may stand before a verb.
Leaves what stands between words to `shell`.
"""

from __future__ import annotations

import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=")
_VARIABLE = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*)")
_ENDS_WORD = frozenset(" \t\n;&|<>()")
_WRAPPERS = frozenset(
    ("timeout", "gtimeout", "sudo", "env", "nohup", "exec", "command", "nice", "stdbuf", "setsid", "xargs")
)
_WRAPPER_VALUED = frozenset(("-k", "-s", "-u", "-n", "-I", "-P", "-L", "--kill-after", "--signal"))
_UV_VALUED = frozenset(
    ("--package", "--extra", "--group", "--only-group", "--no-group", "--with", "--with-editable",
     "--with-requirements", "--python", "-p", "--directory", "--project", "--env-file", "--index", "--from")
)  # fmt: skip
_BEFORE_VERBS: Mapping[str, frozenset[str]] = {
    "gcloud": frozenset(
        ("--project", "--account", "--configuration", "--impersonate-service-account", "--verbosity", "--format")
    ),
    "git": frozenset(("-C", "-c", "--git-dir", "--work-tree")),
    "docker": frozenset(("--context", "-c", "--host", "-H", "--config", "--log-level", "-l")),
    "pulumi": frozenset(("-C", "--cwd", "--color", "-v", "--verbose")),
    "terraform": frozenset(),
    "kubectl": frozenset(("-n", "--namespace", "--context", "--kubeconfig")),
    "helm": frozenset(("-n", "--namespace", "--kube-context", "--kubeconfig")),
    "gh": frozenset(("-R", "--repo")),
    "crane": frozenset(("--platform",)),
}
"""Programs whose options may stand before their verbs, and those of them that take the next word."""
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"python(\d+(\.\d+)?)?")
_TESTS = frozenset(("pytest", "py.test", "unittest"))
TALK = frozenset(("echo", "printf", ":"))
"""Commands whose words are only words."""
_NAME_ONLY = TALK | {
    "pip", "pip3", "uv", "apt", "apt-get", "conda", "mamba", "brew", "which", "type", "grep", "cat", "ls", "rm", "git",
}  # fmt: skip
"""Programs that speak of a test runner without running it."""


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


def unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command that is run in the end: `timeout 5 sudo a b` is `a b`, and `uv run python -m a` is `a`."""
    while words:
        program, behind = posixpath.basename(words[0]), words[1:]
        if program in _WRAPPERS:
            words = _past_options(behind, _WRAPPER_VALUED)
            if program in {"timeout", "gtimeout"}:
                words = words[1:]
        elif program == "uvx" or (program, *behind[:1]) in {("uv", "run"), ("pipx", "run"), ("poetry", "run")}:
            words = _past_options(behind if program == "uvx" else behind[1:], _UV_VALUED)
        elif _PYTHON.fullmatch(program) and "-m" in behind and _only_options(behind[: behind.index("-m")]):
            words = behind[behind.index("-m") + 1 :]
        else:
            break
    return words


def verbs(words: tuple[str, ...]) -> str:
    """The command as one line that begins with the program and its verbs, whatever options stand between them."""
    words = unwrapped(words)
    valued = _BEFORE_VERBS.get(posixpath.basename(words[0])) if words else None
    if valued is None:
        return " ".join(words)
    kept: list[str] = []
    skipped = False
    for word in words:
        if skipped or word.startswith("-"):
            skipped = not skipped and word in valued
        else:
            kept.append(word)
    return " ".join(kept)


def test_words(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """What a runner of tests is given, None where none is run."""
    words = unwrapped(words)
    if not words or posixpath.basename(words[0]) in _NAME_ONLY:
        return None
    found = next((index for index, word in enumerate(words) if posixpath.basename(word) in _TESTS), None)
    return None if found is None else words[found + 1 :]


def filled(word: str, values: Mapping[str, str]) -> str:
    """A word with the variables in it whose values are known."""
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: values.get(found[1] or found[2], found[0]), word)


def _past_options(words: tuple[str, ...], valued: frozenset[str]) -> tuple[str, ...]:
    while words and (words[0].startswith("-") or _ASSIGNED.match(words[0])):
        words = words[2 if words[0] in valued else 1 :]
    return words


def _only_options(words: tuple[str, ...]) -> bool:
    return all(word.startswith("-") for word in words)
