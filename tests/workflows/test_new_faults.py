"""Of forty new faults that are put into generated files nearly all are found, and the others have their reason."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.workflows.linters import THEIRS, linted
from tests.workflows.new_faults import FAULTS
from tests.workflows.new_faults import Fault as Planted
from tests.workflows.test_generated_files_keep_rules import files, known, repositories
from workflows.checks import RULES, Fault, check
from workflows.dump import dump
from workflows.read import read

LEAST, FOUND = 40, 35
LINTED = [each for each in FAULTS if each.found in THEIRS]


@pytest.mark.parametrize("fault", [each for each in FAULTS if each.found not in THEIRS], ids=lambda fault: fault.said)
def test_a_new_fault_is_found_by_its_rule_or_is_beyond_all_of_them(fault: Planted) -> None:
    found = {each.rule for each in judged(fault)}
    assert fault.found in found if fault.found else not found, f"{fault.said}: {', '.join(found) or 'nothing found'}"


def test_a_fault_that_is_left_to_a_linter_is_found_by_it_and_nothing_is_without_the_fault(tmp_path: Path) -> None:
    faulty = {each.said: put(each) for each in LINTED}
    without = {f"without {each.said}": in_full(each.repository, each.file) for each in LINTED}
    found = linted(faulty | without, tmp_path)
    assert all(each.found in {rule for rule, _ in found[each.said]} for each in LINTED)
    assert not any(found[name] for name in without)
    assert {each.found for each in LINTED} == THEIRS


def judged(fault: Planted) -> tuple[Fault, ...]:
    """What is found in the files of the repository, one of which has the fault."""
    whole = [*files(fault.repository)]
    index = next(number for number, each in enumerate(whole) if each.source.endswith(f"/{fault.file}"))
    whole[index] = read(put(fault), whole[index].source)
    return check(whole, known())


def put(fault: Planted) -> str:
    return fault.put(in_full(fault.repository, fault.file))


@cache
def in_full(repository: str, name: str) -> str:
    """The file with every script in it, for faults in those, too."""
    file = next(each for each in repositories()[repository] if each.path.endswith(f"/{name}"))
    return dump(replace(file.workflow.document(), data=file.workflow.plain()))


def test_each_fault_is_found_or_has_its_reason_and_nearly_all_are_found() -> None:
    assert all(bool(each.found) != bool(each.beyond) for each in FAULTS)
    assert {each.found for each in FAULTS if each.found} <= {rule.id for rule in RULES} | THEIRS
    assert len(FAULTS) >= LEAST
    assert sum(bool(each.found) for each in FAULTS) >= FOUND


def test_no_fault_is_named_twice() -> None:
    assert len({re.sub(r"\W", "", each.said) for each in FAULTS}) == len(FAULTS)
