"""What goes over the wire for a TPU VM and what a failure is called."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from bench.engine.provider import CancelledError, PartialError, ProviderError
from bench.providers.google import GoogleProvider
from bench.tests.provider.conftest import PROJECT
from bench.tests.provider.virtual_time import VirtualTime

VM = "gcp:tpu/v2Vm:V2Vm"
ZONE = "us-west4-a"
INPUTS = {
    "name": "tpu-ci-0",
    "zone": ZONE,
    "acceleratorType": "v5litepod-4",
    "runtimeVersion": "v2-alpha-tpuv5-lite",
    "schedulingConfig": {"preemptible": True},
    "labels": {"pool": "tpu-ci"},
    "metadata": {"startup-script": "true"},
}
NODE = f"projects/{PROJECT}/locations/{ZONE}/nodes/tpu-ci-0"


def checked(provider: GoogleProvider, **changes: Any) -> dict[str, Any]:
    result = provider.check(VM, {**INPUTS, **changes})
    assert result.failures == ()
    return result.inputs


@pytest.fixture
def vm(provider: GoogleProvider, virtual: VirtualTime, cloud: TestCloud) -> tuple[dict[str, Any], dict[str, Any]]:
    inputs = checked(provider)
    return inputs, provider.create(VM, inputs, None, virtual).outputs


def test_a_protected_secret_is_not_deleted(provider: Any, virtual: Any) -> None:
    secret = "gcp:secretmanager/secret:Secret"
    inputs = {"secretId": "token", "replication": {"auto": {}}, "deletionProtection": True}
    made = provider.create(secret, provider.check(secret, inputs).inputs, None, virtual)
    with pytest.raises(ProviderError, match="without setting deletionProtection=false"):
        provider.delete(secret, made.id, made.outputs, virtual)
    assert provider.read(secret, made.id, inputs) is not None


NO = pytest.raises(ProviderError, match="Error creating Vm: googleapi: Error 403: no")


@pytest.mark.parametrize(("code", "waits", "ends"), [(503, [0.1, 0.2], nullcontext()), (403, [], NO)])
def test_a_passing_failure_is_tried_again_and_a_refusal_fails_at_once(
    code: int, waits: list[float], ends: Any, provider: Any, virtual: Any, cloud: Any
) -> None:
    cloud.control.fail("error", code=code, message="no", count=2)
    with ends:
        assert provider.create(VM, checked(provider), None, virtual).id == NODE
    assert virtual.waits[:2] == waits


def test_a_conflict_is_not_taken_over(vm: Any, provider: Any, virtual: Any) -> None:
    with pytest.raises(ProviderError, match="Error creating Vm: googleapi: Error 409"):
        provider.create(VM, vm[0], None, virtual)


def test_a_stockout_is_an_error_in_googles_words(provider: Any, virtual: Any, cloud: Any) -> None:
    cloud.control.fail("stockout")
    with pytest.raises(ProviderError, match="Error creating Vm: Error code 8, message: There is no more capacity"):
        provider.create(VM, checked(provider), None, virtual)


def test_a_vm_that_is_gone_is_deleted_already(vm: Any, provider: Any, virtual: Any, cloud: Any) -> None:
    cloud.control.remove_node(NODE)
    provider.delete(VM, NODE, vm[1], virtual)
    assert provider.read(VM, NODE, vm[0]) is None
    wanted = checked(provider, description="new")
    with pytest.raises(ProviderError) as raised:
        provider.update(VM, NODE, vm[1], wanted, virtual)
    assert raised.value.gone


def test_a_refresh_shows_drift_of_what_was_declared(vm: Any, provider: Any, cloud: Any) -> None:
    cloud.control.edit_node(NODE, {"labels": {"theirs": "x"}, "metadata": {"ssh-keys": "k"}, "description": "drifted"})
    read = provider.read(VM, NODE, vm[0])
    assert read.inputs["metadata"] == {}, "what the program never wrote is no input, here as with the official provider"
    assert set(provider.diff(VM, NODE, read.inputs, read.outputs, vm[0]).detailed) == {
        "labels.pool",
        "metadata.ssh-keys",
        "metadata.startup-script",
        "description",
    }, "an attribution label that others took away is not added again"


def test_a_timeout_keeps_the_vm_that_google_goes_on_making(provider: Any, virtual: Any, cloud: Any) -> None:
    cloud.control.set_compression(0.001)
    with pytest.raises(PartialError, match="still running after 30 s; Google Cloud goes on") as raised:
        provider.create(VM, checked(provider), 30.0, virtual)
    assert raised.value.resource_id == NODE
    assert raised.value.outputs["name"] == "tpu-ci-0"


def test_a_vm_in_the_making_is_read_when_it_is_made(provider: Any, virtual: Any, cloud: Any) -> None:
    """After a crash the engine reads what was in flight: it must learn what became of it, also when nothing did."""
    for ends, kinds in (("READY", ()), (None, ("stockout",))):
        cloud.control.reset()
        for kind in kinds:
            cloud.control.fail(kind)
        virtual.cancelled = True
        with pytest.raises(CancelledError):
            provider.create(VM, checked(provider), None, virtual)
        virtual.cancelled = False
        read = provider.read(VM, NODE, checked(provider))
        assert (read and read.outputs["state"]) == ends
