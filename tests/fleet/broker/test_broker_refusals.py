"""Who asks for what is not theirs gets a plain refusal, and nothing is registered."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from infra.fleet.broker.refusals import Reason
from infra.fleet.broker.registration import A_MINUTE
from infra.fleet.operator_requests import DrainRequest, with_drains
from infra.model import bucket_names
from tests.fleet.broker.broker_world import (
    BUCKET,
    FORK,
    REPO,
    ROAMING,
    SECOND,
    STACK,
    VM,
    World,
    manifest,
    refused,
    slot,
)
from tests.fleet.touched import touched

# Tokens


def test_a_token_serves_for_one_registration(world: World) -> None:
    token = world.token()
    assert world.ask(token=token).status == 200
    world.hub.lose_runner(REPO, world.binding()["runner"])
    world.wait(60)
    refused(world, world.ask(token=token), Reason.REPLAYED)


def test_a_token_is_the_same_however_its_signature_is_spelled(world: World) -> None:
    """The last character of base64 has bits that say nothing: another one there makes no other token."""
    token = world.token()
    assert world.ask(token=token).status == 200
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    respelled = token[:-1] + alphabet[alphabet.index(token[-1]) ^ 1]
    assert respelled != token
    world.wait(60)
    assert world.ask(token=respelled).reason in ("replayed", "bad-token")


def test_a_token_that_was_used_stays_used_when_its_vm_is_made_again(world: World) -> None:
    token = world.token()
    assert world.ask(token=token).status == 200
    world.hub.lose_runner(REPO, world.binding()["runner"])
    world.remake(VM)
    refused(world, world.ask(token=token), Reason.REPLAYED)


def test_a_token_that_has_expired_is_refused(world: World) -> None:
    token = world.token()
    world.wait(3600 + 59)
    assert world.ask(token=token).status == 200
    world.hub.lose_runner(REPO, world.binding()["runner"])
    world.wait(1)
    refused(world, world.ask(token=token), Reason.EXPIRED)


# Claims of a place in the fleet


def test_a_vm_outside_the_manifest_is_refused(world: World) -> None:
    world.add_vm("extra-0")
    refused(world, world.ask("extra-0"), Reason.UNKNOWN_VM)


def test_a_vm_of_one_pool_cannot_register_for_another(world: World) -> None:
    refused(world, world.ask(VM, "fork"), Reason.WRONG_POOL)
    refused(world, world.ask(FORK, "fork", token=world.token(VM)), Reason.WRONG_ACCOUNT)


def test_another_stacks_vm_is_refused(world: World) -> None:
    refused(world, world.ask(stack="nightly"), Reason.FOREIGN_STACK)


def test_a_vm_that_is_not_there_is_refused(world: World) -> None:
    token = world.token()
    world.cloud.control.remove_node(VM)
    reply = world.ask(token=token)
    refused(world, reply, Reason.ABSENT)
    assert reply.headers["retry-after"] == "30"


@pytest.mark.parametrize("state", ["CREATING", "PREEMPTED", "REPAIRING", "STOPPED", "UNKNOWN"])
def test_a_vm_that_is_not_ready_is_refused(world: World, state: str) -> None:
    token = world.token()
    world.cloud.control.edit_node(VM, {"state": state})
    refused(world, world.ask(token=token), Reason.NOT_READY)


def test_a_vm_that_only_has_the_name_of_a_declared_one_is_refused(world: World) -> None:
    world.cloud.control.edit_node(VM, {"labels": {"tidepool-stack": "nightly", "tidepool-pool": "tpu-ci"}})
    refused(world, world.ask(), Reason.UNMANAGED)


def test_a_token_of_one_zone_is_no_good_for_a_vm_in_another(world: World) -> None:
    world.add_vm(ROAMING, zone="europe-west4-b")
    refused(world, world.ask(ROAMING, token=world.token(VM)), Reason.WRONG_ZONE)


def test_a_slot_belongs_to_the_instance_that_came_first(world: World) -> None:
    first = world.ask()
    world.add_vm(SECOND)
    world.wait(60)
    stolen = world.ask(VM, token=world.token(SECOND))
    assert stolen.reason == "other-instance"
    assert "bound to" in world.lines[-1]["detail"]
    assert [runner["name"] for runner in world.runners()] == [first.body["runner"]]


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


def test_a_bound_slot_does_not_go_back_to_tokens_without_an_instance(world: World) -> None:
    assert world.ask().status == 200
    world.wait(60)
    assert world.ask(token=world.token(full=False)).reason == "other-instance"


def test_the_broker_touches_its_own_parts_of_the_bucket_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with touched(monkeypatch) as (read, written):
        assert world.ask().status == 200
    assert (written, read <= {"manifests", "control", "broker"}) == ({"broker"}, True)


@pytest.mark.parametrize("subject", [VM, "tpu-ci"])
def test_what_is_drained_gets_no_more_jobs(world: World, subject: str) -> None:
    request = DrainRequest(subject=subject, by="ada", since=datetime(2026, 11, 21, tzinfo=UTC), minutes=60)
    world.write(bucket_names.requests_object(STACK), with_drains(None, [request]))
    reply = world.ask()
    refused(world, reply, Reason.DRAINING)
    assert reply.headers["retry-after"] == "60"


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


def test_a_pool_that_serves_nobody_is_refused(world: World) -> None:
    world.write(bucket_names.manifest_object(STACK), {**manifest(), "slots": [slot(VM, serves=[])]})
    refused(world, world.ask(), Reason.NO_HOME)


def test_a_name_too_long_for_a_runners_is_refused(world: World) -> None:
    vm = f"a{'b' * 60}-0"
    world.write(bucket_names.manifest_object(STACK), {**manifest(), "slots": [slot(vm)]})
    refused(world, world.ask(vm, token=world.token(VM)), Reason.UNNAMEABLE)


# How often


def test_a_vm_whose_runner_serves_is_refused(world: World) -> None:
    granted = world.ask()
    world.hub.connect(granted.body["jit"])
    world.wait(60)
    for _ in range(3):
        reply = world.ask()
        assert (reply.status, reply.reason) == (409, "serving")
        world.wait(60)
    assert [runner["name"] for runner in world.runners()] == [granted.body["runner"]]


def test_a_vm_whose_runner_went_offline_within_a_job_is_refused(world: World) -> None:
    granted = world.ask()
    world.hub.queue_job(REPO, ["tpu-ci"])
    world.hub.connect(granted.body["jit"])
    world.hub.take_job(granted.body["jit"])
    world.hub.disconnect(granted.body["jit"])
    world.wait(60)
    assert world.ask().reason == "serving"


def test_a_vm_that_was_taken_away_within_a_job_asks_as_it_is_told_and_never_too_often(world: World) -> None:
    """GitHub gives up such a job after ten minutes. More than five refusals but `serving` would be an alert."""
    granted = world.ask()
    world.hub.queue_job(REPO, ["tpu-ci"])
    world.hub.connect(granted.body["jit"])
    world.hub.take_job(granted.body["jit"])
    world.hub.disconnect(granted.body["jit"])
    world.wait(60)
    answers = []
    while (reply := world.ask()).status != 200:
        answers.append(reply.reason)
        world.wait(int(reply.headers["retry-after"]))
    assert set(answers) == {"serving"}
    assert 5 < len(answers) < 12


def test_a_vm_that_asks_again_at_once_is_told_to_wait(world: World) -> None:
    assert world.ask().status == 200
    reply = world.ask()
    assert (reply.status, reply.reason) == (429, "too-often")
    world.wait(int(reply.headers["retry-after"]))
    assert world.ask().status == 200


def test_a_vm_gets_no_more_than_sixty_an_hour(world: World) -> None:
    moment = world.now().isoformat()
    assert world.ask().status == 200
    binding = dict(world.binding())
    world.wait(60)
    world.write(bucket_names.binding_object(STACK, VM), {**binding, "asked": [moment] * 60})
    reply = world.ask()
    assert reply.reason == "too-often"
    assert 3400 < int(reply.headers["retry-after"]) <= 3600


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


def test_without_a_manifest_nobody_is_served(world: World) -> None:
    for body in ({"version": 2}, {"version": 1, "slots": 7}):
        world.write(bucket_names.manifest_object(STACK), body)
        world.start()
        refused(world, world.ask(), Reason.NO_MANIFEST)


def test_a_record_that_cannot_be_read_serves_nobody(world: World) -> None:
    for body in ({"version": 2}, {"version": 1}, {"version": 1, "life": 3}):
        world.write(bucket_names.binding_object(STACK, VM), body)
        refused(world, world.ask(), Reason.BAD_RECORD)


def test_a_record_that_lacks_anything_serves_nobody(world: World) -> None:
    """What it lacks would be taken for never asked and never used."""
    assert world.ask().status == 200
    whole = dict(world.binding())
    for key in whole:
        world.wait(60)
        world.write(bucket_names.binding_object(STACK, VM), {each: whole[each] for each in whole if each != key})
        assert world.ask().reason == "bad-record", key


def test_a_bucket_that_is_gone_serves_nobody(world: World) -> None:
    world.start(bucket=f"{BUCKET}-gone")
    refused(world, world.ask(), Reason.GOOGLE_DOWN)
