"""What a command runs in the end, told in its own words: verbs without options, tests, what stands in variables.

Owns programs that run others (`timeout`, `sudo`, `uv run`, `python -m`) and the options that may stand before a verb.
Leaves the words of a command to `shell`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

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
