"""How a stack file and the published manifest differ."""

from __future__ import annotations

import pytest

from infra.model.manifest import manifest
from infra.model.unapplied import Unapplied, unapplied
from tests.model.given import POOL, parse, stack_text

DECLARED = parse(stack_text())
PUBLISHED = manifest(DECLARED, bundle="ab" * 32, startup_script="#!/bin/sh", broker="https://broker")
VMS = ("tpu-ci-us-west4-a-0", "tpu-ci-us-west4-a-1")


def test_a_published_stack_file_has_nothing_to_apply() -> None:
    assert not unapplied(DECLARED, PUBLISHED)


def test_without_a_manifest_and_with_an_emptied_one_every_declared_vm_is_missing() -> None:
    assert unapplied(DECLARED, None) == Unapplied(missing=VMS)
    assert unapplied(DECLARED, {**PUBLISHED, "slots": []}) == Unapplied(missing=VMS)


def test_a_vm_that_left_the_file_is_extra_until_it_is_applied() -> None:
    fewer = parse(stack_text(pools=POOL.replace("us-west4-a: 2", "us-west4-a: 1")))
    assert unapplied(fewer, PUBLISHED) == Unapplied(extra=VMS[1:])


@pytest.mark.parametrize(
    ("before", "after"),
    [("v5litepod-4", "v5litepod-8"), ("preemptible", "spot"), ("trust: member", "trust: member\n  serves: [a/b]")],
)
def test_a_vm_that_is_declared_otherwise_is_told(before: str, after: str) -> None:
    other = parse(stack_text(pools=POOL.replace(before, after)))
    assert unapplied(other, PUBLISHED) == Unapplied(changed=VMS)


def test_settings_that_the_controller_works_by_are_told_and_no_vm_is_called_changed() -> None:
    other = parse(stack_text(controller="grace_minutes: 20\n"))
    assert unapplied(other, PUBLISHED) == Unapplied(settings=("controller",))


def test_a_manifest_of_an_earlier_version_lacks_keys_and_differs_in_none() -> None:
    older = [{key: value for key, value in slot.items() if key != "external_ip"} for slot in PUBLISHED["slots"]]
    assert not unapplied(DECLARED, {**PUBLISHED, "slots": older})
