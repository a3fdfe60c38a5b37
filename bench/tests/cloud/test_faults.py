"""Faults and limits: which requests they strike, how, how often and until when, and what each of them counts."""

from __future__ import annotations

import http.client
import time
from typing import Any

import pytest

from bench.cloud.testing import EPOCH, TestCloud
from bench.tests.cloud.cloud_clients import A_WHILE, NODE, ZONE, Direct, Row, ask, compared

NODES, VM, MAKE = f"v2/{ZONE}/nodes", f"v2/{ZONE}/nodes/vm-0", f"v2/{ZONE}/nodes?nodeId=vm-0"
OPERATIONS, STORED = f"v2/{ZONE}/operations", "_tidepool/nodes"
EAST, EVERYWHERE = "v2/projects/lab/locations/us-east1-c/nodes", "v2/projects/lab/locations/-/nodes"
GUESTS = "_tidepool/guests"
FAULTS, CLOCK, LIMITS = "_tidepool/fail", "_tidepool/advance", "_tidepool/limit"
BUCKETS, NETWORKS = "storage/v1/b?project=lab", "compute/v1/projects/lab/global/networks"
BIG, ON_DEMAND = {**NODE, "acceleratorType": "v5litepod-16"}, {**NODE, "schedulingConfig": {}}
POT: dict[str, Any] = {"project": "lab", "zone": "us-west4-a", "generation": "v5e", "capacity": "preemptible"}
REGION: dict[str, Any] = {"project": "lab", "zone": "us-east5", "generation": "v6e", "capacity": "preemptible"}
V6E = {**NODE, "acceleratorType": "v6e-4"}


def fail(kind: str, **rule: Any) -> Row:
    return ("POST", FAULTS, {"kind": kind, **rule}, 200)


def limit(**values: Any) -> Row:
    return ("POST", LIMITS, {**POT, **values}, 200)


def advance(seconds: float) -> Row:
    return ("POST", CLOCK, {"seconds": seconds}, 200)


def state(name: str) -> Row:
    return ("GET", f"{NODES}/{name}", None, 200)


HELD: Row = ("POST", "_tidepool/limits", None, 200)
MEND: Row = ("POST", "_tidepool/mend", None, 200)
MADE: Row = ("POST", MAKE, NODE, 200)
STOP: Row = ("POST", f"{VM}:stop", {}, 200)
CALLS: dict[str, list[Row]] = {
    "errors": [
        *(row for code in (429, 503, 403) for row in (
            fail("error", code=code, count=2, method="tpu.*.nodes.create", message="not today"),
            *[("POST", MAKE, NODE, code)] * 2)),
        ("POST", "_tidepool/faults", None, 200), ("POST", STORED, None, 200), MADE,
    ],
    "by zone, accelerator and name": [
        ("POST", f"{NODES}?nodeId=big-0", BIG, 200), MADE, fail("error", zone="us-west4-a"),
        ("GET", NODES, None, 503), ("GET", EAST, None, 200), ("GET", "v2/nothing", None, 404), MEND,
        fail("error", accelerator="v5litepod-16"), ("GET", f"{NODES}/big-0", None, 503), state("vm-0"),
        ("POST", "_tidepool/mend", {"fault": 2}, 200), ("POST", "_tidepool/mend", {"fault": 2}, 404),
        fail("error", name="vm-*"), state("big-0"), ("GET", VM, None, 503),
        ("POST", f"{NODES}?nodeId=vm-1", NODE, 503),
    ],
    "until": [
        fail("error", until=EPOCH + 600), ("GET", NODES, None, 503), advance(600), ("GET", NODES, None, 200),
        ("POST", "_tidepool/faults", None, 200),
    ],
    "stockouts": [
        fail("stockout", count=1), ("POST", MAKE, NODE, 200),
        ("POST", STORED, None, 200),
        ("GET", OPERATIONS, None, 200), MADE, STOP,
        fail("stockout", count=1), ("POST", f"{VM}:start", {}, 200), state("vm-0"),
        ("GET", OPERATIONS, None, 200),
    ],
    "operations": [
        MADE, fail("operation", method="*.patch", count=1),
        ("PATCH", f"{VM}?updateMask=labels", {"labels": {"a": "b"}}, 200),
        ("GET", OPERATIONS, None, 200), ("GET", VM, None, 200),
        fail("operation", status="INTERNAL", message="broken", method="*.delete", count=1, until=EPOCH + 60),
        ("DELETE", VM, None, 200), state("vm-0"),
        ("GET", OPERATIONS, None, 200),
    ],
    "guests": [
        ("POST", "_tidepool/add_repository", {"repository": "a/b"}, 200),
        ("POST", "_tidepool/queue_job", {"repository": "a/b", "labels": ["x"]}, 200),
        MADE, ("POST", "_tidepool/write_disks", {"disks": {VM[3:]: {"bundle": "a"}}}, 200), ("POST", GUESTS, None, 200),
        ("POST", "_tidepool/write_disks", {"disks": {VM[3:]: None}}, 200), ("POST", GUESTS, None, 200),
        ("POST", "_tidepool/write_disks", {"disks": 1}, 400),
        fail("mute", count=1, running="image-*"),
        *(("POST", "_tidepool/strike_guest", {"kind": kind, "node": VM[3:], "running": running}, code)
          for kind, running, code in (
              ("mute", "bundle", 200), ("mute", "image-a", 200), ("mute", "image-a", 200), ("stockout", "", 400))),
    ],
    "a create that hangs": [
        fail("hang", method="tpu.*.nodes.create", count=1), MADE, ("POST", f"{NODES}?nodeId=vm-1", NODE, 200),
        advance(24 * 3600 + 60), state("vm-0"), state("vm-1"),
        ("GET", OPERATIONS, None, 200),
        ("POST", "_tidepool/faults", None, 200), ("POST", "_tidepool/mend", {"fault": 1}, 200),
        state("vm-0"), ("GET", OPERATIONS, None, 200),
        fail("hang", method="*.create"), ("POST", f"{NODES}?nodeId=vm-2", NODE, 200),
        ("DELETE", f"{NODES}/vm-2", None, 200), ("GET", f"{NODES}/vm-2", None, 404), MEND,
        ("GET", f"{NODES}/vm-2", None, 404),
        ("GET", OPERATIONS, None, 200),
    ],
    "a delete that hangs": [
        limit(chips=4), MADE, fail("hang", method="*.nodes.delete", seconds=600), ("DELETE", VM, None, 200),
        advance(590), state("vm-0"), ("POST", f"{NODES}?nodeId=vm-1", NODE, 429), advance(10),
        ("GET", VM, None, 404), ("POST", f"{NODES}?nodeId=vm-1", NODE, 200),
    ],
    "lists without places": [
        MADE, ("POST", f"{EAST}?nodeId=vm-1", NODE, 200),
        fail("unreachable", method="*.nodes.list", zone="us-west4-a"),
        ("GET", EVERYWHERE, None, 200),
        ("GET", NODES, None, 200),
        ("GET", EAST, None, 200), state("vm-0"), MEND,
        ("GET", EVERYWHERE, None, 200),
    ],
    "lists that lag or miss": [
        ("POST", f"{NODES}?nodeId=old-0", NODE, 200), advance(60), MADE, fail("lag", method="tpu.*", seconds=30),
        ("GET", NODES, None, 200), state("vm-0"), advance(31),
        ("GET", NODES, None, 200), MEND,
        ("POST", BUCKETS, {"name": "some-bucket"}, 200), ("GET", BUCKETS, None, 200),
        fail("missing"), ("GET", BUCKETS, None, 200),
        ("GET", "v1/projects/lab/secrets", None, 200), MEND,
        ("POST", f"{NODES}?nodeId=new-0", NODE, 200),
        fail("lag", seconds=2),
        ("GET", NODES, None, 200), MEND, fail("missing"), ("GET", NETWORKS, None, 200),
    ],
    "rates": [
        fail("rate", per_minute=2, method="tpu.*.get"), *[("GET", VM, None, 404)] * 2,
        ("GET", VM, None, 429),
        ("GET", VM.replace("lab", "other"), None, 404), advance(56), ("GET", VM, None, 404), MEND,
        fail("rate", per_minute=1, zone="us-*"),
        *(("GET", path, None, status) for path in (NODES, EAST) for status in (200, 429)),
        ("GET", "v2/projects/lab/locations/europe-west4-a/nodes", None, 200), MEND,
        fail("rate", per_minute=1), ("GET", NODES, None, 200), ("GET", EAST, None, 429), MEND,
        fail("rate", per_minute=0), ("GET", NETWORKS, None, 403),
    ],
    "quotas": [
        limit(chips=7), MADE,
        ("POST", f"{NODES}?nodeId=vm-1", {**NODE, "schedulingConfig": {"spot": True}}, 429),
        ("POST", f"{NODES}?nodeId=vm-1", ON_DEMAND, 200), ("POST", f"{EAST}?nodeId=vm-1", NODE, 200),
        ("POST", f"{NODES}?nodeId=vm-1".replace("lab", "other"), NODE, 200), limit(chips=8),
        ("POST", f"{NODES}?nodeId=vm-2", NODE, 200), HELD, STOP, HELD,
        ("POST", f"{NODES}?nodeId=vm-3", NODE, 200), ("POST", f"{VM}:start", {}, 429),
        ("POST", "_tidepool/lift", POT, 200), ("POST", "_tidepool/lift", POT, 404), ("POST", f"{VM}:start", {}, 200),
        limit(chips=16), HELD, ("POST", "_tidepool/preempt", {"node": VM[3:]}, 200), HELD,
    ],
    "reservations": [
        limit(capacity="reserved", chips=16, held_elsewhere=12, name="lab-v5e"),
        ("POST", MAKE, {**NODE, "schedulingConfig": {"reserved": True}}, 200),
        ("POST", f"{NODES}?nodeId=vm-1", {**NODE, "schedulingConfig": {"reserved": True}}, 429),
    ],
    "regions": [
        limit(**REGION, chips=8),
        *(("POST", f"v2/projects/lab/locations/us-east5-{zone}/nodes?nodeId=vm-0", V6E, 200) for zone in "ab"),
        ("POST", "v2/projects/lab/locations/us-east5-a/nodes?nodeId=vm-2", V6E, 429), HELD,
        ("POST", "_tidepool/lift", REGION, 200),
        ("POST", "v2/projects/lab/locations/us-east5-a/nodes?nodeId=vm-2", V6E, 200),
    ],
    "what makes no sense": [
        *(("POST", FAULTS, body, 400) for body in (
            {"kind": "explode"}, {"kind": "error", "code": 200}, {"kind": "error", "count": -1},
            {"kind": "error", "probability": 1.5}, {"kind": "error", "seconds": -1}, {"kind": "error", "status": "BAD"},
            {"kind": "error", "zones": "*"}, {"kind": "error", "zone": 3}, {"kind": "rate"}, {"kind": "lag"},
            {"kind": "preempt"})),
        *(("POST", LIMITS, {**POT, "chips": 1, **change}, 400) for change in (
            {"chips": -1}, {"chips": True}, {"zone": ""}, {"capacity": "free"},
            {"held_elsewhere": -4}, {**REGION, "capacity": "reserved"})),
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_requests_are_struck_as_the_rules_say(calls: str, update_goldens: bool) -> None:
    compared(Direct().check(CALLS[calls]), f"faults {calls}", update_goldens)


def test_a_lost_answer_is_one_whose_request_was_obeyed_and_a_slow_one_is_late(cloud: TestCloud) -> None:
    cloud.control.fail("lost", count=1, method="*.create")
    with pytest.raises(http.client.IncompleteRead):
        ask(cloud.url, "POST", f"/{MAKE}", NODE)
    assert ask(cloud.url, "POST", f"/{MAKE}", NODE)[0] == 409
    cloud.control.fail("slow", seconds=0.2, count=1)
    began = time.monotonic()
    assert len(ask(cloud.url, "GET", f"/{NODES}")[1]["nodes"]) == 1
    assert time.monotonic() - began >= 0.2


def struck(seed: int) -> list[bool]:
    direct = Direct()
    direct.control("fail", {"kind": "error", "probability": 0.3, "seed": seed})
    return [direct.ask("GET", f"/{NODES}")[0] == 503 for _ in range(200)]


def test_chance_is_the_same_for_a_seed_and_follows_its_probability() -> None:
    assert struck(1) == struck(1) != struck(2)
    assert 30 < sum(struck(1)) < 90


def test_entries_are_missing_by_a_seed_and_the_same_seed_misses_the_same_ones() -> None:
    direct = Direct()
    for number in range(12):
        direct.ask("POST", f"/{NODES}?nodeId=vm-{number}", NODE)
    direct.wall.advance(A_WHILE)

    def names() -> list[str]:
        return [node["name"] for node in direct.ask("GET", f"/{NODES}")[1]["nodes"]]

    seen = []
    for _ in range(2):
        direct.control("fail", {"kind": "missing", "probability": 0.5, "seed": 3, "count": 2})
        seen.append([names(), names()])
        assert len(names()) == 12, "only as many lists as were said"
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[0][1], "each list misses others"
