"""VMs that stand away from home: which those are, and how they are changed and deleted there, on a fake API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.engines.away import Fallbacks, vms_away
from infra.engines.protocol import EngineRequest
from infra.fleet.bundle import STUB
from infra.model import fleet
from infra.model.node import node_spec
from infra.model.plan import Diagnostic, Op
from infra.model.planned_capacity import CapacityPlace
from infra.model.stack import load_stack
from tests.engines.vm_world import (
    AWAY,
    BROKEN,
    BY_HOUR,
    FIRST,
    HOME,
    OTHER,
    SECOND,
    Cloud,
    at,
    id_of,
    own,
    plan,
    stands,
    step,
    vm,
)


def test_a_vm_away_says_what_it_is_and_where_it_counts() -> None:
    found = vm(node=own(schedulingConfig={"spot": True}))
    assert (found.name, found.project, found.zone, str(found)) == (FIRST, "my-lab", AWAY, f"{FIRST} in {AWAY}")
    assert found.place == CapacityPlace(pool="a", zone=AWAY, accelerator="v5litepod-4", capacity="spot")
    assert found.whose == "neither declared nor in the state"
    assert vm(in_window=True).whose == "there by its window"


def test_vms_are_away_where_a_plan_has_them_elsewhere_or_not_at_all(google: Cloud, request_: EngineRequest) -> None:
    stands(google, SECOND, OTHER, BY_HOUR, zone=AWAY)
    stands(google, FIRST, SECOND)
    stands(google, FIRST, zone="us-west1-a", state="DELETING")
    steps = (
        step(Op.SAME, FIRST, at(HOME), at(HOME)),
        step(Op.DELETE, SECOND, at(HOME)),
        step(Op.CREATE, OTHER, None, at(HOME)),
        replace(step(Op.DELETE, BY_HOUR, at(AWAY)), type="gcp:storage/bucket:Bucket"),
    )
    said: list[Diagnostic] = []
    found = vms_away(request_, plan(*steps), said.append)
    assert [(each.id, each.alone, each.in_window) for each in found.vms] == [
        (id_of(SECOND, AWAY), False, False),
        (id_of(BY_HOUR, AWAY), True, True),
        (id_of(OTHER, AWAY), True, False),
    ]
    assert [each.name for each in found.leaving] == [SECOND, OTHER]
    assert [each.name for each in found.strays] == [BY_HOUR]
    assert found.home == {each: {"name": id_of(each), **google.nodes[id_of(each)]} for each in (FIRST, SECOND)}
    assert found.vms[1].node["acceleratorType"] == "v5litepod-4"
    assert said == []


def test_a_vm_is_at_home_both_where_it_was_and_where_it_comes(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST)
    stands(google, FIRST, zone=AWAY)
    stands(google, FIRST, zone="us-west1-a")
    found = vms_away(request_, plan(step(Op.REPLACE, FIRST, at(HOME), at(AWAY))), lambda _: None)
    assert [(each.zone, each.alone) for each in found.leaving] == [("us-west1-a", False)]
    assert found.delete(found.leaving) == {}
    assert google.calls("delete") == [id_of(FIRST, "us-west1-a")]


def test_inputs_that_do_not_say_where_make_no_home(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST)
    found = vms_away(request_, plan(step(Op.UPDATE, FIRST, {"zone": HOME}, {"project": "my-lab"})), lambda _: None)
    assert [each.id for each in found.changing] == [id_of(FIRST)]


def test_a_vm_is_changed_away_where_nothing_of_it_stands_at_home() -> None:
    vms = (vm(FIRST), vm(SECOND, alone=False), vm(OTHER))
    steps = (step(Op.UPDATE, FIRST), step(Op.UPDATE, SECOND), step(Op.SAME, OTHER))
    found = Fallbacks(None, vms, plan(*steps))
    assert (found.changing, found.leaving, found.strays) == (vms[:1], (), ())
    assert Fallbacks(None, vms).strays == vms
    assert (Fallbacks().vms, Fallbacks().home) == ((), {})


@pytest.mark.parametrize("op", [Op.SAME, Op.ADOPT, Op.RETAIN])
def test_a_plan_that_changes_no_vm_asks_nobody(google: Cloud, request_: EngineRequest, op: Op) -> None:
    google.lacking = True
    said: list[Diagnostic] = []
    assert vms_away(request_, plan(step(op, FIRST, at(HOME))), said.append).vms == ()
    assert said == []


def test_vms_away_that_cannot_be_listed_are_warned_of(google: Cloud, request_: EngineRequest) -> None:
    google.lacking = True
    said: list[Diagnostic] = []
    assert vms_away(request_, plan(step(Op.UPDATE, FIRST, at(HOME))), said.append).vms == ()
    why = "finding Google credentials failed: none"
    text = f"VMs at fallbacks are not known ({why}): this apply may reach a limit"
    assert said == [Diagnostic(severity="warning", message=text)]


def declared(request: EngineRequest, index: int = 0) -> dict[str, Any]:
    """What the first slots of pool `a` say of a node at their fallback."""
    config = load_stack(request.root, "lone")
    (here,) = fleet.fallbacks(fleet.pool_slots(config, config.pools[0])[index])
    return node_spec(config, here, startup_script=STUB.read_text(encoding="utf-8")).to_api()


def test_only_what_differs_of_a_vm_is_changed_where_it_stands(google: Cloud, request_: EngineRequest) -> None:
    whole = declared(request_)
    without = {key: value for key, value in whole.items() if key != "tags"}
    there = vm(node={**without, "labels": {}, "runtimeVersion": "old"})
    assert Fallbacks(request_).change([there, vm(SECOND, node=declared(request_, 1))]) == {}
    assert google.sent == [(there.id, "labels,tags", {"labels": whole["labels"], "tags": whole["tags"]})]


def test_a_vm_where_no_fallback_is_declared_has_what_its_slot_says(google: Cloud, request_: EngineRequest) -> None:
    there = vm(zone="us-east5-a", node={**declared(request_), "metadata": {}})
    assert Fallbacks(request_).change([there]) == {}
    ((_, mask, body),) = google.sent
    assert (mask, body["metadata"]["tidepool-region"]) == ("metadata", "us-west4")


def test_changes_fail_each_by_its_vm(google: Cloud, request_: EngineRequest) -> None:
    google.refusing[f"patch {id_of(FIRST, AWAY)}"] = 403
    vms = [vm(FIRST), vm(SECOND)]
    failed = {f"{FIRST} in {AWAY}": f"changing {FIRST} in {AWAY} failed: no (403)"}
    assert Fallbacks(request_).change(vms) == failed
    assert [each[0] for each in google.sent] == [id_of(SECOND, AWAY)]


def test_deletes_fail_each_by_its_vm(google: Cloud, request_: EngineRequest) -> None:
    stands(google, FIRST, SECOND, zone=AWAY)
    google.refusing[f"delete {id_of(SECOND, AWAY)}"] = 403
    vms = [vm(FIRST), vm(SECOND)]
    failed = {f"{SECOND} in {AWAY}": f"deleting {id_of(SECOND, AWAY)} failed: no (403)"}
    assert Fallbacks(request_).delete(vms) == failed
    assert google.nodes.keys() == {id_of(SECOND, AWAY)}
    assert google.sleeps == [0.2]
    google.lacking = True
    why = "finding Google credentials failed: none"
    for call in (Fallbacks(request_).change, Fallbacks(request_).delete):
        assert call(vms) == {f"{FIRST} in {AWAY}": why, f"{SECOND} in {AWAY}": why}


def test_a_stack_file_with_mistakes_lets_no_vm_be_deleted_and_says_why(google: Cloud, request_: EngineRequest) -> None:
    (request_.root / "stacks" / "Pulumi.lone.yaml").write_text(BROKEN)
    failed = Fallbacks(request_).delete([vm()])
    assert "Pulumi.lone.yaml" in failed[f"{FIRST} in {AWAY}"]
    assert google.asked == []


def test_no_vms_are_changed_and_deleted_without_asking_anybody(google: Cloud, request_: EngineRequest) -> None:
    google.lacking = True
    assert (Fallbacks(request_).change([]), Fallbacks(request_).delete([])) == ({}, {})
    assert (Fallbacks().change([vm()]), Fallbacks().delete([vm()])) == ({}, {})
