"""Rules over an edit: freezes, budget, phases; and exceptions, which are judged themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.model.bounds import Fleet, fleet, limits
from infra.model.manifest import manifest
from infra.model.phases import Phases, phases
from infra.model.schema import RuleException, StackConfig
from infra.rules.book import EDIT_RULES, RESOURCE_RULES, judge, stops
from infra.rules.exceptions import covers
from infra.rules.finding import Finding, Level
from infra.rules.standing import standing
from infra.rules.view import ResourceView
from tests.model.given import pool, sibling
from tests.rules.right_edits import SERVED, TODAY, config, edit, rules, vm

FREEZE = """\
- name: paper-deadline
  time_zone: America/Los_Angeles
  from: 2026-11-20
  to: 2026-11-21
"""
OVERRIDE = FREEZE + "  override: {until: 2026-11-22, reason: The runners are down and the paper needs them.}\n"
LATER = FREEZE.replace("11-20", "12-20").replace("11-21", "12-24")
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


# Freezes


def test_a_change_inside_a_freeze_stops() -> None:
    (found,) = judge(edit(config(freezes=FREEZE)))
    assert (found.rule, found.level, found.subject) == ("freeze", Level.STOP, "freezes[paper-deadline]")
    assert "2026-11-21 (America/Los_Angeles)" in found.reason


def test_a_freeze_ends_by_the_clock_of_its_own_time_zone() -> None:
    after = config(freezes=FREEZE)
    last = datetime(2026, 11, 22, 7, 59, tzinfo=UTC)
    assert rules(judge(edit(after, today=last))) == ["freeze"]
    assert judge(edit(after, today=last + timedelta(minutes=1))) == ()


def test_a_freeze_that_is_yet_to_come_holds_nothing_up() -> None:
    assert judge(edit(config(freezes=LATER))) == ()


def test_an_edit_that_changes_nothing_may_pass_a_freeze() -> None:
    assert judge(edit(config(freezes=FREEZE), changes=False)) == ()


def test_what_is_not_known_to_change_nothing_is_stopped_and_says_so() -> None:
    (found,) = judge(edit(config(freezes=FREEZE), changes=None))
    assert found.stops
    assert "whether anything changes is not known" in found.reason


def test_an_override_lets_a_change_pass_and_is_told() -> None:
    (found,) = judge(edit(config(freezes=OVERRIDE)))
    assert found.level is Level.WARN
    assert "The runners are down" in found.reason


@pytest.mark.parametrize("freezes", [{}, {"freezes": LATER}], ids=["removed", "moved"])
def test_an_edit_cannot_take_away_the_freeze_that_it_is_made_in(freezes: dict[str, str]) -> None:
    assert stops(judge(edit(config(**freezes), before=config(freezes=FREEZE))))


# Budget


def test_more_than_the_budget_stops() -> None:
    (found,) = judge(edit(config(budget=BUDGET)))
    assert (found.rule, found.level) == ("within-budget", Level.STOP)
    assert "over the $100.00 allowed" in found.reason


def test_an_edit_that_makes_an_overspent_stack_cheaper_is_only_warned_of() -> None:
    dear = config(pools=pool(name="tpu-ci", zones="{us-west4-a: 9}"), budget=BUDGET)
    cheaper = config(pools=pool(name="tpu-ci", zones="{us-west4-a: 8}"), budget=BUDGET)
    assert [finding.level for finding in judge(edit(cheaper, before=dear))] == [Level.WARN]
    assert [finding.level for finding in judge(edit(dear, before=cheaper))] == [Level.STOP]


def test_hours_of_a_window_count_and_not_the_whole_month() -> None:
    after = config(pools=pool(name="tpu-ci"), budget=BUDGET)
    assert stops(judge(edit(after)))
    assert judge(edit(after, window_hours={"tpu-ci": 1.0})) == ()


def test_a_stack_without_a_budget_may_cost_what_it_does() -> None:
    assert judge(edit(config())) == ()


# Phases


def test_a_swap_in_a_full_reservation_is_warned_of_with_the_command_to_use() -> None:
    before, after = swapped(4, 0), swapped(2, 2)
    (found,) = judge(edit(after, order=order(before, after)))
    assert (found.rule, found.level) == ("phases-needed", Level.WARN)
    assert "./tidepool up ci" in found.fix
    assert "us-east5-a v5p reservation lab" in found.reason


def test_growth_within_the_reservation_needs_no_phases() -> None:
    before, after = swapped(2, 0), swapped(2, 1)
    assert judge(edit(after, order=order(before, after))) == ()


def test_where_nobody_knows_what_stands_the_finding_says_so() -> None:
    (found,) = judge(edit(swapped(2, 2)))
    assert found.level is Level.WARN
    assert "not known" in found.reason


def test_who_runs_the_phases_himself_is_not_warned() -> None:
    assert judge(edit(swapped(2, 2), runs_phases=True)) == ()


def test_a_published_manifest_says_what_stands() -> None:
    before, after = swapped(4, 0), swapped(2, 2)
    document = manifest(before, bundle="ab" * 32, startup_script="#!/bin/sh\n")
    assert phases(_known(document, after), fleet(after), limits(after)) == order(before, after)
    assert phases(_known(document, before), fleet(before), limits(before)).order == ()


def test_a_vm_that_would_be_replaced_is_told_from_one_that_stays() -> None:
    before = swapped(4, 0)
    document = manifest(before, bundle="ab" * 32, startup_script="x")
    document["slots"][0]["node"]["runtimeVersion"] = "another"
    assert phases(_known(document, before), fleet(before), limits(before)).order


@pytest.mark.parametrize("wrong", [{}, {"version": 2}, {"version": 1, "slots": [{}]}, {"version": 1, "slots": [None]}])
def test_a_manifest_of_another_shape_is_not_known(wrong: dict[str, object]) -> None:
    assert standing(wrong, config()) is None


def _known(document: dict[str, Any], after: StackConfig) -> Fleet:
    found = standing(document, after)
    assert found is not None
    return found


# What runs the broker and the controller


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        ("regions: [us-central1]\nrepositories: [{name: marin}]\n", ""),
        ("regions: [us-central1]\nrepositories: [{name: other}]\n", "us-central1-docker.pkg.dev/my-lab/other"),
        ("regions: [us-west4]\nrepositories: [{name: marin}]\n", "us-west4-docker.pkg.dev/my-lab/marin"),
    ],
    ids=["declared", "another repository", "another region"],
)
def test_what_runs_the_controller_is_in_a_repository_that_the_stack_declares(declared: str, named: str) -> None:
    found = judge(edit(config(**SERVED | {"registries": declared})))
    assert [(each.rule, each.level) for each in found] == ([("service-image-declared", Level.WARN)] if named else [])
    assert all(each.fix == f"an image in {named}" for each in found)


def test_a_repository_of_another_stack_of_the_project_is_declared_too() -> None:
    after = config(**{key: text for key, text in SERVED.items() if key != "registries"})
    (found,) = judge(edit(after))
    assert "no stack declares" in found.reason
    assert judge(edit(after, siblings=(sibling(registries=SERVED["registries"]),))) == ()


# Exceptions

DEFAULT = vm(serviceAccount=None)


def judged(exceptions: str, *resources: ResourceView) -> tuple[Finding, ...]:
    return judge(edit(config(exceptions=exceptions)), resources)


def test_an_excepted_finding_is_not_told() -> None:
    assert rules(judge(edit(config()), [DEFAULT])) == ["no-default-account"]
    assert judged(exception(), DEFAULT) == ()


def test_an_exception_may_end_in_a_star() -> None:
    assert judged(exception(subject="tpu-ci-*"), DEFAULT) == ()


@pytest.mark.parametrize("subject", [DEFAULT.subject, DEFAULT.name])
def test_an_exception_may_name_a_resource_with_its_type_or_without(subject: str) -> None:
    assert judged(exception(subject=subject), DEFAULT) == ()


@given(
    name=st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True),
    other=st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True),
)
def test_an_exception_without_a_type_covers_all_of_that_name_and_no_other(name: str, other: str) -> None:
    accepted = RuleException(rule="protected", subject=name, reason="why", expires="2026-12-31")
    for kind in ("tpu.V2Vm", "storage.Bucket"):
        finding = Finding("protected", Level.STOP, f"{other} ({kind})", "reason", "fix")
        assert covers(accepted, finding) == (name == other)
    assert not covers(accepted, Finding("protected", Level.STOP, f"{name} (storage", "reason", "fix"))


@pytest.mark.parametrize("subject", ["tpu-other-*", "tpu-ci", "*-0", f"{DEFAULT.name} (storage.Bucket)"])
def test_an_exception_covers_its_subject_alone(subject: str) -> None:
    assert "no-default-account" in rules(judged(exception(subject=subject), DEFAULT))


def test_an_exception_is_good_through_its_last_day() -> None:
    assert judged(exception(day=TODAY.date().isoformat()), DEFAULT) == ()


def test_an_expired_exception_stops_and_what_it_covered_is_told_again() -> None:
    found = judged(exception(day="2026-11-20"), DEFAULT)
    assert rules(found) == ["exception-expired", "no-default-account"]
    assert all(finding.stops for finding in found)


def test_an_exception_to_no_rule_is_warned_of_with_the_rule_that_was_meant() -> None:
    (found,) = judged(exception(rule="no-default-acount"))
    assert (found.rule, found.level) == ("exception-unknown", Level.WARN)
    assert found.fix.startswith("no-default-account")


def test_an_exception_that_meets_nothing_is_warned_of() -> None:
    (found,) = judged(exception(), vm())
    assert (found.rule, found.level) == ("exception-unused", Level.WARN)


def test_an_exception_that_meets_nothing_hears_which_subject_was_meant() -> None:
    found = judged(exception(subject="tpu-ci-us-west4-a-O"), DEFAULT)
    (unused,) = (each for each in found if each.rule == "exception-unused")
    assert unused.fix == f"{DEFAULT.subject}, or remove it"


def test_an_exception_is_not_called_unused_where_its_rule_did_not_run() -> None:
    assert judge(edit(config(exceptions=exception()))) == ()


def test_no_exception_covers_an_expired_one() -> None:
    covering = exception(rule="exception-expired", subject="exceptions[0]")
    assert "exception-expired" in rules(judged(exception(day="2026-11-20") + covering, DEFAULT))


def test_a_freeze_and_a_budget_can_be_excepted_by_their_subjects() -> None:
    after = config(
        freezes=FREEZE,
        budget=BUDGET,
        exceptions=exception("freeze", "freezes[paper-deadline]") + exception("within-budget", "budget"),
    )
    assert judge(edit(after)) == ()


def test_every_rule_has_an_id_of_its_own() -> None:
    ids = [rule.id for rule in (*EDIT_RULES, *RESOURCE_RULES)]
    assert len(set(ids)) == len(ids)
