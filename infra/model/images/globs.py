"""Path filters: one small language that Cloud Build's included files, GitHub's `paths` and this program read alike.

A filter is a path from the top of a repository. `*` stands for any characters but a slash, `**` as a whole part for
any folders, none included. What one of the three reads differently (`?`, `[a]`, `!x`, braces, a leading slash) is none.
Sources, read 2026-11-21: https://cloud.google.com/build/docs/automating-builds/create-manage-triggers (filepath.Match
of Go, with `**`) and https://docs.github.com/actions/reference/workflow-syntax-for-github-actions (filter patterns).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from wcmatch import glob

_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.CASE | glob.FORCEUNIX
_PART = re.compile(r"\*\*|(?!.*\*\*)[A-Za-z0-9_.*-]+")


def is_path_filter(text: str) -> bool:
    """Whether all readers understand this filter alike."""
    return all(_PART.fullmatch(part) and part not in (".", "..") for part in text.split("/"))


def matches(path: str, pattern: str) -> bool:
    """Whether a path from the top of the repository is one that the filter names."""
    return _compiled(pattern).match(path)


def first_match(path: str, patterns: Iterable[str]) -> str | None:
    """The first filter that names the path."""
    return next((pattern for pattern in patterns if matches(path, pattern)), None)


@cache
def _compiled(pattern: str) -> glob.WcMatcher[str]:
    return glob.compile(pattern, flags=_FLAGS)
