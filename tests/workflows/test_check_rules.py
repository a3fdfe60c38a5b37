"""Each rule finds what breaks it, and nothing in what keeps it; the page of rules says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.workflows.linters import THEIRS
from tests.workflows.rule_examples import EXAMPLES
from tests.workflows.rule_examples.files import COMMIT, Data, files, texts, workflow
from workflows.checks import RULES, Fault, Known, check
from workflows.dump import CommentedData, dump
from workflows.read import read

GOLDEN = Path(__file__).parent / "golden" / "faults.txt"
PAGE = Path(__file__).parents[2] / "docs" / "workflow-rules.md"


AROUND = frozenset(
    ("asks-first", "prepared-first", "history-is-there", "variable-is-set", "secret-for-forks", "rights-suffice")
)  # fmt: skip
"""Rules of what a whole file has around a step. Examples are excerpts, so that their own alone keep them."""


BEFORE = ".github/workflows/#-quiet.yaml"
QUIET = dump(CommentedData(workflow(name="Quiet", on={"workflow_dispatch": {}})))
"""A file without fault, and without whatever a rule looks for: it is judged first, and hides nothing of the others."""


def broken(data: tuple[Data, ...], known: Known, rule: str) -> list[Fault]:
    return [
        each
        for each in check((read(QUIET, BEFORE), *files(data)), known)
        if each.rule == rule or each.rule not in AROUND
    ]


def line_of(data: tuple[Data, ...], fault: Fault) -> str:
    """The line of a file that a fault is told at."""
    return {BEFORE: QUIET, **texts(data)}[fault.file].splitlines()[fault.line - 1].strip().replace(COMMIT, "COMMIT")


def cases(kind: str) -> list[object]:
    return [
        pytest.param(rule, data, example.known, id=f"{rule}-{number}")
        for rule, example in EXAMPLES.items()
        for number, data in enumerate(getattr(example, kind))
    ]


@pytest.mark.parametrize(("rule", "data", "known"), cases("bad"))
def test_what_breaks_a_rule_is_found_by_that_rule_alone(rule: str, data: tuple[Data, ...], known: Known) -> None:
    found = broken(data, known, rule)
    assert {each.rule for each in found} == {rule}, "\n".join(map(str, found))


@pytest.mark.parametrize(("rule", "data", "known"), cases("good"))
def test_nothing_is_found_in_what_keeps_a_rule(rule: str, data: tuple[Data, ...], known: Known) -> None:
    found = broken(data, known, rule)
    assert not found, "\n".join(map(str, found))


def test_the_words_of_every_fault_are_those_that_were_read_last(update_goldens: bool) -> None:
    found = {
        f"{fault.rule} of job {fault.job or '-'} at `{line_of(data, fault)}`\n  {fault.reason}\n  {fault.fix}\n"
        for rule, example in EXAMPLES.items()
        for data in example.bad
        for fault in broken(data, example.known, rule)
    }
    text = "".join(sorted(found))
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_every_rule_has_examples_of_both_kinds() -> None:
    assert {rule.id for rule in RULES} == EXAMPLES.keys()
    assert all(example.bad and example.good for example in EXAMPLES.values())


def test_every_rule_has_a_name_of_its_own() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_the_page_says_of_every_rule_what_holds_why_what_breaks_it_and_what_to_write() -> None:
    """But for backslashes, of which a page needs more or fewer."""
    lines = (line for line in PAGE.read_text().splitlines() if line.startswith("| `"))
    rows = [re.split(r" (?<!\\)\| ", line.removeprefix("| ").removesuffix(" |")) for line in lines]
    told = {row[0].strip("`"): row[-1].replace("\\", "") for row in rows if len(row) == 5 and all(row)}
    assert told == {rule.id: rule.fix.replace("\\", "") for rule in RULES}


def test_the_page_says_which_rule_of_a_linter_stands_for_what() -> None:
    rows = re.findall(r"^\| [^|]+ \| `(\w+/[\w-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert set(rows) == THEIRS
