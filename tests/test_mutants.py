"""What the tier of changed code changes, how it tries a change, and how it judges: its table names what is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.mutant_changes import Change
from tests.mutants import CHECKOUT, GROUPS, Score, files, judged

SEEN = Change("a.f", "x = 1", "x = 2")
EQUAL = Change("a.g", "y = 1", "y = 2")
MODULE = '''\
"""A module."""

from functools import cache

LIMIT = 5
OVER = lambda size: size > LIMIT


def named(size: int) -> str:
    if size >= LIMIT:
        return "large"
    return "small"


class Shelf:
    @property
    def room(self) -> int:
        def free() -> int:
            return 1 + 1

        return free()


@cache
def kept() -> int:
    return 3


def never() -> int:
    return 4


def sized(size: int) -> str:
    match size + 1:
        case 1:
            return "none"
        case _:
            return "some"
'''
TESTS = """\
from changed import Shelf, kept, named


def test_what_is_small_has_its_name():
    assert named(4) == "small"


def test_what_is_large_has_a_name():
    assert named(6)


def test_a_shelf_has_room():
    assert Shelf().room == 2


def test_what_is_kept_is_made_once():
    assert kept()


def test_what_is_kept_is_right():
    assert kept() == 3
"""


def test_every_group_names_modules_and_tests_that_are_there_each_module_once() -> None:
    groups = tomllib.loads(GROUPS.read_text())["groups"]
    named = [part for group in groups.values() for part in (*group["modules"], *group["tests"])]
    assert [part for part in named if not (CHECKOUT / part).exists()] == []
    modules = Counter(module for group in groups.values() for module in files(group["modules"]))
    assert [module for module, times in modules.items() if times > 1] == []


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module and its tests."""
    (tmp_path / "changed.py").write_text(MODULE)
    (tmp_path / "test_changed.py").write_text(TESTS)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_change_is_tried_on_what_comes_past_it_and_is_not_hidden_by_what_was_kept(lab: Path) -> None:
    out = lab / "out.json"
    job = {"modules": ["changed.py"], "sample": None, "out": str(out)}
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "TIDEPOOL_MUTANTS": json.dumps(job)}
    command = (sys.executable, "-m", "pytest", "-q", "-p", "tests.mutant_trials", "test_changed.py")
    done = subprocess.run(command, cwd=lab, env=environment, check=False, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    result = json.loads(out.read_text())
    unseen = {Change(*each) for each in result["unseen"]}
    assert result["tried"] == result["made"] > len(unseen)
    assert {change.where for change in unseen} == {"changed", "changed.named", "changed.never", "changed.sized"}
    assert Change("changed.named", "if size >= LIMIT:", "if size > LIMIT:") in unseen
    assert Change("changed.named", "if size >= LIMIT:", "if size < LIMIT:") not in unseen


def group(*survivors: Change) -> dict[str, object]:
    return {"survivors": [each._asdict() for each in survivors]}


@pytest.mark.parametrize(
    ("made", "tried", "named", "fine", "said"),
    [
        (20, 20, (), True, "g: 95.0 % of 20 changes seen, 1 not, 0 named"),
        (19, 19, (), False, "g: 94.7 % of 19 changes seen, 1 not, 0 named"),
        (2, 2, (EQUAL,), True, "g: 100.0 % of 1 changes seen, 0 not, 1 named"),
        (99, 20, (SEEN,), True, "g: 95.0 % of 20 changes seen (a sample of 99), 1 not, 0 named"),
    ],
)
def test_a_group_is_fine_from_its_goal_and_named_survivors_do_not_count(
    made: int, tried: int, named: tuple[Change, ...], fine: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged("g", group(*named), Score(made, tried, (EQUAL,)), 95) is fine
    told = capsys.readouterr().out
    assert told.endswith(f"{said}\n")
    assert (str(EQUAL) in told) is (EQUAL not in named)


def test_a_survivor_that_is_named_and_seen_is_a_mistake_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert not judged("g", group(SEEN), Score(20, 20, ()), 95)
    assert "is named as a survivor of g and is seen: take it out of mutants.toml" in capsys.readouterr().out
