"""What rules and linters find: nothing in generated files, planted faults, and those of the lab's old files."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.synthetic_lab import the_lab
from tests.workflows.linters import THEIRS, linted
from tests.workflows.sandbox.generated import OWN, generated
from tests.workflows.specs import world
from workflows.checks import RULES, Known, check, pools_of
from workflows.dump import dump
from workflows.generate import Generated
from workflows.read import WorkflowFile, read
from workflows.spec import spec_names

FAULTS = yaml.safe_load((Path(__file__).parent / "faults.yaml").read_text())
LINTED = [each for each in FAULTS if each.get("found") in THEIRS]
LEAST, FOUND = 40, 35


@cache
def made() -> dict[str, Generated]:
    return {name: file for name, (_, file) in generated(world()).items()}


@cache
def known() -> Known:
    return Known(pools=pools_of(world().stacks.values()))


@cache
def read_back(name: str) -> WorkflowFile:
    """As rules judge it: with the script of each action in its place."""
    return made()[name].whole()


@cache
def in_full(name: str) -> str:
    """The file with every script in it, for faults in those, too."""
    return dump(replace(made()[name].workflow.document(), data=made()[name].workflow.plain()))


def faulty(fault: dict[str, Any]) -> str:
    text, count = re.subn(fault["old"], fault["new"], in_full(fault["in"]), count=1)
    assert count, f"{fault['in']} has nothing like {fault['old']}"
    return text


@pytest.mark.parametrize("of", [OWN, *spec_names(the_lab())])
def test_nothing_is_found_in_generated_files(of: str) -> None:
    found = check([read_back(name) for name in made() if name.startswith(f"{of}/")], known())
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("fault", [each for each in FAULTS if each not in LINTED], ids=lambda fault: fault["what"])
def test_a_planted_fault_is_found_by_its_rule_or_is_beyond_all_of_them(fault: dict[str, Any]) -> None:
    of = fault["in"].partition("/")[0]
    files = {name: read_back(name) for name in made() if name.startswith(f"{of}/")}
    files[fault["in"]] = read(faulty(fault), files[fault["in"]].source)
    found = {each.rule for each in check(files.values(), known())}
    assert fault["found"] in found if "found" in fault else not found, found


def test_a_fault_that_is_left_to_a_linter_is_found_by_it_and_nothing_is_without_the_fault(tmp_path: Path) -> None:
    texts = {each["what"]: faulty(each) for each in LINTED}
    found = linted(texts | {f"without {each['what']}": in_full(each["in"]) for each in LINTED}, tmp_path)
    assert all(each["found"] in {rule for rule, _ in found[each["what"]]} for each in LINTED)
    assert not any(found[f"without {each['what']}"] for each in LINTED)
    assert {each["found"] for each in LINTED} == THEIRS


def test_each_planted_fault_is_found_or_has_its_reason_and_nearly_all_are_found() -> None:
    assert all(("found" in each) is not ("beyond" in each) for each in FAULTS)
    assert {each["found"] for each in FAULTS if "found" in each} <= {rule.id for rule in RULES} | THEIRS
    assert len(FAULTS) >= LEAST
    assert sum("found" in each for each in FAULTS) >= FOUND


# The lab's old files, with the faults of each beside it.

CORPUS = Path(__file__).parent / "corpus"
