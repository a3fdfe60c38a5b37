"""What the tier of changed code judges: its table names what is there, and a score is what was seen."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest

from tests.mutants import CHECKOUT, GROUPS, Change, Score, change, judged, main

SEEN = Change("a.f", "x = 1", "x = 2")
EQUAL = Change("a.g", "y = 1", "y = 2")


def test_every_group_names_modules_and_tests_that_are_there_each_module_once() -> None:
    groups = tomllib.loads(GROUPS.read_text())["groups"]
    named = [part for group in groups.values() for part in (*group["modules"], *group["tests"])]
    assert [part for part in named if not (CHECKOUT / part).exists()] == []
    modules = Counter(module for group in groups.values() for module in group["modules"])
    assert [module for module, times in modules.items() if times > 1] == []


def test_a_group_that_is_not_there_is_refused_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["phases", "nothing"]) == 2
    assert capsys.readouterr().err.startswith("there is no group nothing; groups are phases, record, ")


def test_a_change_is_told_by_its_function_and_lines() -> None:
    shown = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n     def x():\n-        return 1\n+        return 2\n"
    assert change("a.b.xǁThingǁ__str____mutmut_3", shown) == Change("a.b.Thing.__str__", "return 1", "return 2")
    assert change("a.b.x__private__mutmut_12", shown).where == "a.b._private"


def group(*survivors: Change) -> dict[str, object]:
    return {"survivors": [each._asdict() for each in survivors]}


@pytest.mark.parametrize(
    ("made", "named", "fine", "said"),
    [
        (20, (), True, "g: 95.0 % of 20 changes seen, 1 not, 0 named"),
        (19, (), False, "g: 94.7 % of 19 changes seen, 1 not, 0 named"),
        (2, (EQUAL,), True, "g: 100.0 % of 1 changes seen, 0 not, 1 named"),
    ],
)
def test_a_group_is_fine_from_its_goal_and_named_survivors_do_not_count(
    made: int, named: tuple[Change, ...], fine: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged("g", group(*named), Score(made, (EQUAL,)), 95) is fine
    told = capsys.readouterr().out
    assert told.endswith(f"{said}\n")
    assert (str(EQUAL) in told) is not bool(named)


def test_a_survivor_that_is_named_and_seen_is_a_mistake_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert not judged("g", group(SEEN), Score(20, ()), 95)
    assert "is named as a survivor of g and is seen: take it out of mutants.toml" in capsys.readouterr().out
