"""The controller's table of rules: every state has a row, and documentation shows the table that is obeyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from googleapiclient.discovery_cache import get_static_doc

from infra.fleet.controller import rules
from infra.fleet.controller.rules import ABSENT, DEAD, Subject

DOCUMENT = Path(__file__).parents[3] / "docs" / "controller.md"
NOT_OF_THE_API = {ABSENT, "FAILED"}
"""ABSENT is ours; FAILED is a state of queued resources, and older tools list it for nodes."""


def node_enum(version: str, field: str) -> set[str]:
    text = get_static_doc("tpu", version)
    assert text is not None
    return set(json.loads(text)["schemas"]["Node"]["properties"][field]["enum"])


@pytest.mark.parametrize("version", ["v2", "v2alpha1"])
def test_every_state_of_the_api_has_a_row_of_its_own(version: str) -> None:
    named = {state for rule in rules.rules() if rule.subject is Subject.SLOT for state in rule.states}
    assert node_enum(version, "state") - named == set()


@pytest.mark.parametrize("version", ["v2", "v2alpha1"])
def test_the_table_names_no_state_and_no_health_that_the_api_does_not_have(version: str) -> None:
    states = {state for rule in rules.rules() if rule.states != "any" for state in rule.states}
    assert states - node_enum(version, "state") == NOT_OF_THE_API
    assert {health for rule in rules.rules() for health in rule.health} <= node_enum(version, "health")


@pytest.mark.parametrize("state", sorted(node_enum("v2", "state") | {"A_STATE_OF_TOMORROW"}))
@pytest.mark.parametrize("subject", [each for each in Subject if each is not Subject.RUNNER])
def test_every_state_of_every_subject_leads_to_a_verdict(subject: Subject, state: str) -> None:
    assert rules.find(subject, state, "HEALTHY", frozenset()).subject is subject


def test_a_state_that_the_table_does_not_have_is_told_and_never_deleted() -> None:
    assert rules.find(Subject.SLOT, "A_STATE_OF_TOMORROW", "", frozenset()).verdict == "move"


def test_dead_states_are_those_that_are_replaced_without_a_wait() -> None:
    without_wait = {
        state
        for rule in rules.rules()
        if rule.subject is Subject.SLOT and rule.verdict == "recreate" and rule.wait is None and not rule.when
        for state in rule.states
    }
    assert without_wait == DEAD


def test_documentation_shows_the_table_that_is_obeyed(update_goldens: bool) -> None:
    shown, table = DOCUMENT.read_text(encoding="utf-8"), rules.markdown()
    if update_goldens:
        before, _, after = shown.partition(table.splitlines()[0])
        shown = before + table + "\n" + after.partition("\n\n")[2]
        DOCUMENT.write_text(shown, encoding="utf-8")
    assert table in shown, (
        "docs/controller.md differs from infra/fleet/controller/rules.yaml: renew with --update-goldens"
    )
