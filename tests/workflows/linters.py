"""What actionlint and zizmor find, the tools themselves: of rules that they have in full there is none of our own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.lacking import lacking

BIN = Path(sys.executable).parent
THEIRS = frozenset(
    ("actionlint/expression", "actionlint/if-cond", "actionlint/job-needs", "zizmor/template-injection",
     "zizmor/unpinned-uses")
)  # fmt: skip
"""Rules of theirs that stand in for one of ours each, on the page of rules."""


def linted(files: Mapping[str, str], folder: Path) -> dict[str, set[tuple[str, int]]]:
    """The rules and lines that both tools find in workflow files, by the names of the files, each a repository's own.

    Only what is in THEIRS. Where actionlint is absent the test is skipped, or with TIDEPOOL_STRICT=1 fails.
    """
    paths: dict[Path, str] = {}
    for name, text in files.items():
        path = folder / name / ".github" / "workflows" / "file.yaml"
        path.parent.mkdir(parents=True)
        (folder / name / ".git").mkdir()
        path.write_text(text)
        paths[path.resolve()] = name
    found: dict[str, set[tuple[str, int]]] = {name: set() for name in files}
    for path, rule, line in (*_actionlint(paths), *_zizmor(paths)):
        if rule in THEIRS:
            found[paths[path]].add((rule, line))
    return found


def _actionlint(paths: Mapping[Path, str]) -> Iterator[tuple[Path, str, int]]:
    program = shutil.which("actionlint", path=f"{BIN}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        lacking("actionlint is not installed")
    told = _said(program, "-shellcheck", "", "-format", "{{json .}}", *map(str, paths))
    yield from ((Path(each["filepath"]).resolve(), f"actionlint/{each['kind']}", each["line"]) for each in told)


def _zizmor(paths: Mapping[Path, str]) -> Iterator[tuple[Path, str, int]]:
    options = ("--offline", "--no-progress", "--no-exit-codes", "--format", "json")
    for each in _said(str(BIN / "zizmor"), *options, *map(str, paths)):
        first = next(place for place in each["locations"] if place["symbolic"]["kind"] == "Primary")
        line = first["concrete"]["location"]["start_point"]["row"] + 1
        yield Path(first["symbolic"]["key"]["Local"]["verbatim_path"]).resolve(), f"zizmor/{each['ident']}", line


def _said(*command: str) -> list[dict]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)
