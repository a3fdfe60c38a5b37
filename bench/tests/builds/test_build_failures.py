"""Whatever step of a build fails, in whatever way: the record never names a digest that a place lacks.

A failure before the record is written leaves the old record; one after it is put right by the next build.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bench.builds.machine import Fault
from bench.builds.running import BuildOutcome, run_build
from bench.registry import Registry
from bench.tests.builds.pipeline_world import World, committed_spec, world
from infra.model.images.spec import ImageSpec
from infra.model.images.steps import build_steps

IMAGE = "tpu-ci"
COPIES = tuple(f"copy-{IMAGE}-{region}" for region in ("europe-west4", "us-central2"))
FAULTS = [
    Fault(f"push-{IMAGE}", "term"),
    Fault(COPIES[0]),
    Fault(f"verify-{IMAGE}"),
    Fault(f"record-{IMAGE}", "term"),
    Fault(f"record-{IMAGE}", "after"),
    Fault(f"tags-{IMAGE}", "term"),
]
"""Around the moment at which the record is written."""


@pytest.fixture(scope="module")
def lasting(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world that lives through one fault after the other, as a stack does."""
    found = world(tmp_path_factory.mktemp("lasting"), registry.address, committed_spec())
    assert build(found, 1).status == "SUCCESS"
    yield found
    found.recorder.close()


def build(images: World, number: int, fault: Fault | None = None) -> BuildOutcome:
    revision = images.push(number, {"uv.lock": f"version = {number}\n"})
    for mark in images.machine.folder.glob("calls.tsv.*.fault"):
        mark.unlink()
    return run_build(images.config(IMAGE, revision), images.machine, fault=fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.step}-{fault.when}")
def test_the_record_never_names_what_a_place_lacks(lasting: World, fault: Fault) -> None:
    survives(lasting, fault)


@pytest.mark.heavy
@pytest.mark.parametrize("when", ["after", "tools", "term"])
def test_no_failure_of_any_step_leaves_a_record_of_what_a_place_lacks(
    lasting: World, spec: ImageSpec, when: Any
) -> None:
    for step in build_steps(spec, lasting.pins, (spec.image(IMAGE),), lasting.places, severity="critical"):
        if when == "after" or step.id not in ("tools", f"provenance-{IMAGE}"):  # they call no tool
            survives(lasting, Fault(step.id, when))


def survives(images: World, fault: Fault) -> None:
    before = images.record.images[IMAGE].current
    number = images.started + 1
    outcome = build(images, number, fault)
    assert outcome.status == "FAILURE", f"{fault} went unnoticed"
    assert outcome.steps[fault.step].status == "FAILURE"
    assert images.lacking() == []
    written = images.record.images[IMAGE].current != before
    late = fault.step.startswith("tags-") or fault == Fault(f"record-{IMAGE}", "after")
    assert written is late
    if not written:
        assert images.tags(IMAGE) == {before.digest}, "tags moved before the record did"
    assert build(images, number + 1).status == "SUCCESS"
    after = images.record.images[IMAGE].current
    assert after.digest != before.digest
    assert images.tags(IMAGE) == {after.digest}
    assert images.lacking() == []


def test_a_digest_that_vanished_from_a_region_is_not_recorded(lasting: World) -> None:
    """A copy that says it went well, and did not: the verify step asks the places themselves."""
    revision = lasting.push(lasting.started + 1, {"uv.lock": "version = lost\n"})
    config = lasting.config(IMAGE, revision)
    before = lasting.record
    for step in config["steps"]:
        if step["id"] == COPIES[1]:
            step["args"] = ["-c", "true"]
    outcome = run_build(config, lasting.machine)
    assert "us-central2-docker.pkg.dev" in outcome.steps[f"verify-{IMAGE}"].log
    assert lasting.record == before


def test_tags_that_were_not_moved_are_moved_when_the_same_build_is_run_again(lasting: World) -> None:
    number = lasting.started + 1
    build(lasting, number, Fault(f"tags-{IMAGE}"))
    current = lasting.record.images[IMAGE].current
    assert lasting.tags(IMAGE) != {current.digest}
    build(lasting, number)
    assert lasting.tags(IMAGE) == {current.digest}
