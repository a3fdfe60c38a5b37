"""The course of an apply over an engine that writes down what it is asked for: phases, failures, VMs elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from infra.engines.away import AwayVm, Fallbacks
from infra.engines.passes import HeldBackError, fleets
from infra.engines.phased import apply
from infra.engines.protocol import Engine, Listener
from infra.model import bucket_names
from infra.model.bounds import Bound
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic, Event, Op, Plan, Status, Step
from infra.model.planned_capacity import VM_TYPE
from infra.model.planned_records import RECORDS_TYPE
from tests.engines.phase_world import PROJECT, ZONE, bound

GRANT = "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember"
FULL = bound("reserved", 8)
POOL = "ct5lp-hightpu-4t-2x2-a-spot"
AGAIN = "run `./tidepool up ci` again: it does only what is missing"


def vm(op: Op, pool: str = "a", index: int = 0, *, accelerator: str = "v5litepod-4") -> Step:
    name = f"{pool}-{ZONE}-{index}"
    inputs = {
        "acceleratorType": accelerator,
        "project": PROJECT,
        "zone": ZONE,
        "labels": {"tidepool-pool": pool.partition("-")[0]},
        "schedulingConfig": {"reserved": True},
    }
    old, new = (None if op is Op.CREATE else inputs), (None if op is Op.DELETE else inputs)
    return Step(op=op, urn=f"urn::{name}", type=VM_TYPE, name=name, old_inputs=old, new_inputs=new)


def other(op: Op, name: str, type_: str = GRANT) -> Step:
    return Step(op=op, urn=f"urn::{name}", type=type_, name=name, old_inputs={}, new_inputs={})


def nodes(before: int, after: int) -> Step:
    """A node pool of one-host slices."""

    def inputs(count: int) -> dict[str, Any]:
        labels = {"tidepool-slices": "train", "tidepool-accelerator": "v5litepod-4"}
        affinity = {"consumeReservationType": "SPECIFIC_RESERVATION"}
        config = {"resourceLabels": labels, "reservationAffinity": affinity}
        return {"nodeConfig": config, "nodeLocations": [ZONE], "project": PROJECT, "nodeCount": count}

    kind = "gcp:container/nodePool:NodePool"
    return Step(
        op=Op.UPDATE, urn=f"urn::{POOL}", type=kind, name=POOL, old_inputs=inputs(before), new_inputs=inputs(after)
    )


def name(pool: str, index: int = 0) -> str:
    return f"{pool}-{ZONE}-{index}"


@dataclass
class Lab:
    """Engines for passes. failing: errors by name of a resource. broken: what `up` raises from its n-th call on.

    adopted: what a pass that adopts says. silent, skipped: of what passes say nothing, or that it was not begun. half:
    replacements that fail at their delete. extra: what a pass that makes does besides. ops: what each was to make.
    asked: every pass, as verb, names it is about (`-` before what is left out), and whether it goes on after failures.
    """

    failing: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[int, EngineError] = field(default_factory=dict)
    adopted: tuple[Step, ...] = ()
    silent: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    half: frozenset[str] = frozenset()
    extra: tuple[Step, ...] = ()
    ops: list[dict[str, Op]] = field(default_factory=list)
    asked: list[tuple[str, str, bool]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    held: list[tuple[bool, list[str], list[str], list[str], bool]] = field(default_factory=list)
    refuses: str = ""

    def make(self, *, targets: tuple[str, ...], continue_on_error: bool, excludes: tuple[str, ...] = ()) -> Engine:
        return cast("Engine", _Pass(self, targets, continue_on_error, excludes))

    def tell(self, event: Event) -> None:
        assert isinstance(event, Diagnostic)
        self.said.append(event.message)

    @contextmanager
    def hold(
        self,
        *,
        leaving: Collection[str],
        staying: Collection[str],
        begun: bool,
        returning: Collection[str] = (),
        makes_room: bool = False,
    ) -> Generator[None]:
        self.held.append((begun, sorted(leaving), sorted(staying), sorted(returning), makes_room))
        if begun and self.refuses:
            raise HeldBackError(self.refuses)
        yield

    def up(self, *steps: Step, bounds: Sequence[Bound] = (FULL,), away: Fallbacks | None = None, **given: Any) -> Plan:
        self.plan = Plan(stack="ci", engine="fake", cloud="local", steps=steps)
        run = apply(self.plan, bounds, self.make, self.tell, away, self.hold, **{"at_once": True, **given})
        self.ends = {step.name: (step.status, step.error) for step in run.steps}
        self.blamed = [each.message for each in run.diagnostics if each.severity == "error"]
        return run


@dataclass
class _Pass:
    lab: Lab
    targets: tuple[str, ...]
    go_on: bool
    excludes: tuple[str, ...]

    def _asked(self, verb: str) -> None:
        about = [*self.targets, *(f"-{urn}" for urn in self.excludes)]
        self.lab.asked.append((verb, " ".join(each.replace("urn::", "") for each in about), self.go_on))

    def _run(self, steps: Sequence[Step]) -> Plan:
        ended: list[Step] = []
        for step in steps:
            error = self.lab.failing.get(step.name)
            stopped = bool(ended) and ended[-1].status is not Status.DONE and not self.go_on
            if stopped or step.name in self.lab.skipped:
                ended.append(replace(step, status=Status.SKIPPED))
            elif step.name not in self.lab.silent:
                op = Op.DELETE if step.name in self.lab.half else step.op
                status = Status.FAILED if error else Status.DONE
                ended.append(replace(step, op=op, status=status, error=error, seconds=1.23456))
        said = (Diagnostic(severity="warning", message=f"pass {len(self.lab.asked)}"),)
        return Plan(stack="ci", engine="fake", cloud="local", steps=tuple(ended), diagnostics=said, outputs={"n": 1})

    def up(self, listener: Listener | None = None, *, planned: Plan) -> Plan:
        assert listener
        assert planned.stack == "ci"
        self._asked("up")
        if error := self.lab.broken.get(sum(verb == "up" for verb, _, _ in self.lab.asked)):
            raise error
        steps = [step for step in planned.steps if step.urn not in self.excludes]
        self.lab.ops.append({step.name: step.op for step in steps})
        return self._run([*steps, *self.lab.extra])

    def destroy(self, listener: Listener | None = None) -> Plan:
        assert listener
        self._asked("destroy")
        gone = [replace(step, op=Op.DELETE) for step in self.lab.plan.steps if step.urn in self.targets]
        return self._run(gone)

    def forget(self, listener: Listener | None = None, *, planning: bool = False) -> Plan:
        raise NotImplementedError("no pass of an apply forgets")

    def adopt(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        assert listener
        assert planned is None
        self._asked("adopt")
        return Plan(stack="ci", engine="fake", cloud="local", steps=self.lab.adopted)


DONE = (Status.DONE, None)
SWAP = (vm(Op.DELETE, "a", 0), vm(Op.DELETE, "a", 1), vm(Op.CREATE, "b", 0), other(Op.CREATE, "grant"))
MOVE = (vm(Op.DELETE, "a", 0), vm(Op.CREATE, "b", 0), other(Op.DELETE, "grant"))


def test_an_edit_that_fits_is_one_pass_without_phases() -> None:
    lab = Lab()
    run = lab.up(vm(Op.CREATE, "a"), other(Op.UPDATE, "grant"), other(Op.SAME, "bucket"))
    assert lab.asked == [("up", "", True)]
    assert lab.said == []
    assert lab.held == [(False, [], [], [], False)]
    assert set(lab.ends.values()) == {DONE}
    assert (run.outputs, [each.message for each in run.diagnostics]) == ({"n": 1}, ["pass 1"])


def test_vms_whose_chips_are_needed_go_first_and_each_phase_is_told() -> None:
    lab = Lab()
    lab.up(*SWAP)
    assert lab.asked == [("adopt", "", False), ("destroy", f"{name('a', 0)} {name('a', 1)}", True), ("up", "", True)]
    assert lab.said == [
        "phase 1 of 2, shrink: deleting 2 VMs (a-us-west4-a-{0..1})",
        "phase 2 of 2, grow: everything else",
    ]
    assert lab.held == [(False, [name("a", 0), name("a", 1)], [], [], True)]
    assert set(lab.ends.values()) == {DONE}


def test_node_pools_that_give_chips_back_shrink_first() -> None:
    lab = Lab()
    lab.up(nodes(2, 1), vm(Op.CREATE, "b"))
    assert lab.asked == [("up", POOL, True), ("up", "", True)]
    assert lab.said == [
        "phase 1 of 2, shrink: fewer nodes of ct5lp-hightpu-4t-2x2-a-spot",
        "phase 2 of 2, grow: everything else",
    ]
    assert lab.held == [(False, [], [], [], False)]
    assert set(lab.ends.values()) == {DONE}


def test_a_node_pool_that_does_not_shrink_holds_back_what_needs_its_chips() -> None:
    lab = Lab(silent=frozenset({POOL}))
    lab.up(nodes(2, 1), vm(Op.CREATE, "b"), vm(Op.CREATE, "c"), other(Op.CREATE, "grant"))
    assert lab.asked == [("up", POOL, True), ("up", "grant", True)]
    assert lab.ends[POOL] == (Status.FAILED, "it was not made smaller")
    assert lab.ends[name("b")] == (Status.SKIPPED, "held back: the limit has no chips left for it")
    assert lab.ends["grant"] == DONE
    stuck, left = f"1 node pool ({POOL}) could not be deleted:", "2 VMs (b-us-west4-a-0, c-us-west4-a-0)"
    assert lab.blamed == [
        f"{stuck} {left} held back, since their chips are still taken; mend that and {AGAIN}",
    ]


def test_a_vm_that_cannot_go_first_holds_back_what_needs_its_chips_and_says_so() -> None:
    lab = Lab(failing={name("a", 1): "it is in use"})
    lab.up(vm(Op.DELETE, "a", 0), vm(Op.DELETE, "a", 1), vm(Op.CREATE, "b", 0), vm(Op.CREATE, "b", 1))
    assert lab.asked[:2] == [("adopt", "", False), ("destroy", f"{name('a', 0)} {name('a', 1)}", True)]
    assert lab.asked[2:] == [("up", name("b", 0), True)]
    assert lab.ends == {
        name("a", 0): DONE,
        name("a", 1): (Status.FAILED, "it is in use"),
        name("b", 0): DONE,
        name("b", 1): (Status.SKIPPED, "held back: the limit has no chips left for it"),
    }
    deleted = "1 VM (a-us-west4-a-1) could not be deleted:"
    assert lab.blamed == [
        f"{deleted} 1 VM (b-us-west4-a-1) held back, since their chips are still taken; mend that and {AGAIN}"
    ]


def test_a_vm_that_cannot_go_first_and_holds_nobody_back_is_told() -> None:
    lab = Lab(silent=frozenset({name("a", 1)}))
    room = bound("reserved", 12)
    lab.up(*(vm(Op.DELETE, "a", index) for index in range(3)), vm(Op.CREATE, "b", 0), bounds=(room,))
    assert lab.ends[name("a", 1)] == (Status.FAILED, "it was not deleted")
    assert lab.ends[name("b", 0)] == DONE
    assert lab.blamed == [f"1 VM (a-us-west4-a-1) could not be deleted: everything else goes on; mend that and {AGAIN}"]


def test_what_a_limit_has_no_room_for_is_held_back_with_the_limit() -> None:
    lab = Lab()
    lab.up(*(vm(Op.CREATE, "b", index) for index in range(3)))
    assert lab.ends[name("b", 2)] == (Status.SKIPPED, "held back: the limit has no chips left for it")
    why = "us-west4-a v5e reservation lab: 12 of 8 chips are declared, 0 are held"
    assert lab.blamed == [f"1 VM (b-us-west4-a-2) held back, since no chips are left: {why}; declare less, and {AGAIN}"]


def smaller(index: int = 0) -> Step:
    large = vm(Op.DELETE, "a", index, accelerator="v5litepod-8").old_inputs
    return replace(vm(Op.REPLACE, "a", index), old_inputs=large)


def test_a_vm_that_goes_first_and_is_made_again_is_one_replacement() -> None:
    lab = Lab()
    run = lab.up(smaller(), vm(Op.CREATE, "b"), other(Op.SAME, "bucket"))
    assert lab.asked[1:] == [("destroy", name("a"), True), ("up", "", True)]
    assert lab.ops == [{name("a"): Op.CREATE, name("b"): Op.CREATE}]
    ended = {step.name: (step.op, step.status, step.seconds) for step in run.steps}
    assert ended[name("a")] == (Op.REPLACE, Status.DONE, 2.469), "both halves"
    assert ended["bucket"] == (Op.SAME, Status.DONE, 0.0)


def test_a_vm_that_went_first_and_was_not_made_again_says_so() -> None:
    lab = Lab(broken={1: EngineError("the state is locked")})
    lab.up(smaller(), vm(Op.CREATE, "b"))
    assert lab.ends[name("a")] == (Status.SKIPPED, "deleted to make room, and not created again")
    assert lab.ends[name("b")] == (Status.SKIPPED, "not started, because of another failure")
    left = Lab(skipped=frozenset({name("a")}))
    left.up(smaller(), vm(Op.CREATE, "b"))
    assert left.ends[name("a")] == (Status.FAILED, "it was not deleted")


def test_a_replacement_that_fails_at_its_delete_is_told_as_the_replacement_that_was_planned() -> None:
    lab = Lab(half=frozenset({name("a")}), failing={name("a"): "it is in use"})
    run = lab.up(vm(Op.REPLACE, "a"), bounds=())
    (ended,) = run.steps
    assert (ended.op, ended.status, ended.error, ended.seconds) == (Op.REPLACE, Status.FAILED, "it is in use", 1.235)


def test_what_an_engine_does_besides_and_fails_keeps_what_goes() -> None:
    alert = replace(other(Op.CREATE, "alert"), status=Status.PLANNED)
    lab = Lab(extra=(alert,), failing={"alert": "403"})
    lab.up(*MOVE, at_once=False)
    assert lab.ends["alert"] == (Status.FAILED, "403")
    assert lab.ends[name("a")] == (Status.SKIPPED, "not changed, because of another failure")


def test_what_goes_stands_until_what_is_new_serves() -> None:
    lab = Lab()
    manifest = other(Op.UPDATE, bucket_names.manifest_object("ci"), "gcp:storage/bucketObject:BucketObject")
    records = other(Op.UPDATE, "records", RECORDS_TYPE)
    lab.up(*MOVE, manifest, records, other(Op.UPDATE, "label"), at_once=False)
    left_out = [f"-{each}" for each in sorted([name("a"), "grant", "records", manifest.name])]
    first, second = lab.asked
    assert (first[0], sorted(first[1].split()), first[2]) == ("up", sorted(left_out), True)
    assert second == ("up", "", True)
    assert lab.said == [
        "phase 1 of 2, grow: everything that deletes no VM",
        "phase 2 of 2, retire: 1 VM (a-us-west4-a-0)",
    ]
    assert lab.held == [(False, [], [name("a")], [], False), (True, [name("a")], [], [], False)]
    assert set(lab.ends.values()) == {DONE}


def test_where_what_is_new_fails_what_it_would_replace_stays_and_stays_declared() -> None:
    lab = Lab(failing={name("b"): "no more capacity"})
    records = other(Op.UPDATE, "records", RECORDS_TYPE)
    elsewhere = (vm(Op.DELETE, "c"), vm(Op.CREATE, "d"))
    lab.up(
        vm(Op.DELETE, "a"),
        replace(vm(Op.CREATE, "b"), new_inputs=vm(Op.CREATE, "a").new_inputs),
        *elsewhere,
        records,
        at_once=False,
        bounds=(),
    )
    assert lab.held[1] == (True, [name("c")], [name("a")], [], False)
    assert lab.asked[-1] == ("up", name("c"), True)
    assert lab.ends[name("a")] == (Status.SKIPPED, "not changed, because of another failure")
    assert lab.ends["records"] == (Status.SKIPPED, "held back: VMs exist that it no longer declares")
    assert (lab.ends[name("c")], lab.ends[name("d")]) == (DONE, DONE)


def test_vms_whose_jobs_run_on_are_kept_with_the_reason() -> None:
    lab = Lab(refuses="a job runs on")
    lab.up(*MOVE, at_once=False)
    assert lab.ends[name("a")] == (Status.SKIPPED, "held back: a job runs on")
    assert (lab.ends[name("b")], lab.blamed) == (DONE, [f"a job runs on; {AGAIN}"])


def test_an_engine_that_cannot_start_raises_where_nothing_was_done_and_is_blamed_where_something_was() -> None:
    with pytest.raises(EngineError, match="locked"):
        Lab(broken={1: EngineError("the state is locked")}).up(vm(Op.CREATE))
    lab = Lab(broken={1: EngineError("the state is locked")})
    lab.up(*SWAP)
    assert lab.blamed == [f"the state is locked; then {AGAIN}"]
    assert lab.ends["grant"] == (Status.SKIPPED, "not started, because of another failure")
    later = Lab(broken={2: EngineError("the state is locked")})
    later.up(*MOVE, at_once=False)
    assert later.ends[name("b")] == DONE
    assert later.ends[name("a")] == (Status.SKIPPED, "not changed, because of another failure")
    first = Lab(broken={1: EngineError("the state is locked")}, adopted=(vm(Op.ADOPT, "z"),))
    first.up(*SWAP)
    assert len(first.asked) == 3, "nothing is retried"


def test_what_is_adopted_before_a_shrink_is_told_unless_the_plan_does_more_with_it() -> None:
    planned = vm(Op.ADOPT, "c")
    done = replace(planned, status=Status.DONE)
    lab = Lab(
        adopted=(
            done,
            replace(vm(Op.ADOPT, "a", 0), status=Status.DONE),
            replace(vm(Op.ADOPT, "z"), status=Status.DONE),
        )
    )
    run = lab.up(*SWAP, planned)
    ends = {step.name: step.op for step in run.steps}
    assert (ends[name("a", 0)], ends[name("c")], ends[name("z")]) == (Op.DELETE, Op.ADOPT, Op.ADOPT)


def test_one_pools_failure_keeps_no_other_pool_from_being_made() -> None:
    lab = Lab(failing={name("a"): "no more capacity"})
    lab.up(vm(Op.REPLACE, "a"), vm(Op.REPLACE, "b"), vm(Op.CREATE, "c"), vm(Op.DELETE, "d"), bounds=())
    assert lab.asked == [("up", "", False), ("up", name("c"), True), ("up", f"{name('b')} {name('d')}", False)]
    assert {each for each, end in lab.ends.items() if end == DONE} == {name("b"), name("c"), name("d")}


# VMs that stand at fallbacks


class Away(Fallbacks):
    """Fallbacks whose calls are written down; those of `stuck` fail."""

    def __init__(
        self, plan: Plan, *at: tuple[str, str], stuck: Mapping[str, str] | None, node: Mapping[str, Any]
    ) -> None:
        vms = [AwayVm(id=f"projects/{PROJECT}/locations/{zone}/nodes/{vm}", node=node, alone=True) for vm, zone in at]
        super().__init__(None, vms, plan)
        self.stuck = stuck or {}
        self.calls: list[tuple[str, list[str]]] = []

    def change(self, vms: Sequence[AwayVm]) -> Mapping[str, str]:
        self.calls.append(("change", [str(each) for each in vms]))
        return {str(each): self.stuck[str(each)] for each in vms if str(each) in self.stuck}

    def delete(self, vms: Sequence[AwayVm]) -> Mapping[str, str]:
        self.calls.append(("delete", [str(each) for each in vms]))
        return {str(each): self.stuck[str(each)] for each in vms if str(each) in self.stuck}


def away(
    *steps: Step,
    at: tuple[str, ...],
    stuck: Mapping[str, str] | None = None,
    state: str = "READY",
    scheduling: Mapping[str, bool] | None = None,
) -> Away:
    plan = Plan(stack="ci", engine="fake", cloud="local", steps=steps)
    node: dict[str, Any] = {"acceleratorType": "v5litepod-4", "state": state, "labels": {"tidepool-pool": "a"}}
    node |= {"schedulingConfig": scheduling} if scheduling else {}
    return Away(plan, *((each, "us-east1-c") for each in at), stuck=stuck, node=node)


def test_a_vm_at_a_fallback_is_changed_where_it_stands_and_left_out_of_the_pass() -> None:
    steps = (vm(Op.UPDATE, "a"), vm(Op.CREATE, "b"))
    there = away(*steps, at=(name("a"),))
    lab = Lab()
    lab.up(*steps, away=there)
    assert lab.asked == [("up", f"-{name('a')}", True)]
    assert there.calls == [("change", [f"{name('a')} in us-east1-c"])]
    assert set(lab.ends.values()) == {DONE}
    stuck = away(*steps, at=(name("a"),), stuck={f"{name('a')} in us-east1-c": "403"})
    lab.up(*steps, away=stuck)
    assert lab.ends[name("a")] == (Status.FAILED, "403")


def test_a_vm_at_a_fallback_goes_once_its_slot_is_gone_or_stands_at_home() -> None:
    steps = (vm(Op.DELETE, "a"), vm(Op.CREATE, "b"), vm(Op.SAME, "c"))
    there = away(*steps, at=(name("a"), name("b"), name("c")))
    lab = Lab()
    lab.up(*steps, away=there, bounds=())
    both = [f"{name('a')} in us-east1-c", f"{name('b')} in us-east1-c"]
    assert there.calls == [("change", []), ("delete", both)]
    assert len(lab.said) == 1
    assert lab.said[0].startswith("deleting 2 VMs (")
    assert lab.said[0].endswith("), at fallbacks")
    failed = away(*steps, at=(name("a"), name("b")))
    lab = Lab(failing={name("b"): "no more capacity"})
    lab.up(*steps, away=failed, bounds=())
    assert failed.calls == [("change", []), ("delete", both[:1])], "the one at its fallback serves on"


def test_one_that_cannot_be_deleted_at_its_fallback_is_a_failure_of_its_slot() -> None:
    steps = (vm(Op.DELETE, "a"), vm(Op.CREATE, "b"))
    at = f"{name('a')} in us-east1-c"
    there = away(*steps, at=(name("a"),), stuck={at: "403"})
    lab = Lab()
    lab.up(*steps, away=there, bounds=())
    assert lab.ends[name("a")] == (Status.FAILED, "it stands in us-east1-c: 403")
    assert lab.blamed == [f"{at} could not be deleted: 403; mend that and {AGAIN}"]
    home = (vm(Op.CREATE, "a"),)
    lab.up(*home, away=away(*home, at=(name("a"),), stuck={at: "403"}), bounds=())
    assert lab.ends[name("a")] == DONE, "it stands at home"


def test_one_that_comes_home_serves_at_its_fallback_until_it_stands_there() -> None:
    steps = (vm(Op.CREATE, "a"),)
    there = away(*steps, at=(name("a"),))
    lab = Lab()
    lab.up(*steps, away=there, bounds=(), at_once=False)
    assert lab.held == [(False, [], [name("a")], [], False), (True, [name("a")], [], [name("a")], False)]
    assert there.calls == [("change", []), ("delete", [f"{name('a')} in us-east1-c"])]
    assert lab.said[-1] == f"deleting 1 VM ({name('a')} in us-east1-c), at fallbacks"


def test_one_at_a_fallback_whose_chips_are_needed_goes_first_where_it_stands() -> None:
    here = replace(bound("reserved", 4), limit=bound("reserved", 4).limit.model_copy(update={"zone": "us-east1-c"}))
    made = vm(Op.CREATE, "b")
    made = replace(made, new_inputs={**(made.new_inputs or {}), "zone": "us-east1-c"})
    steps = (vm(Op.DELETE, "a"), made)
    there = away(*steps, at=(name("a"),), scheduling={"reserved": True})
    lab = Lab()
    lab.up(*steps, away=there, bounds=(here,))
    assert there.calls == [("delete", [f"{name('a')} in us-east1-c"]), ("change", [])]
    assert set(lab.ends.values()) == {DONE}
    assert lab.held == [(False, [name("a")], [], [], True)]
    assert lab.said[0] == f"phase 1 of 2, shrink: deleting 1 VM ({name('a')} in us-east1-c)"


def test_one_that_goes_first_at_its_fallback_is_not_waited_for_with_what_goes_last() -> None:
    here = replace(bound("reserved", 4), limit=bound("reserved", 4).limit.model_copy(update={"zone": "us-east1-c"}))
    made = vm(Op.CREATE, "b")
    made = replace(made, new_inputs={**(made.new_inputs or {}), "zone": "us-east1-c"})
    steps = (vm(Op.DELETE, "a"), made, vm(Op.DELETE, "m"))
    there = away(*steps, at=(name("a"),), scheduling={"reserved": True})
    lab = Lab()
    lab.up(*steps, away=there, bounds=(here,), at_once=False)
    assert lab.held == [(False, [name("a")], [name("m")], [], True), (True, [name("m")], [], [], False)]
    assert [calls for verb, calls in there.calls if verb == "delete"] == [[f"{name('a')} in us-east1-c"]], "once"
    assert set(lab.ends.values()) == {DONE}


# Which VMs stand before and after


def test_a_slot_whose_vm_stands_at_a_fallback_has_none_at_home() -> None:
    steps = (vm(Op.UPDATE, "a"), vm(Op.DELETE, "b"), vm(Op.SAME, "c"))
    there = away(*steps, at=(name("a"), name("b")))
    before, after = fleets(Plan(stack="ci", engine="fake", cloud="local", steps=steps), there)
    at_a, at_b = (f"{name(pool)} in us-east1-c" for pool in "ab")
    assert (before.keys(), after.keys()) == ({at_a, at_b, name("c")}, {at_a, name("c")})
    assert before[at_a].zone == "us-east1-c"


def test_a_vm_at_a_fallback_that_google_took_back_holds_no_chips() -> None:
    steps = (vm(Op.DELETE, "a"),)
    before, _ = fleets(
        Plan(stack="ci", engine="fake", cloud="local", steps=steps), away(*steps, at=(name("a"),), state="PREEMPTED")
    )
    assert before == {}


def test_what_goes_draws_as_the_cloud_says_and_what_stays_as_the_state_does() -> None:
    steps = (vm(Op.DELETE, "a"), vm(Op.REPLACE, "b"), vm(Op.SAME, "c"))
    home = {each.name: {"acceleratorType": "v5litepod-8", "zone": "elsewhere"} for each in steps}
    plan = Plan(stack="ci", engine="fake", cloud="local", steps=steps)
    before, after = fleets(plan, Fallbacks(None, (), plan, home))
    assert {each: (found.chips, found.zone) for each, found in before.items()} == {
        name("a"): (8, ZONE),
        name("b"): (8, ZONE),
        name("c"): (4, ZONE),
    }
    same = vm(Op.REPLACE, "b")
    before, after = fleets(Plan(stack="ci", engine="fake", cloud="local", steps=(same,)), Fallbacks())
    assert before[name("b")] != after[name("b")], "it is replaced whatever differs"
