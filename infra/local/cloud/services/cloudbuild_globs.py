"""Which files a trigger's `includedFiles` and `ignoredFiles` name, as Cloud Build reads them.

Owns the language, Go's `filepath.Match` with `**`: `*` is any run of characters but a slash, `?` one of them, `[a-c]`
and `[^a-c]` one of a set, a backslash takes the next character as it is, and `**` as a whole part any folders, none
included. There are no braces, and `!` means nothing: `[!a]` is a set of two characters. Sources, read 2026-11-21:
https://pkg.go.dev/path/filepath#Match and
https://cloud.google.com/build/docs/automating-builds/create-manage-triggers#build_trigger
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from wcmatch import glob

_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.CASE | glob.FORCEUNIX
# One item of a pattern: an escaped character, a whole set, a bracket that closes nothing, or any other character.
_ITEM = re.compile(r"\\.|\[(?P<negated>\^?)(?P<set>(?:\\.|[^\]\\])+)\]|(?P<broken>\[|\\\Z)|.", re.DOTALL)
_MEMBER = re.compile(r"\\.|.", re.DOTALL)


def problem(pattern: str) -> str | None:
    """Why Go refuses a pattern; None when it takes it."""
    if any(item["broken"] for item in _ITEM.finditer(pattern)):
        return f"syntax error in pattern '{pattern}'"
    return None


def matches(path: str, pattern: str) -> bool:
    """Whether a path from the top of a repository is one that the pattern names."""
    return _compiled(pattern).match(path)


def wanted(changed: Iterable[str], *, included: Sequence[str], ignored: Sequence[str]) -> list[str]:
    """The changed files for which a trigger with these filters starts a build; none where the filters leave none."""
    kept = [path for path in changed if not any(matches(path, pattern) for pattern in ignored)]
    if not included:
        return kept
    return [path for path in kept if any(matches(path, pattern) for pattern in included)]


@cache
def _compiled(pattern: str) -> glob.WcMatcher[str]:
    return glob.compile(_ITEM.sub(_translated, pattern), flags=_FLAGS)


def _translated(item: re.Match[str]) -> str:
    """A set with every member that wcmatch would read as more than a character escaped."""
    if item["set"] is None:
        return item[0]
    members = (member if member == "-" or len(member) > 1 else f"\\{member}" for member in _MEMBER.findall(item["set"]))
    return f"[{'^' if item['negated'] else ''}{''.join(members)}]"
