"""Who asks for what is not theirs gets a plain refusal, and nothing is registered."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from infra.fleet.broker.refusals import Reason
from infra.fleet.broker.registration import A_MINUTE
from infra.fleet.operator_requests import DrainRequest, with_drains
from infra.model import bucket_names
from tests.fleet.broker.broker_world import (
    REPO,
    SECOND,
    STACK,
    VM,
    World,
    refused,
)
from tests.fleet.touched import touched

# Tokens


# Claims of a place in the fleet


@pytest.mark.parametrize(
    ("change", "reason", "again"),
    [
        (lambda world: world.cloud.control.remove_node(VM), Reason.ABSENT, "30"),
        (lambda world: world.cloud.control.edit_node(VM, {"state": "PREEMPTED"}), Reason.NOT_READY, "30"),
        (lambda world: world.cloud.control.edit_node(VM, {"labels": {"tidepool-stack": "x"}}), Reason.UNMANAGED, None),
        (lambda world: world.wait(3661), Reason.EXPIRED, None),
    ],
)
def test_what_the_cloud_says_of_a_vm_is_asked_at_each_registration(
    world: World, change: Callable[[World], object], reason: Reason, again: str | None
) -> None:
    token = world.token()
    change(world)
    reply = world.ask(token=token)
    refused(world, reply, reason)
    assert reply.headers.get("retry-after") == again


def test_one_machine_speaks_for_one_vm_of_its_pool(world: World) -> None:
    """Else a token that leaked would be good for every VM of the pool that has not come yet."""
    world.add_vm(SECOND)
    token = world.token()
    assert world.ask(token=token).status == 200
    assert world.ask(SECOND, token=token).reason == "other-slot"
    assert VM in world.lines[-1]["detail"]
    assert world.ask(SECOND).status == 200


def test_a_token_without_an_instance_is_used_up_for_every_vm_of_its_pool(world: World) -> None:
    world.add_vm(SECOND)
    token = world.token(full=False)
    assert world.ask(token=token).status == 200
    assert world.ask(SECOND, token=token).reason == "replayed"
    assert VM in world.lines[-1]["detail"]
    assert world.ask(SECOND, token=world.token(SECOND, full=False)).status == 200
    world.wait(60)
    assert world.ask(token=world.token(full=False)).status == 200


def test_the_broker_touches_its_own_parts_of_the_bucket_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with touched(monkeypatch) as (read, written):
        assert world.ask().status == 200
    assert (written, read <= {"manifests", "control", "broker"}) == ({"broker"}, True)


@pytest.mark.parametrize("damage", [b"{", b'{"drains": "all"}'], ids=["no JSON", "another shape"])
def test_the_last_requests_that_can_be_read_hold(world: World, damage: bytes) -> None:
    request = DrainRequest(subject=VM, by="ada", since=datetime(2026, 11, 21, tzinfo=UTC), minutes=60)
    name = bucket_names.requests_object(STACK)
    world.write(name, with_drains(None, [request]))
    world.records.update_content(name, lambda _: damage, "application/json")
    refused(world, world.ask(), Reason.DRAINING)


def test_a_trust_without_a_group_never_falls_into_everybodys(world: World) -> None:
    world.hub.add_organization("lab", groups=["tpu-member"])
    world.start(groups={"protected": "tpu-member"})
    refused(world, world.ask(), Reason.NO_HOME)


# How often


def test_a_vm_that_was_taken_away_within_a_job_asks_as_it_is_told_and_never_too_often(world: World) -> None:
    """GitHub gives up such a job after ten minutes. More than five refusals but `serving` would be an alert."""
    granted = world.ask()
    world.hub.queue_job(REPO, ["tpu-ci"])
    world.hub.connect(granted.body["jit"])
    world.hub.take_work(granted.body["jit"])
    world.hub.disconnect(granted.body["jit"])
    world.wait(60)
    answers = []
    while (reply := world.ask()).status != 200:
        answers.append(reply.reason)
        world.wait(int(reply.headers["retry-after"]))
    assert set(answers) == {"serving"}
    assert 5 < len(answers) < 12


def test_a_machine_that_asks_without_end_costs_google_nothing_and_slows_nobody_else_down(world: World) -> None:
    world.add_vm(SECOND)
    token = world.token()
    assert world.ask(token=token).status == 200
    assert {world.ask(token=token).reason for _ in range(A_MINUTE - 1)} == {"replayed"}
    before = world.calls("tpu.projects.locations.nodes.get"), world.calls("storage.objects.get")
    reply = world.ask(token=token)
    assert (reply.status, reply.reason) == (429, "too-often")
    assert world.ask(SECOND, token=token).reason == "too-often", "a machine is one, whatever VM it speaks for"
    assert (world.calls("tpu.projects.locations.nodes.get"), world.calls("storage.objects.get")) == before
    assert world.ask(SECOND).status == 200
    world.wait(61)
    assert world.ask().status == 200


# What those behind it hold


def test_a_record_that_lacks_anything_serves_nobody(world: World) -> None:
    """What it lacks would be taken for never asked and never used."""
    assert world.ask().status == 200
    whole = dict(world.binding())
    for key in whole:
        world.wait(60)
        world.write(bucket_names.binding_object(STACK, VM), {each: whole[each] for each in whole if each != key})
        assert world.ask().reason == "bad-record", key
