"""Rules over an edit: the table of edits and what is found in them, what a manifest says stands, exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.model.bounds import Fleet, fleet, limits
from infra.model.manifest import manifest
from infra.model.phases import Phases, phases
from infra.model.schema import RuleException, StackConfig
from infra.rules.book import EDIT_RULES, RESOURCE_RULES, judge
from infra.rules.exceptions import WORDS, covers
from infra.rules.finding import Finding, Level
from infra.rules.rule import Edit
from infra.rules.standing import standing
from tests.model.clustered import text
from tests.model.given import parse, pool, sibling, stack_text
from tests.rules.right_edits import POOLS, config, edit, vm

FOLDER = Path(__file__).parent
EDITS = yaml.safe_load((FOLDER / "edits.yaml").read_text(encoding="utf-8"))
GOLDEN = FOLDER / "golden" / "edit-findings.txt"
PAGE = FOLDER.parents[1] / "docs" / "rules.md"
RESOURCES = {"right": vm(), "no account": vm(serviceAccount=None)}
BUDGET = "usd_per_month: 100\n"
RESERVATION = """\
- {name: lab, project: my-lab, zone: us-east5-a, generation: v5p, chips: 16}
"""


def reserved(name: str, count: int) -> str:
    return pool(name=name, accelerator="v5p-8", zones=f"{{us-east5-a: {count}}}", capacity="{reserved: lab}")


def swapped(first: int, second: int) -> StackConfig:
    """Four slices of one pool and none of the other fill the reservation."""
    return config(pools=reserved("tpu-a", first) + reserved("tpu-b", second), reservations=RESERVATION)


def order(before: StackConfig, after: StackConfig) -> Phases:
    return phases(fleet(before), fleet(after), limits(after))


def exception(
    rule: str = "no-default-account", subject: str = "tpu-ci-us-west4-a-0 (tpu.V2Vm)", day: str = "2026-12-01"
) -> str:
    return f"- {{rule: {rule}, subject: '{subject}', reason: An old VM that goes in December, expires: {day}}}\n"


def stack(sections: Mapping[str, Any]) -> StackConfig:
    """A stack as the table says it."""
    given = dict(sections)
    cluster, (old, new) = given.pop("cluster", None), given.pop("replace", ("", ""))
    written = {"pools": POOLS} | {key: yaml.safe_dump(section, sort_keys=False) for key, section in given.items()}
    whole = text() if cluster is not None else stack_text(**written)
    made = parse(whole.replace(old, new) if old else whole)
    if cluster:
        assert made.cluster is not None
        made = made.model_copy(update={"cluster": made.cluster.model_copy(update=cluster)})
    return made


def made(case: Mapping[str, Any]) -> Edit:
    after = stack(case.get("after", {}))
    known = {key: case[key] for key in ("today", "changes", "removed", "window_hours", "runs_phases") if key in case}
    if "before" in case:
        known["before"] = stack(case["before"])
    if "standing" in case:
        known["order"] = order(stack(case["standing"]), after)
    siblings = [{key: yaml.safe_dump(each) for key, each in other.items()} for other in case.get("siblings", ())]
    return edit(after, siblings=tuple(sibling(**other) for other in siblings), **known)


def found(case: Mapping[str, Any]) -> tuple[Finding, ...]:
    seen = {"resources": [RESOURCES[each] for each in case["resources"]]} if "resources" in case else {}
    return judge(made(case), *seen.values())


@pytest.mark.parametrize("case", EDITS, ids=lambda case: case["what"])
def test_rules_find_in_an_edit_what_the_table_says(case: Mapping[str, Any]) -> None:
    assert [f"{each.rule} {each.level}" for each in found(case)] == case["found"]


def test_the_words_of_every_finding_over_an_edit_are_those_that_were_read_last(update_goldens: bool) -> None:
    said = ""
    for case in (each for each in EDITS if each["found"]):
        said += f"{case['what']}\n"
        for each in found(case):
            said += f"  {each.rule} ({each.level}) {each.subject}: {each.reason}\n    {each.fix}\n"
    if update_goldens:
        GOLDEN.write_text(said, encoding="utf-8")
    assert said == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_every_rule_has_an_id_of_its_own_and_its_level_on_the_page() -> None:
    rules = [(rule.id, rule.level.value) for rule in (*EDIT_RULES, *RESOURCE_RULES)]
    rules += [(rule, level.value) for rule, (level, _) in WORDS.items()]
    assert len(dict(rules)) == len(rules)
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [tuple(each.strip(" `") for each in line.split("|")[1:3]) for line in lines if line.startswith("| `")]
    assert [row for row in rows if row[1] in ("stop", "warn")] == rules


# What a published manifest says of what stands.


def test_a_published_manifest_says_what_stands_and_which_vm_would_be_replaced() -> None:
    before, after = swapped(4, 0), swapped(2, 2)
    document = manifest(before, bundle="ab" * 32, startup_script="#!/bin/sh\n")
    assert phases(_known(document, after), fleet(after), limits(after)) == order(before, after)
    assert phases(_known(document, before), fleet(before), limits(before)).order == ()
    document["slots"][0]["node"]["runtimeVersion"] = "another"
    assert phases(_known(document, before), fleet(before), limits(before)).order


@pytest.mark.parametrize("wrong", [{}, {"version": 2}, {"version": 1, "slots": [{}]}, {"version": 1, "slots": [None]}])
def test_a_manifest_of_another_shape_is_not_known(wrong: dict[str, object]) -> None:
    assert standing(wrong, config()) is None


def _known(document: dict[str, Any], after: StackConfig) -> Fleet:
    known = standing(document, after)
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("excepted", "subject", "covered"),
    [
        ("fleet", "fleet (storage.Bucket)", True),
        ("fleet (storage.Bucket)", "fleet (storage.Bucket)", True),
        ("flee*", "fleet (storage.Bucket)", True),
        ("other", "fleet (storage.Bucket)", False),
        ("fleet", "fleet (storage", False),
        ("fleet)", "fleet)", True),
    ],
)
def test_an_exception_without_a_type_covers_all_of_that_name_and_no_other(
    excepted: str, subject: str, covered: bool
) -> None:
    accepted = RuleException(rule="protected", subject=excepted, reason="why", expires="2026-12-31")
    assert covers(accepted, Finding("protected", Level.STOP, subject, "reason", "fix")) is covered
    assert not covers(accepted, Finding("freeze", Level.STOP, subject, "reason", "fix"))
