"""An edit of one count of a committed stack needs no second command: no other committed file repeats the count."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from infra.model.fit import misfits
from infra.model.stack_text import stack_source
from infra.model.unclaimed import MisfitKind
from infra.model.yamlfile import YamlPath, read
from infra.operations.declared.versions import Version
from tests.lab.committed import ROOT, STACKS, shipped
from workflows.outputs import Outputs, outputs
from workflows.world import load_world

COUNTS: Final = {"number", "nodes", "minimum", "maximum", "buffer", "at_once", "per_day", "slices"}
BY_ZONE: Final = {"zones", "adds"}
DECISION: Final = re.compile(r"^ *max[-_]parallel: .*$", re.MULTILINE)
"""What a size may decide in a generated file."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One count of a stack file, changed where it stands."""

    stack: str
    line: int
    key: str
    count: int
    by: int

    def __str__(self) -> str:
        return f"{self.stack}:{self.line} {self.key} {self.count}{self.by:+}"

    @property
    def version(self) -> Version:
        """The checkout with the edit, which is of this line alone."""
        lines = shipped(self.stack).splitlines(keepends=True)
        lines[self.line - 1], times = re.subn(
            rf"\b{self.key}: {self.count}\b", f"{self.key}: {self.count + self.by}", lines[self.line - 1]
        )
        assert times == 1
        return version({self.stack: "".join(lines)})


def version(edited: Mapping[str, str]) -> Version:
    texts = {stack: edited.get(stack, shipped(stack)) for stack in STACKS}
    return Version(source="edited", files={stack: text.encode() for stack, text in texts.items()}, root=ROOT)


def counts(value: object, path: YamlPath = ()) -> Iterator[tuple[YamlPath, int]]:
    """Every count of a stack file, by its path."""
    if isinstance(value, int) and not isinstance(value, bool):
        if path[-1] in COUNTS or (len(path) > 1 and path[-2] in BY_ZONE):
            yield path, value
        return
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from counts(part, (*path, key))


def edits() -> Iterator[Edit]:
    for stack in STACKS:
        document = read(shipped(stack), stack)
        for path, count in counts(document.data):
            for by in (1, -1):
                yield Edit(stack, document.lines[path], str(path[-1]), count, by)


EDITS: Final = list(edits())


@cache
def committed_outputs() -> Outputs:
    return outputs(ROOT, load_world(ROOT))


def test_every_kind_of_count_is_edited() -> None:
    assert {each.key for each in EDITS} >= COUNTS - {"number", "minimum"} | {"us-west4-a", "us-central1-b"}
    assert {each.stack for each in EDITS} == set(STACKS)


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_an_edit_is_refused_by_a_rule_or_changes_no_generated_file(edit: Edit) -> None:
    edited = edit.version
    reading = edited.reading(edit.stack)
    assert reading is not None
    if reading.problems:
        assert all(each.subject and each.rule and each.fix for each in reading.problems)
        return
    stacks = edited.stacks()
    before, after = committed_outputs(), outputs(ROOT, load_world(ROOT, stacks))
    assert after.problems == {}
    assert after.texts.keys() == before.texts.keys()
    changed = [path for path, text in after.texts.items() if text != before.texts[path]]
    same = [path for path in changed if DECISION.findall(after.texts[path]) == DECISION.findall(before.texts[path])]
    assert same == [], "these files repeat a count"
    assert after.demands is not None
    stopping = {each.kind for each in misfits(list(stacks.values()), after.demands) if each.stops}
    assert stopping <= ({MisfitKind.RUNNER} if edit.by < 0 else set()), "the last VM of a pool is missed by its jobs"


@pytest.mark.heavy
@pytest.mark.parametrize("by", [1, -1])
def test_every_check_of_this_lab_passes_on_a_commit_of_one_number_a_stack(tmp_path: Path, by: int) -> None:
    copy = tmp_path / "tidepool"
    subprocess.run(["git", "clone", "-q", ROOT, copy], check=True)
    (copy / ".venv").symlink_to((ROOT / ".venv").resolve())
    for stack in STACKS:
        edits = (each for each in EDITS if (each.stack, each.by) == (stack, by) and each.count + by > 0)
        files = (each.version for each in edits)
        edited = next(each for each in files if (reading := each.reading(stack)) and not reading.problems)
        (copy / stack_source(stack)).write_bytes(edited.files[stack])
    subprocess.run(
        ["git", "-C", copy, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "x"], check=True
    )
    lab = [copy / "tidepool", "test", "--unit", "--", "-n", "2", "--dist", "loadscope", "tests/lab"]
    for command in ([copy / "tidepool", "workflows", "--check"], lab):
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stdout[-4000:]
