"""What the controller takes from a manifest, and every manifest that it refuses to act on."""

from __future__ import annotations

from typing import Any

import pytest

from infra.fleet.controller.manifests import ManifestError, read, read_for
from infra.model.manifest import manifest
from tests.fleet.controller.given_fleet import HOME
from tests.model.given import parse, stack_text

SLOT: dict[str, Any] = {
    "name": "a-0",
    "pool": "a",
    "accelerator": "v5litepod-4",
    "zone": HOME,
    "capacity": "spot",
    "node": {"acceleratorType": "v5litepod-4"},
}
LIMIT: dict[str, Any] = {"name": "q", "zone": HOME, "generation": "v5e", "chips": 8, "covers": ["spot"]}
WHOLE: dict[str, Any] = {"version": 1, "stack": "ci", "project": "p", "slots": [SLOT]}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "of a newer version": ({"version": 2}, "version 2, and this controller reads 1: update it"),
    "without slots": ({key: value for key, value in WHOLE.items() if key != "slots"}, "lacks 'slots'"),
    "whose slots are null": ({**WHOLE, "slots": None}, "slots must be a list of objects"),
    "whose slots are an empty object": ({**WHOLE, "slots": {}}, "slots must be a list of objects"),
    "whose slots are an empty text": ({**WHOLE, "slots": ""}, "slots must be a list of objects"),
    "that is empty and does not say why": ({**WHOLE, "slots": []}, "declares no VM and does not say why"),
    "that is empty for no reason": ({**WHOLE, "slots": [], "empty": ""}, "empty is ''"),
    "that is empty and is not": ({**WHOLE, "empty": "destroyed"}, "why slots is an empty list"),
    "whose repositories are a text": ({**WHOLE, "slots": [{**SLOT, "serves": "a-lab/code"}]}, "serves is 'a-lab/code'"),
    "whose repositories are an object": ({**WHOLE, "slots": [{**SLOT, "serves": {}}]}, "serves is {}"),
    "whose labels are numbers": ({**WHOLE, "slots": [{**SLOT, "runner_labels": [7]}]}, "must be a list of names"),
    "whose fallbacks are an object": ({**WHOLE, "slots": [{**SLOT, "fallbacks": {}}]}, "fallbacks is {}"),
    "whose limits are an object": ({**WHOLE, "limits": {}}, "limits is {}, and it must be a list"),
    "whose limit covers nothing": ({**WHOLE, "limits": [{**LIMIT, "covers": None}]}, "covers is None"),
    "whose freezes are an object": ({**WHOLE, "freezes": {}}, "freezes is {}, and it must be a list"),
    "whose runner groups are a text": ({**WHOLE, "controller": {"groups": "all"}}, "groups is 'all'"),
    "with a slot that is no object": ({**WHOLE, "slots": ["a-0"]}, "slots must be a list of objects"),
    "with a name twice": ({**WHOLE, "slots": [SLOT, SLOT]}, "two slots of one name"),
    "with a slot without a name": ({**WHOLE, "slots": [{**SLOT, "name": ""}]}, "name is ''"),
    "of an unknown accelerator": ({**WHOLE, "slots": [{**SLOT, "accelerator": "v9-1"}]}, "accelerator"),
    "of an unknown capacity": ({**WHOLE, "slots": [{**SLOT, "capacity": "borrowed"}]}, "borrowed"),
    "without a node": ({**WHOLE, "slots": [{**SLOT, "node": None}]}, "a-0 has no node of v5litepod-4 in us-west4-a"),
    "whose node is larger than its slot": (
        {**WHOLE, "slots": [{**SLOT, "node": {"acceleratorType": "v5litepod-8"}}]},
        "a-0 has no node of v5litepod-4",
    ),
    "whose fallback is larger than its slot": (
        {**WHOLE, "slots": [{**SLOT, "fallbacks": [{**SLOT, "node": {"acceleratorType": "v5litepod-8"}}]}]},
        "a-0 has no node of v5litepod-4",
    ),
    "whose limit is no number": ({**WHOLE, "limits": [{**LIMIT, "chips": "many"}]}, "chips is 'many'"),
    "whose limit is below zero": ({**WHOLE, "limits": [{**LIMIT, "siblings": -8}]}, "siblings is -8"),
    "with a freeze of no time": ({**WHOLE, "freezes": [{"name": "x"}]}, "cannot be read"),
    "whose grace time is no number": ({**WHOLE, "controller": {"grace_minutes": None}}, "grace_minutes is None"),
    "without a boot allowance": ({**WHOLE, "controller": {"boot_minutes": 0}}, "boot_minutes is 0"),
    "that shares more than all": ({**WHOLE, "controller": {"share": 2}}, "share is 2"),
    "whose settings are a list": ({**WHOLE, "controller": [1]}, "it must be an object"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_manifest_is_refused_in_one_line_if_it_is_one(case: str) -> None:
    document, match = REFUSED[case]
    with pytest.raises(ManifestError, match=match) as refused:
        read(document)
    assert "\n" not in str(refused.value)


def test_what_is_published_is_read() -> None:
    config = parse(stack_text())
    document = manifest(config, bundle="ab" * 32, startup_script="#!/bin/sh")
    assert [slot.name for slot in read(document).slots] == [slot["name"] for slot in document["slots"]]


@pytest.mark.parametrize(("stack", "project"), [("nightly", "p"), ("ci", "another-lab")])
def test_a_manifest_of_another_stack_or_project_is_not_acted_on(stack: str, project: str) -> None:
    assert read_for("ci", "p", WHOLE).slots
    with pytest.raises(ManifestError, match=f"and stack {stack} in project {project} was asked for"):
        read_for(stack, project, WHOLE)
