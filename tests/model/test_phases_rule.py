"""When one pass is enough, what must go first where it is not, and what has no room at all."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model.bounds import Bound, Fleet, Vm, fleet, limits
from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.phases import Phases, Work, phases
from infra.model.schema import Quota, Reservation
from infra.model.stack import read_stack
from tests.model.clustered import cluster, entry
from tests.model.given import parse, pool, sibling, stack_text

ZONE = "us-west4-a"
PLACE = {"project": "my-lab", "zone": ZONE, "generation": "v5e"}
RESERVED, SPOT, ON_DEMAND = CapacityKind.RESERVED, CapacityKind.SPOT, CapacityKind.ON_DEMAND
KINDS = {"r": RESERVED, "s": SPOT, "p": CapacityKind.PREEMPTIBLE, "o": ON_DEMAND}
QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 100}\n"


def vm(chips: int = 4, capacity: CapacityKind = RESERVED, *, pool: str = "a", zone: str = ZONE, form: int = 0) -> Vm:
    accelerator = AcceleratorType.parse(f"v5litepod-{chips}")
    return Vm(pool=pool, project="my-lab", zone=zone, accelerator=accelerator, capacity=capacity, form=form)


def bound(text: str) -> Bound:
    """`reservation 16`, `preemptible 8`, `on-demand 4`; `reservation 24+1` has a chip of others."""
    kind, _, count = text.partition(" ")
    chips, _, others = count.partition("+")
    if kind == "reservation":
        limit: Quota | Reservation = Reservation.model_validate({"name": "lab", "chips": int(chips), **PLACE})
    else:
        limit = Quota.model_validate({"kind": kind, "chips": int(chips), **PLACE})
    return Bound(limit=limit, others=int(others or 0))


def vms(text: str) -> Fleet:
    """`a4` for four VMs of pool a; `a4:8s` of 8 chips each and spot; `a2'` of another form; `n4*` 4 slices."""
    made: dict[str, Vm] = {}
    for word in text.split():
        counted, _, kind = word.partition(":")
        name, count, form = counted[0], counted[1:].rstrip("'*"), counted.endswith("'")
        one = vm(int(kind.rstrip("rspo") or 4), KINDS[kind[-1:] if kind[-1:] in KINDS else "r"], pool=name, form=form)
        several = {f"{name}-{index}": one for index in range(int(count))}
        made |= {name: replace(one, slices=int(count))} if counted.endswith("*") else several
    return made


def steps(found: Phases) -> str:
    """`shrink -a-2 ~n; grow +b-0 *a-0`: what each phase deletes, resizes, creates and replaces; then what is held."""
    signs = {"deleted": "-", "resized": "~", "created": "+", "replaced": "*"}
    told = [
        " ".join([phase.work.value, *(f"{sign}{name}" for key, sign in signs.items() for name in getattr(phase, key))])
        for phase in found.order
    ]
    return "; ".join([*told, *([f"held {' '.join(found.held)}"] if found.held else [])])


@pytest.mark.parametrize(
    ("before", "after", "bounds", "told"),
    [
        ("a4", "a4", "reservation 16", ""),
        ("a4", "a2 b2", "reservation 16", "shrink -a-2 -a-3; grow +b-0 +b-1"),
        ("a4", "a2 b2", "reservation 23", "shrink -a-2 -a-3; grow +b-0 +b-1"),
        ("a4", "a2 b2", "reservation 24", "grow +b-0 +b-1; retire -a-2 -a-3"),
        ("a4", "a2 b2", "reservation 24+1", "shrink -a-2 -a-3; grow +b-0 +b-1"),
        ("a2", "a4", "reservation 16", "grow +a-2 +a-3"),
        ("a4", "a2", "reservation 16", "grow -a-2 -a-3"),
        ("a4", "a4'", "reservation 16", "grow *a-0 *a-1 *a-2 *a-3"),
        ("a4", "a2:8", "reservation 16", "shrink -a-2 -a-3; grow *a-0 *a-1"),
        ("a1:4 b1:8", "a1:8 b1:4", "reservation 12", "shrink -b-0; grow +b-0; retire *a-0"),
        ("a2", "a2:s b2", "reservation 8", "shrink -a-0 -a-1; grow +a-0 +a-1 +b-0 +b-1"),
        ("a2:s", "b2:p", "preemptible 8", "shrink -a-0 -a-1; grow +b-0 +b-1"),
        ("a2:s", "b2:p", "on-demand 8", "grow +b-0 +b-1; retire -a-0 -a-1"),
        ("a4 c1:o", "a2 b2", "reservation 16, on-demand 100", "shrink -a-2 -a-3; grow +b-0 +b-1; retire -c-0"),
        ("", "a4", "reservation 8", "grow +a-0 +a-1; held a-2 a-3"),
        ("z1:4", "z1:8 a1", "reservation 8", "grow *z-0; held a-0"),
        ("a1:8s b1:8s", "a1 b1", "reservation 4", "grow *a-0; held b-0"),
        ("a1:8s", "a1:8 b1:8s", "reservation 0, preemptible 8", "held a-0 b-0"),
        ("", "b1 a11", "reservation 100", f"grow {' '.join(f'+a-{index}' for index in range(11))} +b-0"),
        ("a4", "a4'", "reservation 12", "held a-0 a-1 a-2 a-3"),
        ("n4*", "n2* b2", "reservation 16", "shrink ~n; grow +b-0 +b-1"),
        ("n2*", "n2*", "reservation 16", ""),
        ("n2*", "n4*", "reservation 16", "grow ~n"),
        ("n2* a2", "n4*", "reservation 16", "shrink -a-0 -a-1; grow ~n"),
        ("n2*", "n5*", "reservation 16", "held n"),
        ("n5*", "n4*", "reservation 12", "shrink ~n"),
        ("n5*", "n4* b1", "reservation 12", "shrink ~n; held b-0"),
    ],
)
def test_an_edit_has_its_phases(before: str, after: str, bounds: str, told: str) -> None:
    found = phases(vms(before), vms(after), [bound(each) for each in bounds.split(", ")])
    assert steps(found) == told
    assert found.needed == (len(found.order) > 1)


def test_programs_and_people_read_each_phase_and_what_asked_for_it() -> None:
    asked = phases(vms("a4"), vms("a2 b2"), [bound("reservation 16")])
    why = "us-west4-a v5e reservation lab: 16 -> 16 of 16 chips, and a single pass could hold 24 before it deletes"
    assert asked.to_json() == {
        "needed": True,
        "order": [
            {"work": "shrink", "deleted": ["a-2", "a-3"], "replaced": [], "created": [], "resized": []},
            {"work": "grow", "deleted": [], "replaced": [], "created": ["b-0", "b-1"], "resized": []},
        ],
        "reasons": [
            {"limit": str(asked.reasons[0].bound), "chips": 16, "before": 16, "after": 16, "peak": 24, "why": why},
        ],
        "exceeded": [],
        "held": [],
    }
    too_many = phases({}, vms("a4"), [bound("reservation 8")])
    assert too_many.to_json()["exceeded"] == [load.to_json() for load in too_many.exceeded]
    assert [load.why for load in too_many.exceeded] == [
        "us-west4-a v5e reservation lab: 16 of 8 chips are declared, 0 are held"
    ]


def test_what_is_made_again_and_what_shrinks_is_told_apart_from_what_only_goes() -> None:
    swapped = phases(vms("a1:4 b1:8"), vms("a1:8 b1:4"), [bound("reservation 12")])
    assert (swapped.remade, swapped.first, swapped.shrunk) == (("b-0",), ("b-0",), ())
    shrunk = phases(vms("n4*"), vms("n2* b2"), [bound("reservation 16")])
    assert (shrunk.remade, shrunk.first, shrunk.shrunk) == ((), (), ("n",))
    assert [vms("n2*")["n"].shrinks_to(vms(f"n{count}*")["n"]) for count in (1, 2, 3)] == [True, False, False]


def test_at_once_what_is_new_and_what_goes_share_a_phase() -> None:
    found = phases(vms("a4"), vms("a2 b2"), [bound("reservation 24")])
    assert found.reasons == found.first == ()
    assert steps(found.at_once) == "grow -a-2 -a-3 +b-0 +b-1"
    assert not found.at_once.needed


def test_vms_that_no_limit_holds_need_no_phases() -> None:
    elsewhere = {"a-0": vm(zone="us-east1-c")}
    assert not phases(elsewhere, {"b-0": vm(zone="us-east1-c")}, [bound("reservation 0")]).first


def test_a_vm_that_cannot_be_deleted_holds_back_only_what_needs_its_chips() -> None:
    standing = {name: each for name, each in vms("a4").items() if name != "a-2"}
    found = phases(standing, vms("a2 b2 c1:o"), [bound("reservation 16"), bound("on-demand 4")], stuck=("a-3",))
    assert steps(found) == "grow +b-0 +c-0; held b-1"


def test_slices_of_a_cluster_are_counted_like_vms() -> None:
    usual = {"number": None, "buffer": 0}
    slices = entry(**usual, maximum=2) + entry(**usual, accelerator="v4-8", maximum=3)
    declared = parse(stack_text(cluster=cluster(), slices=slices))
    made = {name: each for name, each in fleet(declared).items() if each.zone == "us-central2-b"}
    for each in made.values():
        (own,) = (one for one in declared.slices if one.name == each.pool)
        assert (each.project, each.accelerator, each.form) == ("my-lab", own.accelerator, own.capacity)
        assert each.capacity is SPOT
    assert {name: each.chips for name, each in made.items()} == {
        "ct4p-hightpu-4t-2x2x4-b-spot-0": 16,
        "ct4p-hightpu-4t-2x2x4-b-spot-1": 16,
        "ct4p-hightpu-4t-2x2x1-b-spot": 12,
    }


DISK = "[{source_disk: projects/my-lab/zones/us-west4-a/disks/data}]"
PLAIN = stack_text(pools=pool())


@pytest.mark.parametrize(
    ("edited", "replaced"),
    [
        (stack_text(pools=pool(trust="protected")), 0),
        (stack_text(pools=pool(data_disks=DISK)), 0),
        (stack_text(pools=pool(), vm_labels="{team: core}"), 0),
        (PLAIN.replace("my-lab-ci", "my-lab-other"), 0),
        (stack_text(pools=pool(accelerator="v5litepod-8")), 1),
        (stack_text(pools=pool(capacity="on-demand")), 1),
        (stack_text(pools=pool(trust="fork")), 1),
        (stack_text(pools=pool(runtime_override="{version: tpu-ubuntu2204-base, reason: a test}")), 1),
    ],
)
def test_an_edit_makes_vms_anew_only_where_they_cannot_take_it(edited: str, replaced: int) -> None:
    found = phases(fleet(parse(PLAIN)), fleet(parse(edited)), ())
    assert [len(phase.replaced) for phase in found.order] == [1] * replaced


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("accelerator: v5litepod-4", "accelerator: v5litepod-5"), ("trust: member", "trust: everybody")],
)
def test_a_stack_whose_vms_cannot_be_told_for_a_mistake_has_none(right: str, wrong: str) -> None:
    written = stack_text(quotas=QUOTA).replace(right, wrong)
    assert fleet(read_stack(written.encode(), stack="ci", source="ci").parts.config) == {}


def test_a_limit_with_a_mistake_holds_nothing_and_hides_no_other() -> None:
    broken = QUOTA.replace("chips: 100", "chips: many") + QUOTA.replace("preemptible", "on-demand")
    config = read_stack(stack_text(quotas=broken).encode(), stack="ci", source="ci").parts.config
    assert [str(each) for each in limits(config)] == ["us-west4-a v5e on-demand quota"]
    nowhere = stack_text(quotas=QUOTA).replace("gcp:project: my-lab", "gcp:project: My Lab")
    assert limits(read_stack(nowhere.encode(), stack="ci", source="ci").parts.config) == ()


def test_limits_of_one_zone_and_generation_are_apart_by_kind_and_those_of_siblings_bind_too() -> None:
    both = QUOTA + QUOTA.replace("preemptible", "on-demand").replace("100", "50")
    lent = "- {name: lab, project: my-lab, zone: us-west4-a, generation: v5e, chips: 25}\n"
    night = sibling(pools=pool(name="night", zones="{us-west4-a: 5}"), quotas=QUOTA)
    found = limits(parse(stack_text(quotas=both, reservations=lent)), (night,))
    assert [(str(each), each.limit.chips, each.others) for each in found] == [
        ("us-west4-a v5e reservation lab", 25, 0),
        ("us-west4-a v5e preemptible quota", 100, 20),
        ("us-west4-a v5e on-demand quota", 50, 0),
    ]
    (only,) = limits(parse(stack_text()), (night,))
    assert (str(only), only.others) == ("us-west4-a v5e preemptible quota", 20)
    theirs = sibling(project="their-lab", quotas=QUOTA.replace("my-lab", "their-lab"))
    assert limits(parse(stack_text()), (theirs,)) == ()


VMS = st.dictionaries(
    st.sampled_from([f"{pool}-{index}" for pool in "ab" for index in range(4)]),
    st.builds(vm, st.sampled_from([1, 4, 8]), st.sampled_from([RESERVED, SPOT, ON_DEMAND]), form=st.integers(0, 1)),
)


def drawn(bound: Bound, fleet: Fleet) -> int:
    return bound.others + sum(each.chips for each in fleet.values() if bound.covers(each))


def three(chips: list[int]) -> list[Bound]:
    return [
        bound(f"{kind} {each}") for kind, each in zip(("reservation", "preemptible", "on-demand"), chips, strict=True)
    ]


@settings(deadline=None)
@given(VMS, VMS, st.lists(st.integers(0, 40), min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_in_any_order_of_creates_and_replacements_no_limit_that_was_kept_is_passed(
    before: Fleet, after: Fleet, chips: list[int], random: Random
) -> None:
    bounds = three(chips)
    found = phases(before, after, bounds)
    standing = {name: each for name, each in before.items() if name not in found.first}
    for phase in found.order:
        if phase.work is Work.SHRINK:
            continue
        work = [*phase.created, *phase.replaced]
        random.shuffle(work)
        for name in work:
            standing.pop(name, None)
            standing[name] = after[name]
            for each in bounds:
                assert not each.covers(after[name]) or drawn(each, standing) <= each.limit.chips
        for name in phase.deleted:
            del standing[name]
    kept = {name: before[name] for name in found.held if name in before}
    assert standing == {name: each for name, each in after.items() if name not in found.held} | kept
