"""What a stack lets runs have, the VM that it is for each, its name, and how VMs are counted against ceilings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.model import bucket_access, names
from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.errors import ConfigError
from infra.model.run_records import (
    Ceilings,
    RunVmRecord,
    day_body,
    day_records,
    ended,
    ended_late,
    over_ceiling,
    with_record,
)
from infra.model.runs import RunRequest, RunTimes, over_lifetime, read_request, run_places
from tests.model.given import parse, pool, stack_text

POOL = pool(name="nights", accelerator="v6e-1", zones="{us-central1-b: 0}", capacity="preemptible", trust="fork")
FORKS = pool(name="forks", accelerator="v6e-1", zones="{us-central1-b: 0}", capacity="preemptible", trust="fork")
RUNS = """
pool: nights
accelerators: [v6e-1, v6e-4, v5litepod-1]
zones: [us-central1-b, us-east5-a, us-west4-a]
per_day: 4
at_once: 2
time_to_live_minutes: 60
"""
TEXT = stack_text(pools=POOL, runs=RUNS)
V6E = AcceleratorType.parse("v6e-1")
NOW = 1_795_248_000


def record(vm: str, **given: object) -> RunVmRecord:
    usual: dict[str, object] = {
        "run": "1", "suite": "tpu", "stack": "ci", "pool": "nights", "accelerator": "v6e-1", "zone": "us-central1-b",
        "capacity": CapacityKind.SPOT, "asked": NOW, "expires": NOW + 3600,
    }  # fmt: skip
    return RunVmRecord(**usual | {"vm": vm} | given)  # type: ignore[arg-type] # ty: ignore[invalid-argument-type]


runs = st.from_regex(r"[a-z0-9]{1,32}", fullmatch=True)
pools = st.from_regex(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
whole_runs = st.tuples(pools, runs, st.integers(1, 999))


@given(whole_runs, whole_runs)
def test_two_runs_never_share_a_vm(one: tuple[str, str, int], other: tuple[str, str, int]) -> None:
    first, second = names.run_vm_name(*one), names.run_vm_name(*other)
    assert (first == second) == (one == other)
    assert names.is_resource_name(first)
    assert one[1] in first.split("-"), "the run's number stands in it"


@pytest.mark.parametrize("run", ["", "a-b", "A", "x" * 33])
def test_a_run_whose_number_could_be_taken_for_another_is_refused(run: str) -> None:
    with pytest.raises(ValueError, match="a run is 1 to 32 of a-z and 0-9"):
        names.run_vm_name("nights", run, 1)


def test_a_kind_of_capacity_is_tried_in_all_zones_before_the_next() -> None:
    paid = TEXT.replace("trust: fork", "trust: fork\n      fallback: [{zone: us-east5-a, capacity: on-demand}]")
    places = run_places(parse(paid), V6E, ("us-east5-a", "us-central1-b"), ("spot", "on-demand"))
    assert [(each.zone, each.capacity.value) for each in places] == [
        ("us-east5-a", "spot"), ("us-central1-b", "spot"), ("us-east5-a", "on-demand"), ("us-central1-b", "on-demand"),
    ]  # fmt: skip
    assert [dict(each.node.get("schedulingConfig", {})) for each in places] == [{"spot": True}] * 2 + [{}] * 2


def test_a_runs_vm_is_as_its_pools_and_no_vm_of_the_pool() -> None:
    (place, _) = run_places(parse(TEXT), V6E)
    node = place.node
    assert node["labels"] == {"tidepool-stack": "ci", "tidepool-owner": "lab", "tidepool-trust": "fork"}
    assert node["tags"] == ["tidepool-ci", "tidepool-trust-fork"]
    assert node["serviceAccount"]["email"].startswith("tidepool-ci-pool-nights@")
    assert "enableExternalIps" not in node["networkConfig"], "what forks bring in has no address"
    assert node["schedulingConfig"] == {"preemptible": True}, "as the pool is obtained"


@pytest.mark.parametrize(
    ("accelerator", "zones", "kinds", "rule"),
    [
        ("v4-8", (), (), "may not make this type"),
        ("v6e-1", ("us-west1-c",), (), "nothing would look for it there"),
        ("v6e-1", ("us-west4-a",), (), r"(?s)--zones: us-west4-a.*us-west4-a has no v6e.*us-central1-b"),
        ("v6e-1", (), ("reserved",), "no kind of capacity of a run's VM"),
        ("v6e-1", (), ("on-demand",), "no limit or budget counts it"),
    ],
)
def test_what_the_stack_does_not_let_runs_have_is_refused(
    accelerator: str, zones: tuple[str, ...], kinds: tuple[str, ...], rule: str
) -> None:
    with pytest.raises(ConfigError, match=rule):
        run_places(parse(TEXT), AcceleratorType.parse(accelerator), zones, kinds)
    with pytest.raises(ConfigError, match="the stack declares no runs"):
        run_places(parse(stack_text()), V6E)


def test_a_run_may_not_outlive_what_the_stack_lets_it() -> None:
    config, times = parse(TEXT), RunTimes(create=600, ready=600, limit=600, delete=600, spare=600)
    assert over_lifetime(config, times) == ""
    assert "for 65 minutes, and runs.time_to_live_minutes of stack ci is 60" in over_lifetime(
        config, times.model_copy(update={"limit": 1500})
    )


def test_runs_of_strangers_and_of_main_share_neither_an_account_nor_a_place() -> None:
    config = parse(stack_text(pools=POOL + FORKS, runs=f"{RUNS}fork_pool: forks\n"))
    writing = {part.key: part.prefix for part in bucket_access.parts(config) if part.prefix.startswith("runs/work/")}
    assert writing == {"pool/nights": "runs/work/nights/", "pool/forks": "runs/work/forks/"}
    accounts = {
        place.node["serviceAccount"]["email"] for made in config.pools for place in run_places(config, V6E, made=made)
    }
    assert len(accounts) == len(config.pools)


# Counting.


def test_a_day_has_as_many_vms_as_the_stack_says_and_a_stockout_counts_for_none() -> None:
    done = [record(f"vm-{number}", start=NOW, end=NOW + 60) for number in range(4)]
    without = record("without", end=NOW + 60, reason="stockout")
    assert over_ceiling(Ceilings(5, 2), [*done, without], done, NOW, stack="ci") == ""
    assert over_ceiling(Ceilings(4, 2), [*done, without], done, NOW, stack="ci").startswith(
        "runs of stack ci have made 4 VMs on 2026-11-21 (UTC), and may make 4 a day; wait for the next day"
    )


def test_what_stands_counts_until_its_time_is_over() -> None:
    standing = [record("one", start=NOW), record("two")]
    said = over_ceiling(Ceilings(9, 2), standing, standing, NOW + 60, stack="ci")
    assert said.startswith("2 VMs stand for runs of stack ci (one, two), and 2 may at once; wait until one is deleted")
    assert over_ceiling(Ceilings(9, 2), standing, standing, NOW + 3600, stack="ci") == ""


def test_a_vm_whose_client_was_killed_stood_until_its_time_was_over() -> None:
    lost = record("lost", start=NOW + 100)
    assert [lost.vm_seconds(NOW + after) for after in (50, 200, 9999)] == [0, 100, 3500]
    assert ended_late(lost, NOW + 3599) == lost
    closed = ended_late(lost, NOW + 3600)
    assert (closed.end, closed.reason, closed.vm_seconds(NOW + 9999)) == (NOW + 3600, "client-lost", 3500)


def test_the_first_end_of_a_vm_stands_unless_it_was_seen_later() -> None:
    open_ = record("vm", start=NOW + 10)
    first = ended(open_, NOW + 100)
    assert (first.end, first.start, first.reason) == (NOW + 100, NOW + 10, "client-lost")
    assert ended(first, NOW + 500, reason="done", ready=NOW) == first
    assert ended(first, NOW + 50, seen=NOW + 200).end == NOW + 200, "it stood on after it was ended"
    assert ended(replace(open_, reason="done"), NOW + 100).reason == "done", "its client could not delete it"
    assert ended(record("vm"), NOW + 100, ready=NOW + 20).start == NOW + 20
    assert not ended(record("vm"), NOW + 100).had_vm, "nobody ever saw it"


def test_a_days_record_is_read_as_it_was_written() -> None:
    found = (record("b", asked=NOW + 1, start=NOW + 2, end=NOW + 3, reason="done"), record("a"))
    assert day_records(day_body(found)) == (found[1], found[0])
    assert day_records(None) == ()
    assert with_record(found, record("a", start=NOW))[-1].start == NOW


@pytest.mark.parametrize(
    "body", [{"version": 2, "vms": []}, {"version": 1}, {"version": 1, "vms": [{"vm": "x"}]},
             {"version": 1, "vms": [record("x").to_json() | {"capacity": "free"}]},
             {"version": 1, "vms": [record("x").to_json() | {"end": "at noon"}]}, {"version": 1, "vms": [5]}],
)  # fmt: skip
def test_a_damaged_record_is_never_read_as_an_empty_day(body: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="the record of"):
        day_records(body)


def test_a_request_that_is_none_is_refused_with_every_mistake() -> None:
    with pytest.raises(ConfigError) as caught:
        read_request('{"version": 1, "places": [], "command": ["x"], "colour": "red", "times": {"limit": "x"}}')
    subjects = {problem.subject for problem in caught.value.problems}
    assert {"run request places", "run request colour", "run request bucket", "run request times.limit"} <= subjects
    with pytest.raises(ConfigError, match="not JSON"):
        read_request("{")


def test_a_run_is_told_of_the_disks_that_it_may_read_in_its_zone_and_of_no_other() -> None:
    """One that a VM may write could be changed for the next run."""
    written = ", ".join(
        f"{{source_disk: projects/my-lab/zones/us-central1-b/disks/{name}, mode: {mode}}}"
        for name, mode in (("weights", "read-only"), ("scratch", "read-write"))
    )
    nights = pool(
        name="nights", accelerator="v6e-1", zones="{us-central1-b: 0}", trust="member", data_disks=f"[{written}]"
    )
    config = parse(stack_text(pools=nights, runs=RUNS))
    request = RunRequest(
        stack="ci", project="my-lab", bucket="b", pool="nights", accelerator="v6e-1", places=run_places(config, V6E),
        zones=("us-central1-b", "us-east5-a"), contained=True, command=("true",),
        times=RunTimes(create=60, ready=60, limit=60),
    )  # fmt: skip
    told = {zone: request.told("p/", "1", zone=zone, tree="", carried={}) for zone in request.zones}
    assert {zone: each["disks"] for zone, each in told.items()} == {"us-central1-b": ["weights"], "us-east5-a": []}
