"""Quotas and reservations: refused as Google refuses, counted exactly, never exceeded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.cloud.control import ControlError
from bench.cloud.testing import TestCloud
from bench.tests.cloud.cloud_clients import A_WHILE, NODE, ZONE, Direct, ask

POT: dict[str, Any] = {"project": "lab", "zone": "us-west4-a", "generation": "v5e", "capacity": "preemptible"}


def create(cloud: TestCloud, name: str, **change: Any) -> tuple[int, Any]:
    return ask(cloud.url, "POST", f"/v2/{ZONE}/nodes?nodeId={name}", {**NODE, **change})


def held(cloud: TestCloud) -> int:
    return cloud.control.limits()[0]["held"]


def test_one_chip_over_a_quota_is_refused_with_googles_words(cloud: TestCloud) -> None:
    cloud.control.limit(**POT, chips=7)
    assert create(cloud, "vm-0")[0] == 200
    status, answer = create(cloud, "vm-1")
    assert status == 429
    assert answer["error"]["status"] == "RESOURCE_EXHAUSTED"
    assert "Quota limit" in answer["error"]["message"]
    assert "us-west4-a" in answer["error"]["message"]
    cloud.control.limit(**POT, chips=8)
    assert create(cloud, "vm-1")[0] == 200
    assert held(cloud) == 8


def test_what_is_not_declared_does_not_limit(cloud: TestCloud) -> None:
    cloud.control.limit(**POT, chips=0)
    assert create(cloud, "vm-0")[0] == 429
    assert create(cloud, "vm-0", schedulingConfig={})[0] == 200, "on demand is another scope"
    elsewhere = "projects/lab/locations/us-east1-c"
    assert ask(cloud.url, "POST", f"/v2/{elsewhere}/nodes?nodeId=vm-0", NODE)[0] == 200, "so is another zone"
    other = "projects/other/locations/us-west4-a"
    assert ask(cloud.url, "POST", f"/v2/{other}/nodes?nodeId=vm-0", NODE)[0] == 200, "and another project"
    cloud.control.lift(**POT)
    assert create(cloud, "vm-1")[0] == 200


def test_spot_and_preemptible_share_a_quota(cloud: TestCloud) -> None:
    cloud.control.limit(**POT, chips=4)
    assert create(cloud, "vm-0", schedulingConfig={"spot": True})[0] == 200
    assert create(cloud, "vm-1", schedulingConfig={"preemptible": True})[0] == 429


def test_a_reservation_holds_no_more_than_it_has_and_others_leave(cloud: TestCloud) -> None:
    reserved = {**POT, "capacity": "reserved"}
    cloud.control.limit(**reserved, chips=16, held_elsewhere=12, name="lab-v5e")
    assert create(cloud, "vm-0", schedulingConfig={"reserved": True})[0] == 200
    status, answer = create(cloud, "vm-1", schedulingConfig={"reserved": True})
    assert status == 429
    assert "lab-v5e" in answer["error"]["message"]


def test_a_limit_can_refuse_in_the_operation_as_google_sometimes_does(cloud: TestCloud) -> None:
    cloud.control.limit(**POT, chips=0, refuse="operation")
    status, operation = create(cloud, "vm-0")
    assert status == 200
    cloud.wall.advance(A_WHILE)
    ended = ask(cloud.url, "GET", f"/v2/{operation['name']}")[1]
    assert ended["error"]["code"] == 8
    assert "Quota limit" in ended["error"]["message"]
    assert (cloud.control.nodes(), held(cloud)) == ([], 0)


def test_creating_and_deleting_nodes_hold_their_chips_and_preempted_and_stopped_ones_do_not(cloud: TestCloud) -> None:
    cloud.control.limit(**POT, chips=100)
    create(cloud, "vm-0")
    assert held(cloud) == 4, "while it is created"
    cloud.wall.advance(A_WHILE)
    ask(cloud.url, "POST", f"/v2/{ZONE}/nodes/vm-0:stop", {})
    assert held(cloud) == 4, "while it stops"
    cloud.wall.advance(A_WHILE)
    assert held(cloud) == 0, "stopped"
    ask(cloud.url, "POST", f"/v2/{ZONE}/nodes/vm-0:start", {})
    assert held(cloud) == 4, "while it starts"
    cloud.wall.advance(A_WHILE)
    ask(cloud.url, "DELETE", f"/v2/{ZONE}/nodes/vm-0")
    assert held(cloud) == 4, "while it is deleted"
    cloud.wall.advance(A_WHILE)
    assert held(cloud) == 0, "gone"
    create(cloud, "vm-1")
    cloud.wall.advance(A_WHILE)
    cloud.control.preempt("vm-1")
    assert held(cloud) == 0, "preempted"


def test_a_stopped_node_starts_only_where_there_is_room_again(cloud: TestCloud) -> None:
    cloud.control.limit(**POT, chips=4)
    create(cloud, "vm-0")
    cloud.wall.advance(A_WHILE)
    ask(cloud.url, "POST", f"/v2/{ZONE}/nodes/vm-0:stop", {})
    cloud.wall.advance(A_WHILE)
    create(cloud, "vm-1")
    assert ask(cloud.url, "POST", f"/v2/{ZONE}/nodes/vm-0:start", {})[0] == 429


@pytest.mark.parametrize(
    "change",
    [{"chips": -1}, {"chips": True}, {"chips": None}, {"zone": ""}, {"capacity": "free"}, {"refuse": "never"},
     {"held_elsewhere": -4}],
)  # fmt: skip
def test_a_limit_that_makes_no_sense_is_refused(cloud: TestCloud, change: dict[str, Any]) -> None:
    values: dict[str, Any] = POT | {"chips": 1} | change
    with pytest.raises(ControlError, match=next(iter(change))):
        cloud.control.limit(**values)


ACTIONS = st.one_of(
    st.tuples(st.just("create"), st.integers(0, 5), st.sampled_from([1, 4, 8])),
    st.tuples(st.sampled_from(["delete", "start", "stop", "preempt"]), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("wait"), st.just(0), st.integers(0, 200)),
    st.tuples(st.just("stockout"), st.just(0), st.just(0)),
)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 24), st.lists(ACTIONS, max_size=30))
def test_whatever_happens_a_limit_is_never_exceeded_and_the_account_is_exact(
    chips: int, actions: list[tuple[str, int, int]]
) -> None:
    direct = Direct()
    direct.control("POST", "limits", {**POT, "chips": chips})
    for verb, index, value in actions:
        path = f"/v2/{ZONE}/nodes"
        if verb == "create":
            direct.ask("POST", f"{path}?nodeId=vm-{index}", {**NODE, "acceleratorType": f"v5litepod-{value}"})
        elif verb == "delete":
            direct.ask("DELETE", f"{path}/vm-{index}")
        elif verb in ("start", "stop"):
            direct.ask("POST", f"{path}/vm-{index}:{verb}", {})
        elif verb == "preempt":
            direct.control("POST", "preempt", {"node": f"vm-{index}"})
        elif verb == "stockout":
            direct.control("POST", "faults", {"kind": "stockout", "count": 1})
        else:
            direct.wall.advance(value / 1000)
        nodes = direct.control("GET", "nodes")[1]["nodes"]
        at_rest = ("STOPPED", "PREEMPTED")
        running = sum(int(n["acceleratorType"][10:]) for n in nodes if n["state"] not in at_rest)
        account = direct.control("GET", "limits")[1]["limits"][0]["held"]
        assert account == running <= chips
