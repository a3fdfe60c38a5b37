"""Of forty new faults that are put into generated files nearly all are found, and the others have their reason."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.shipped_stacks import of_this_lab
from tests.workflows.new_faults import FAULTS, Fault
from tests.workflows.test_generated_files_keep_rules import files, known, repositories
from workflows.checks import RULES, Finding, check
from workflows.dump import dump
from workflows.generate import Generated
from workflows.read import read

LEAST, FOUND = 40, 35


@of_this_lab
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.said)
def test_a_new_fault_is_found_by_its_rule_or_is_beyond_all_of_them(fault: Fault) -> None:
    found = {each.rule for each in judged(fault)}
    assert fault.found in found if fault.found else not found, f"{fault.said}: {', '.join(found) or 'nothing found'}"


def judged(fault: Fault) -> tuple[Finding, ...]:
    """What is found in the files of the repository, one of which has the fault."""
    made = repositories()[fault.repository]
    whole = [*files(fault.repository)]
    index = next(number for number, each in enumerate(made) if each.path.endswith(f"/{fault.file}"))
    whole[index] = read(fault.put(in_full(made[index])), made[index].path)
    return check(whole, known())


def in_full(file: Generated) -> str:
    """The file with every script in it, for faults in those, too."""
    return dump(replace(file.workflow.document(), data=file.workflow.plain()))


def test_each_fault_is_found_or_has_its_reason_and_nearly_all_are_found() -> None:
    assert all(bool(each.found) != bool(each.beyond) for each in FAULTS)
    assert {each.found for each in FAULTS if each.found} <= {rule.id for rule in RULES}
    assert len(FAULTS) >= LEAST
    assert sum(bool(each.found) for each in FAULTS) >= FOUND


def test_no_fault_is_named_twice() -> None:
    assert len({re.sub(r"\W", "", each.said) for each in FAULTS}) == len(FAULTS)
