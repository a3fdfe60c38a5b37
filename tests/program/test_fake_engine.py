"""The fake engine refuses what Pulumi's engine refuses; a fake that lets it pass would prove nothing."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp
import pytest

from tests.program.fake_engine import build


def test_two_resources_of_one_urn_are_refused() -> None:
    def program() -> None:
        for _ in range(2):
            gcp.projects.Service("tpu", project="a-lab", service="tpu.googleapis.com")

    with pytest.raises(AssertionError, match="Duplicate resource URN"):
        build(program, stack="ci")


def test_a_reference_to_a_stack_that_is_not_there_is_refused() -> None:
    with pytest.raises(AssertionError, match="no stack"):
        build(lambda: pulumi.export("x", pulumi.StackReference("organization/tidepool/none").id), stack="ci")


def test_options_are_recorded_as_they_are_registered() -> None:
    def program() -> None:
        opts = pulumi.ResourceOptions(protect=True, retain_on_delete=True, delete_before_replace=True)
        gcp.projects.Service("tpu", project="a-lab", service="tpu.googleapis.com", opts=opts)

    service = build(program, stack="ci").one("Service")
    assert (service.protect, service.retain_on_delete, service.delete_before_replace) == (True, True, True)


def test_one_run_leaves_nothing_to_the_next() -> None:
    for _ in range(2):
        built = build(lambda: pulumi.export("answer", 42), stack="ci")
        assert built.outputs == {"answer": 42}
        assert not built.resources
