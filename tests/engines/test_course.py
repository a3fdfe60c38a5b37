"""The course of an apply over an engine that writes down what it is asked for: phases, failures, VMs elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from infra.engines.away import AwayVm, Fallbacks
from infra.engines.passes import fleets
from infra.model import bucket_names
from infra.model.errors import EngineError
from infra.model.plan import Op, Status, Step
from infra.model.planned_records import RECORDS_TYPE
from tests.engines.course_lab import POOL, Lab, name, nodes, other, plan, vm
from tests.engines.phase_world import PROJECT, ZONE, bound

AGAIN = "run `./tidepool up ci` again: it does only what is missing"
A0, A1, B0, B1, B2, C0 = name("a", 0), name("a", 1), name("b", 0), name("b", 1), name("b", 2), name("c")
SWAP = (vm(Op.DELETE, "a", 0), vm(Op.DELETE, "a", 1), vm(Op.CREATE, "b", 0), other(Op.CREATE, "grant"))
MOVE = (vm(Op.DELETE, "a", 0), vm(Op.CREATE, "b", 0), other(Op.DELETE, "grant"))
SMALLER = replace(vm(Op.REPLACE, "a"), old_inputs=vm(Op.DELETE, "a", accelerator="v5litepod-8").old_inputs)
RECORDS = other(Op.UPDATE, "records", RECORDS_TYPE)
MANIFEST = other(Op.UPDATE, bucket_names.manifest_object("ci"), "gcp:storage/bucketObject:BucketObject")
TO_B = replace(vm(Op.CREATE, "b"), new_inputs=vm(Op.CREATE, "a").new_inputs)
NO_ROOM = "held back: the limit has no chips left for it"
NOT_BEGUN = "not started, because of another failure"
STAYS = "not changed, because of another failure"
TAKEN = f"held back, since their chips are still taken; mend that and {AGAIN}"
LEFT = "us-west4-a v5e reservation lab: 12 of 8 chips are declared, 0 are held"
LOCKED = EngineError("the state is locked")

COURSES: dict[str, tuple[Lab, tuple[Step, ...], dict[str, Any], dict[str, Any]]] = {
    "an edit that fits is one pass without phases": (
        Lab(),
        (vm(Op.CREATE, "a"), other(Op.UPDATE, "grant"), other(Op.SAME, "bucket")),
        {},
        {"asked": [("up", "", True)], "said": [], "held": [(False, [], [], [], False)], "bad": {}},
    ),
    "VMs whose chips are needed go first, and each phase is told": (
        Lab(),
        SWAP,
        {},
        {
            "asked": [("adopt", "", False), ("destroy", f"{A0} {A1}", True), ("up", "", True)],
            "said": [
                "phase 1 of 2, shrink: deleting 2 VMs (a-us-west4-a-{0..1})",
                "phase 2 of 2, grow: everything else",
            ],
            "held": [(False, [A0, A1], [], [], True)],
            "bad": {},
        },
    ),
    "node pools that give chips back shrink first": (
        Lab(),
        (nodes(2, 1), vm(Op.CREATE, "b")),
        {},
        {
            "asked": [("up", POOL, True), ("up", "", True)],
            "said": [f"phase 1 of 2, shrink: fewer nodes of {POOL}", "phase 2 of 2, grow: everything else"],
            "held": [(False, [], [], [], False)],
            "bad": {},
        },
    ),
    "a node pool that does not shrink holds back what needs its chips": (
        Lab(silent=frozenset({POOL})),
        (nodes(2, 1), vm(Op.CREATE, "b"), vm(Op.CREATE, "c"), other(Op.CREATE, "grant")),
        {},
        {
            "asked": [("up", POOL, True), ("up", "grant", True)],
            "bad": {
                POOL: (Status.FAILED, "it was not made smaller"),
                B0: (Status.SKIPPED, NO_ROOM),
                C0: (Status.SKIPPED, NO_ROOM),
            },
            "blamed": [f"1 node pool ({POOL}) could not be deleted: 2 VMs (b-us-west4-a-0, c-us-west4-a-0) {TAKEN}"],
        },
    ),
    "a VM that cannot go first holds back what needs its chips": (
        Lab(failing={A1: "it is in use"}),
        (vm(Op.DELETE, "a", 0), vm(Op.DELETE, "a", 1), vm(Op.CREATE, "b", 0), vm(Op.CREATE, "b", 1)),
        {},
        {
            "asked": [("adopt", "", False), ("destroy", f"{A0} {A1}", True), ("up", B0, True)],
            "bad": {A1: (Status.FAILED, "it is in use"), B1: (Status.SKIPPED, NO_ROOM)},
            "blamed": [f"1 VM (a-us-west4-a-1) could not be deleted: 1 VM (b-us-west4-a-1) {TAKEN}"],
        },
    ),
    "a VM that cannot go first and holds nobody back is told": (
        Lab(silent=frozenset({A1})),
        (*(vm(Op.DELETE, "a", index) for index in range(3)), vm(Op.CREATE, "b", 0)),
        {"bounds": (bound("reserved", 12),)},
        {
            "bad": {A1: (Status.FAILED, "it was not deleted")},
            "blamed": [f"1 VM (a-us-west4-a-1) could not be deleted: everything else goes on; mend that and {AGAIN}"],
        },
    ),
    "what a limit has no room for is held back with the limit": (
        Lab(),
        tuple(vm(Op.CREATE, "b", index) for index in range(3)),
        {},
        {
            "bad": {B2: (Status.SKIPPED, NO_ROOM)},
            "blamed": [f"1 VM (b-us-west4-a-2) held back, since no chips are left: {LEFT}; declare less, and {AGAIN}"],
        },
    ),
    "a VM that went first and was not made again says so": (
        Lab(broken={1: LOCKED}),
        (SMALLER, vm(Op.CREATE, "b")),
        {},
        {"bad": {A0: (Status.SKIPPED, "deleted to make room, and not created again"), B0: (Status.SKIPPED, NOT_BEGUN)}},
    ),
    "a VM that was to go first and was not begun was not deleted": (
        Lab(skipped=frozenset({A0})),
        (SMALLER, vm(Op.CREATE, "b")),
        {},
        {"bad": {A0: (Status.FAILED, "it was not deleted"), B0: (Status.SKIPPED, NO_ROOM)}},
    ),
    "what an engine does besides and fails keeps what goes": (
        Lab(extra=(replace(other(Op.CREATE, "alert"), status=Status.PLANNED),), failing={"alert": "403"}),
        MOVE,
        {"at_once": False},
        {"bad": {"alert": (Status.FAILED, "403"), A0: (Status.SKIPPED, STAYS), "grant": (Status.SKIPPED, NOT_BEGUN)}},
    ),
    "what goes stands until what is new serves": (
        Lab(),
        (*MOVE, MANIFEST, RECORDS, other(Op.UPDATE, "label")),
        {"at_once": False},
        {
            "asked": [("up", f"-{A0} -grant -{MANIFEST.name} -records", True), ("up", "", True)],
            "said": [
                "phase 1 of 2, grow: everything that deletes no VM",
                "phase 2 of 2, retire: 1 VM (a-us-west4-a-0)",
            ],
            "held": [(False, [], [A0], [], False), (True, [A0], [], [], False)],
            "bad": {},
        },
    ),
    "where what is new fails, what it would replace stays, and stays declared": (
        Lab(failing={B0: "no more capacity"}),
        (vm(Op.DELETE, "a"), TO_B, vm(Op.DELETE, "c"), vm(Op.CREATE, "d"), RECORDS),
        {"at_once": False, "bounds": ()},
        {
            "held": [(False, [], [A0, C0], [], False), (True, [C0], [A0], [], False)],
            "bad": {
                A0: (Status.SKIPPED, STAYS),
                B0: (Status.FAILED, "no more capacity"),
                "records": (Status.SKIPPED, "held back: VMs exist that it no longer declares"),
            },
        },
    ),
    "VMs whose jobs run on are kept with the reason": (
        Lab(refuses="a job runs on"),
        MOVE,
        {"at_once": False},
        {
            "bad": dict.fromkeys((A0, "grant"), (Status.SKIPPED, "held back: a job runs on")),
            "blamed": [f"a job runs on; {AGAIN}"],
        },
    ),
    "an engine that cannot start is blamed where something was done": (
        Lab(broken={1: LOCKED}, adopted=(vm(Op.ADOPT, "z"),)),
        SWAP,
        {},
        {
            "asked": [("adopt", "", False), ("destroy", f"{A0} {A1}", True), ("up", f"{B0} grant", True)],
            "blamed": [f"the state is locked; then {AGAIN}"],
        },
    ),
    "an engine that cannot start again leaves what was to go": (
        Lab(broken={2: LOCKED}),
        MOVE,
        {"at_once": False},
        {"bad": {A0: (Status.SKIPPED, STAYS), "grant": (Status.SKIPPED, NOT_BEGUN)}},
    ),
    "one pool's failure keeps no other pool from being made": (
        Lab(failing={A0: "no more capacity"}),
        (vm(Op.REPLACE, "a"), vm(Op.REPLACE, "b"), vm(Op.CREATE, "c"), vm(Op.DELETE, "d")),
        {"bounds": ()},
        {
            "asked": [("up", "", False), ("up", C0, True), ("up", f"{B0} {name('d')}", False)],
            "bad": {A0: (Status.FAILED, "no more capacity")},
        },
    ),
}


@pytest.mark.parametrize("course", COURSES)
def test_the_course_of_an_apply(course: str) -> None:
    lab, steps, given, expected = COURSES[course]
    lab.up(*steps, **given)
    assert {key: getattr(lab, key) for key in expected} == expected


def test_an_engine_that_cannot_start_raises_where_nothing_was_done() -> None:
    with pytest.raises(EngineError, match="locked"):
        Lab(broken={1: LOCKED}).up(vm(Op.CREATE))


def test_an_edit_that_fits_has_the_outputs_and_warnings_of_its_pass() -> None:
    run = Lab().up(vm(Op.CREATE, "a"))
    assert (run.outputs, [each.message for each in run.diagnostics]) == ({"n": 1}, ["pass 1"])


def test_a_vm_that_goes_first_and_is_made_again_is_one_replacement() -> None:
    lab = Lab()
    run = lab.up(SMALLER, vm(Op.CREATE, "b"), other(Op.SAME, "bucket"))
    assert lab.ops == [{A0: Op.CREATE, B0: Op.CREATE}]
    ended = {step.name: (step.op, step.status, step.seconds) for step in run.steps}
    assert ended[A0] == (Op.REPLACE, Status.DONE, 2.469), "both halves"
    assert ended["bucket"] == (Op.SAME, Status.DONE, 0.0)


def test_a_replacement_that_fails_at_its_delete_is_told_as_the_replacement_that_was_planned() -> None:
    run = Lab(half=frozenset({A0}), failing={A0: "it is in use"}).up(vm(Op.REPLACE, "a"), bounds=())
    (ended,) = run.steps
    assert (ended.op, ended.status, ended.error, ended.seconds) == (Op.REPLACE, Status.FAILED, "it is in use", 1.235)


def test_what_is_adopted_before_a_shrink_is_told_unless_the_plan_does_more_with_it() -> None:
    planned = vm(Op.ADOPT, "c")
    found = (planned, vm(Op.ADOPT, "a", 0), vm(Op.ADOPT, "z"))
    run = Lab(adopted=tuple(replace(each, status=Status.DONE) for each in found)).up(*SWAP, planned)
    ends = {step.name: step.op for step in run.steps}
    assert (ends[A0], ends[C0], ends[name("z")]) == (Op.DELETE, Op.ADOPT, Op.ADOPT)


# VMs that stand at fallbacks


class Away(Fallbacks):
    """Fallbacks whose calls are written down; those of `stuck` fail."""

    stuck: Mapping[str, str]
    calls: list[tuple[str, list[str]]]

    def change(self, vms: Sequence[AwayVm]) -> Mapping[str, str]:
        return self._called("change", [str(each) for each in vms])

    def delete(self, vms: Sequence[AwayVm]) -> Mapping[str, str]:
        return self._called("delete", [str(each) for each in vms])

    def _called(self, verb: str, vms: list[str]) -> Mapping[str, str]:
        self.calls.append((verb, vms))
        return {each: self.stuck[each] for each in vms if each in self.stuck}


def away(*steps: Step, at: Sequence[str] = (A0,), stuck: Mapping[str, str] | None = None, **node: Any) -> Away:
    node = {"acceleratorType": "v5litepod-4", "state": "READY", "labels": {"tidepool-pool": "a"}, **node}
    place = f"projects/{PROJECT}/locations/us-east1-c/nodes"
    made = Away(None, [AwayVm(id=f"{place}/{each}", node=node, alone=True) for each in at], plan(*steps))
    made.stuck, made.calls = stuck or {}, []
    return made


AT_A, AT_B = f"{A0} in us-east1-c", f"{B0} in us-east1-c"


def test_a_vm_at_a_fallback_is_changed_where_it_stands_and_left_out_of_the_pass() -> None:
    steps = (vm(Op.UPDATE, "a"), vm(Op.CREATE, "b"))
    there = away(*steps)
    lab = Lab()
    lab.up(*steps, away=there)
    assert lab.asked == [("up", f"-{A0}", True)]
    assert there.calls == [("change", [AT_A])]
    assert lab.bad == {}
    stuck = away(*steps, stuck={AT_A: "403"})
    lab.up(*steps, away=stuck)
    assert lab.bad[A0] == (Status.FAILED, "403")


def test_a_vm_at_a_fallback_goes_once_its_slot_is_gone_or_stands_at_home() -> None:
    steps = (vm(Op.DELETE, "a"), vm(Op.CREATE, "b"), vm(Op.SAME, "c"))
    there = away(*steps, at=(A0, B0, C0))
    lab = Lab()
    lab.up(*steps, away=there, bounds=())
    assert there.calls == [("change", []), ("delete", [AT_A, AT_B])]
    (said,) = lab.said
    assert re.fullmatch(r"deleting 2 VMs \(.*\), at fallbacks", said)
    failed = away(*steps, at=(A0, B0))
    lab = Lab(failing={B0: "no more capacity"})
    lab.up(*steps, away=failed, bounds=())
    assert failed.calls == [("change", []), ("delete", [AT_A])], "the one at its fallback serves on"
    lab = Lab()
    home = (vm(Op.CREATE, "a"),)
    lab.up(*home, away=away(*home), bounds=(), at_once=False)
    assert lab.held == [(False, [], [A0], [], False), (True, [A0], [], [A0], False)]


def test_one_that_cannot_be_deleted_at_its_fallback_is_a_failure_of_its_slot() -> None:
    steps = (vm(Op.DELETE, "a"), vm(Op.CREATE, "b"))
    there = away(*steps, stuck={AT_A: "403"})
    lab = Lab()
    lab.up(*steps, away=there, bounds=())
    assert lab.bad[A0] == (Status.FAILED, "it stands in us-east1-c: 403")
    assert lab.blamed == [f"{AT_A} could not be deleted: 403; mend that and {AGAIN}"]
    home = (vm(Op.CREATE, "a"),)
    lab.up(*home, away=away(*home, stuck={AT_A: "403"}), bounds=())
    assert lab.bad == {}, "it stands at home"


def test_one_that_goes_first_at_its_fallback_is_not_waited_for_with_what_goes_last() -> None:
    here = replace(bound("reserved", 4), limit=bound("reserved", 4).limit.model_copy(update={"zone": "us-east1-c"}))
    made = vm(Op.CREATE, "b")
    made = replace(made, new_inputs={**(made.new_inputs or {}), "zone": "us-east1-c"})
    steps = (vm(Op.DELETE, "a"), made, vm(Op.DELETE, "m"))
    there = away(*steps, schedulingConfig={"reserved": True})
    lab = Lab()
    lab.up(*steps, away=there, bounds=(here,), at_once=False)
    assert lab.held == [(False, [A0], [name("m")], [], True), (True, [name("m")], [], [], False)]
    assert lab.said[0] == f"phase 1 of 3, shrink: deleting 1 VM ({AT_A})"
    assert [calls for verb, calls in there.calls if verb == "delete"] == [[AT_A]], "once"
    assert lab.bad == {}


# Which VMs stand before and after


def test_a_slot_whose_vm_stands_at_a_fallback_has_none_at_home() -> None:
    steps = (vm(Op.UPDATE, "a"), vm(Op.DELETE, "b"), vm(Op.SAME, "c"))
    there = away(*steps, at=(A0, B0))
    before, after = fleets(plan(*steps), there)
    assert (before.keys(), after.keys()) == ({AT_A, AT_B, C0}, {AT_A, C0})
    assert before[AT_A].zone == "us-east1-c"


def test_a_vm_at_a_fallback_that_google_took_back_holds_no_chips() -> None:
    steps = (vm(Op.DELETE, "a"),)
    before, _ = fleets(plan(*steps), away(*steps, state="PREEMPTED"))
    assert before == {}


def test_what_goes_draws_as_the_cloud_says_and_what_stays_as_the_state_does() -> None:
    steps = (vm(Op.DELETE, "a"), vm(Op.REPLACE, "b"), vm(Op.SAME, "c"))
    home = {each.name: {"acceleratorType": "v5litepod-8", "zone": "elsewhere"} for each in steps}
    before, after = fleets(plan(*steps), Fallbacks(None, (), plan(*steps), home))
    assert {each: (found.chips, found.zone) for each, found in before.items()} == {
        A0: (8, ZONE),
        B0: (8, ZONE),
        C0: (4, ZONE),
    }
    same = vm(Op.REPLACE, "b")
    before, after = fleets(plan(same), Fallbacks())
    assert before[B0] != after[B0], "it is replaced whatever differs"
