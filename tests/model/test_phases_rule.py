"""When one pass is enough, what must go first where it is not, and what has no room at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model.bounds import Bound, Fleet, Vm, fleet, limits
from infra.model.catalogue import AcceleratorType, CapacityKind
from infra.model.phases import Work, phases
from infra.model.schema import Quota, Reservation
from infra.model.stack import read_stack
from tests.model.given import parse, pool, sibling, stack_text

ZONE = "us-west4-a"
PLACE = {"project": "my-lab", "zone": ZONE, "generation": "v5e"}
RESERVED, SPOT, PREEMPTIBLE, ON_DEMAND = (
    CapacityKind.RESERVED,
    CapacityKind.SPOT,
    CapacityKind.PREEMPTIBLE,
    CapacityKind.ON_DEMAND,
)
QUOTA = "- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 100}\n"


def needs_phases(before: Fleet, after: Fleet, limits: Sequence[Bound]) -> bool:
    """Whether one pass could pass a limit on its way from one fleet to the other."""
    return bool(phases(before, after, limits).first)


def vm(chips: int = 4, capacity: CapacityKind = RESERVED, *, pool: str = "a", zone: str = ZONE, form: int = 0) -> Vm:
    accelerator = AcceleratorType.parse(f"v5litepod-{chips}")
    return Vm(pool=pool, project="my-lab", zone=zone, accelerator=accelerator, capacity=capacity, form=form)


def vms(pool: str, count: int, chips: int = 4, capacity: CapacityKind = RESERVED) -> Fleet:
    return {f"{pool}-{index}": vm(chips, capacity, pool=pool) for index in range(count)}


def reservation(chips: int, others: int = 0) -> Bound:
    return Bound(limit=Reservation.model_validate({"name": "lab", "chips": chips, **PLACE}), others=others)


def quota(kind: str, chips: int) -> Bound:
    return Bound(limit=Quota.model_validate({"kind": kind, "chips": chips, **PLACE}), others=0)


def test_nothing_to_do_has_no_phase() -> None:
    assert phases(vms("a", 4), vms("a", 4), [reservation(16)]).order == ()


def test_a_swap_inside_a_full_reservation_deletes_first() -> None:
    found = phases(vms("a", 4), {**vms("a", 2), **vms("b", 2)}, [reservation(16)])
    shrink, grow = found.order
    assert (shrink.work, shrink.deleted) == (Work.SHRINK, ("a-2", "a-3"))
    assert (grow.work, grow.created, grow.deleted) == (Work.GROW, ("b-0", "b-1"), ())
    (why,) = found.reasons
    assert (why.before, why.after, why.peak, why.chips) == (16, 16, 24, 16)
    assert why.why == (
        "us-west4-a v5e reservation lab: 16 -> 16 of 16 chips, and a single pass could hold 24 before it deletes"
    )


def test_programs_read_each_phase_and_what_asked_for_it() -> None:
    asked = phases(vms("a", 4), {**vms("a", 2), **vms("b", 2)}, [reservation(16)])
    (why,) = asked.reasons
    assert asked.to_json() == {
        "needed": True,
        "order": [
            {"work": "shrink", "deleted": ["a-2", "a-3"], "replaced": [], "created": [], "resized": []},
            {"work": "grow", "deleted": [], "replaced": [], "created": ["b-0", "b-1"], "resized": []},
        ],
        "reasons": [
            {"limit": str(why.bound), "chips": 16, "before": 16, "after": 16, "peak": 24, "why": why.why},
        ],
        "exceeded": [],
        "held": [],
    }
    too_many = phases({}, vms("a", 4), [reservation(8)])
    assert too_many.to_json()["held"] == ["a-2", "a-3"]
    assert too_many.to_json()["exceeded"] == [load.to_json() for load in too_many.exceeded]


def nodes(slices: int) -> Vm:
    return replace(vm(pool="nodes"), slices=slices)


def test_node_pool_that_gives_chips_back_shrinks_where_it_stands_before_others_grow() -> None:
    found = phases({"n": nodes(4)}, {"n": nodes(2), **vms("b", 2)}, [reservation(16)])
    shrink, grow = found.order
    assert (shrink.work, shrink.deleted, shrink.resized) == (Work.SHRINK, (), ("n",))
    assert (grow.work, grow.created, grow.resized) == (Work.GROW, ("b-0", "b-1"), ())
    assert (found.first, found.shrunk) == ((), ("n",))


def test_node_pool_of_as_many_slices_does_not_shrink() -> None:
    assert [nodes(2).shrinks_to(nodes(count)) for count in (1, 2, 3)] == [True, False, False]
    assert phases({"n": nodes(2)}, {"n": nodes(2)}, [reservation(16)]).shrunk == ()


def test_node_pool_with_room_to_grow_is_resized_in_one_pass() -> None:
    (grow,) = phases({"n": nodes(2)}, {"n": nodes(4)}, [reservation(16)]).order
    assert (grow.work, grow.resized, grow.created, grow.replaced) == (Work.GROW, ("n",), (), ())


def test_node_pool_that_grows_waits_for_vms_that_make_room_for_it() -> None:
    shrink, grow = phases({"n": nodes(2), **vms("a", 2)}, {"n": nodes(4)}, [reservation(16)]).order
    assert (shrink.deleted, grow.resized) == (("a-0", "a-1"), ("n",))


def test_node_pool_without_room_stays_as_it_is() -> None:
    found = phases({"n": nodes(2)}, {"n": nodes(5)}, [reservation(16)])
    assert (found.order, found.held) == ((), ("n",))


def test_node_pool_that_gives_chips_back_is_never_held_though_its_limit_is_still_passed() -> None:
    """Holding it would keep the limit further out than the edit wants."""
    found = phases({"n": nodes(5)}, {"n": nodes(4)}, [reservation(12)])
    assert found.held == ()
    assert [phase.resized for phase in found.order] == [("n",)]
    assert phases({"n": nodes(5)}, {"n": nodes(4), **vms("b", 1)}, [reservation(12)]).held == ("b-0",)


def test_slices_of_a_cluster_are_counted_like_vms() -> None:
    spot = "accelerator: {}, zone: us-central2-b, capacity: spot, buffer: 0, maximum: {}"
    text = stack_text(
        cluster="{name: c, region: us-central2, zones: [us-central2-b], system: {machine_type: n2-standard-8}, "
        "maintenance: {days: [SA, SU], start: '09:00', hours: 8}}\n",
        slices=f"- {{{spot.format('v4-32', 2)}}}\n- {{{spot.format('v4-8', 3)}}}\n",
    )
    declared = parse(text)
    made = {name: each for name, each in fleet(declared).items() if each.zone == "us-central2-b"}
    for each in made.values():
        entry = next(one for one in declared.slices if one.name == each.pool)
        assert (each.project, each.accelerator, each.form) == ("my-lab", entry.accelerator, entry.capacity)
        assert each.capacity is CapacityKind.SPOT
    chips = {name: each.chips for name, each in made.items()}
    assert chips == {
        "ct4p-hightpu-4t-2x2x4-b-spot-0": 16,
        "ct4p-hightpu-4t-2x2x4-b-spot-1": 16,
        "ct4p-hightpu-4t-2x2x1-b-spot": 12,
    }


def test_a_swap_with_room_for_both_makes_the_new_ones_first() -> None:
    found = phases(vms("a", 4), {**vms("a", 2), **vms("b", 2)}, [reservation(24)])
    grow, retire = found.order
    assert (grow.work, grow.deleted, grow.created) == (Work.GROW, (), ("b-0", "b-1"))
    assert (retire.work, retire.deleted, retire.created) == (Work.RETIRE, ("a-2", "a-3"), ())
    assert found.reasons == found.first == ()
    assert found.needed


def test_at_once_what_is_new_and_what_goes_share_a_phase() -> None:
    found = phases(vms("a", 4), {**vms("a", 2), **vms("b", 2)}, [reservation(24)]).at_once
    (only,) = found.order
    assert (only.work, only.deleted, only.created) == (Work.GROW, ("a-2", "a-3"), ("b-0", "b-1"))
    assert not found.needed


@pytest.mark.parametrize("spare", [0, 1, 7])
def test_less_room_than_the_new_ones_take_is_too_little(spare: int) -> None:
    assert needs_phases(vms("a", 4), {**vms("a", 2), **vms("b", 2)}, [reservation(16 + spare)])


def test_chips_of_others_take_room_away() -> None:
    swap = (vms("a", 4), {**vms("a", 2), **vms("b", 2)})
    assert not needs_phases(*swap, [reservation(24, others=0)])
    assert needs_phases(*swap, [reservation(24, others=1)])


def test_growing_or_shrinking_alone_is_one_pass_in_the_fullest_limit() -> None:
    assert not needs_phases(vms("a", 2), vms("a", 4), [reservation(16)])
    assert not needs_phases(vms("a", 4), vms("a", 2), [reservation(16)])


def test_a_replacement_of_equal_size_needs_no_room_for_two() -> None:
    after = {name: vm(form=1) for name in vms("a", 4)}
    found = phases(vms("a", 4), after, [reservation(16)])
    assert not found.needed
    assert found.order[0].replaced == ("a-0", "a-1", "a-2", "a-3")


def test_larger_slices_wait_for_the_deletes() -> None:
    shrink, grow = phases(vms("a", 4), vms("a", 2, chips=8), [reservation(16)]).order
    assert shrink.deleted == ("a-2", "a-3")
    assert grow.replaced == ("a-0", "a-1")


def test_a_smaller_replacement_goes_first_where_a_larger_one_needs_its_chips() -> None:
    before = {"a-0": vm(4), "b-0": vm(8, pool="b")}
    after = {"a-0": vm(8), "b-0": vm(4, pool="b")}
    found = phases(before, after, [reservation(12)])
    shrink, grow, retire = found.order
    assert shrink.deleted == ("b-0",)
    assert (grow.created, retire.replaced) == (("b-0",), ("a-0",))
    assert found.remade == ("b-0",)


def test_a_vm_that_leaves_a_limit_gives_its_chips_back() -> None:
    before = vms("a", 2)
    after = {**vms("a", 2, capacity=SPOT), **vms("b", 2)}
    found = phases(before, after, [reservation(8)])
    assert found.first == found.remade == ("a-0", "a-1")


def test_spot_and_preemptible_draw_on_one_quota() -> None:
    swap = (vms("a", 2, capacity=SPOT), vms("b", 2, capacity=PREEMPTIBLE))
    assert needs_phases(*swap, [quota("preemptible", 8)])
    assert not needs_phases(*swap, [quota("on-demand", 8)])


def test_vms_that_no_limit_holds_need_no_phases() -> None:
    elsewhere = {"a-0": vm(zone="us-east1-c")}
    assert not needs_phases(elsewhere, {"b-0": vm(zone="us-east1-c")}, [reservation(0)])


def test_only_vms_on_the_limit_at_stake_go_first() -> None:
    before = {**vms("a", 4), **vms("spare", 1, capacity=ON_DEMAND)}
    found = phases(before, {**vms("a", 2), **vms("b", 2)}, [reservation(16), quota("on-demand", 100)])
    assert found.first == ("a-2", "a-3")
    assert found.order[2].deleted == ("spare-0",)


def test_what_the_limit_has_no_room_for_is_held_back_the_last_first() -> None:
    found = phases({}, vms("a", 4), [reservation(8)])
    assert found.held == ("a-2", "a-3")
    assert found.order[0].created == ("a-0", "a-1")
    assert [load.why for load in found.exceeded] == [
        "us-west4-a v5e reservation lab: 16 of 8 chips are declared, 0 are held"
    ]


def test_a_new_vm_is_held_back_before_a_replacement_whatever_their_names() -> None:
    before = {"z-0": vm(4, pool="z")}
    after = {"z-0": vm(8, pool="z"), "a-0": vm(4)}
    assert phases(before, after, [reservation(8)]).held == ("a-0",)


def test_a_replacement_that_is_held_back_frees_what_it_would_have_taken_and_no_more() -> None:
    before = {name: vm(8, SPOT, pool=name[0]) for name in ("a-0", "b-0")}
    after = {name: vm(4, pool=name[0]) for name in before}
    assert phases(before, after, [reservation(4)]).held == ("b-0",)


def test_a_vm_that_stays_on_a_limit_for_want_of_room_on_another_holds_back_who_needs_it() -> None:
    before = {"a-0": vm(8, SPOT)}
    after = {"a-0": vm(8), "b-0": vm(8, SPOT, pool="b")}
    found = phases(before, after, [reservation(0), quota("preemptible", 8)])
    assert found.held == ("a-0", "b-0")
    assert found.order == ()


def test_vms_are_named_in_the_order_of_their_pools_and_numbers() -> None:
    found = phases({}, {**vms("b", 1), **vms("a", 11)}, [reservation(100)])
    assert found.order[0].created == (*(f"a-{index}" for index in range(11)), "b-0")


def test_what_only_goes_is_the_work_of_the_only_phase() -> None:
    (only,) = phases(vms("a", 4), vms("a", 2), [reservation(16)]).order
    assert (only.work, only.deleted) == (Work.GROW, ("a-2", "a-3"))


def test_a_limit_that_is_passed_already_keeps_replacements_from_being_deleted() -> None:
    after = {name: vm(form=1) for name in vms("a", 4)}
    found = phases(vms("a", 4), after, [reservation(12)])
    assert found.held == ("a-0", "a-1", "a-2", "a-3"), "a VM deleted there could not be made again"
    assert found.order == ()


def test_a_vm_that_cannot_be_deleted_holds_back_only_what_needs_its_chips() -> None:
    standing = {name: each for name, each in vms("a", 4).items() if name != "a-2"}
    after = {**vms("a", 2), **vms("b", 2), **vms("c", 1, capacity=ON_DEMAND)}
    found = phases(standing, after, [reservation(16), quota("on-demand", 4)], stuck=("a-3",))
    assert found.held == ("b-1",)
    assert not found.needed
    assert found.order[0].created == ("b-0", "c-0")


DISK = "[{source_disk: projects/my-lab/zones/us-west4-a/disks/data}]"


PLAIN = stack_text(pools=pool())


@pytest.mark.parametrize(
    "edited",
    [
        stack_text(pools=pool(trust="protected")),
        stack_text(pools=pool(data_disks=DISK)),
        stack_text(pools=pool(), vm_labels="{team: core}"),
        PLAIN.replace("my-lab-ci", "my-lab-other"),
    ],
)
def test_an_edit_that_vms_take_in_place_makes_none_anew(edited: str) -> None:
    before, after = fleet(parse(PLAIN)), fleet(parse(edited))
    assert phases(before, after, ()).order == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"accelerator": "v5litepod-8"},
        {"capacity": "on-demand"},
        {"trust": "fork"},
        {"runtime_override": "{version: tpu-ubuntu2204-base, reason: a test}"},
    ],
)
def test_an_edit_that_replaces_vms_makes_each_anew(fields: dict[str, str]) -> None:
    before, after = fleet(parse(PLAIN)), fleet(parse(stack_text(pools=pool(**fields))))
    (only,) = phases(before, after, ()).order
    assert len(only.replaced) == 1


def test_the_chips_of_sibling_stacks_are_those_of_others() -> None:
    config = parse(stack_text(quotas=QUOTA))
    night = sibling(pools=pool(name="night", zones="{us-west4-a: 5}"))
    (found,) = limits(config, (night,))
    assert (found.limit.chips, found.others) == (100, 20)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("accelerator: v5litepod-4", "accelerator: v5litepod-5"),
        ("trust: member", "trust: everybody"),
    ],
)
def test_a_stack_whose_vms_cannot_be_told_for_a_mistake_has_none(right: str, wrong: str) -> None:
    written = stack_text(quotas=QUOTA).replace(right, wrong)
    assert written != stack_text(quotas=QUOTA)
    config = read_stack(written.encode(), stack="ci", source="ci").parts.config
    assert fleet(config) == {}


def test_a_limit_with_a_mistake_holds_nothing_and_hides_no_other() -> None:
    broken = QUOTA.replace("chips: 100", "chips: many") + QUOTA.replace("preemptible", "on-demand")
    config = read_stack(stack_text(quotas=broken).encode(), stack="ci", source="ci").parts.config
    assert [str(each) for each in limits(config)] == ["us-west4-a v5e on-demand quota"]
    nowhere = stack_text(quotas=QUOTA).replace("gcp:project: my-lab", "gcp:project: My Lab")
    assert limits(read_stack(nowhere.encode(), stack="ci", source="ci").parts.config) == ()


def test_limits_of_one_zone_and_generation_are_apart_by_kind() -> None:
    both = QUOTA + QUOTA.replace("preemptible", "on-demand").replace("100", "50")
    lent = "- {name: lab, project: my-lab, zone: us-west4-a, generation: v5e, chips: 25}\n"
    found = limits(parse(stack_text(quotas=both, reservations=lent)))
    assert [(str(each), each.limit.chips) for each in found] == [
        ("us-west4-a v5e reservation lab", 25),
        ("us-west4-a v5e preemptible quota", 100),
        ("us-west4-a v5e on-demand quota", 50),
    ]


def test_a_fleet_says_of_each_vm_where_it_is_and_whose() -> None:
    assert {(each.pool, each.project, each.zone) for each in fleet(parse(stack_text())).values()} == {
        ("tpu-ci", "my-lab", ZONE)
    }


def test_a_limit_that_only_a_sibling_declares_holds_too() -> None:
    night = sibling(pools=pool(name="night", zones="{us-west4-a: 5}"), quotas=QUOTA)
    (found,) = limits(parse(stack_text()), (night,))
    assert str(found) == "us-west4-a v5e preemptible quota"
    assert found.others == 20


def test_limits_of_another_project_do_not_matter() -> None:
    night = sibling(project="their-lab", quotas=QUOTA.replace("my-lab", "their-lab"))
    assert limits(parse(stack_text()), (night,)) == ()


VMS = st.dictionaries(
    st.sampled_from([f"{pool}-{index}" for pool in "ab" for index in range(4)]),
    st.builds(vm, st.sampled_from([1, 4, 8]), st.sampled_from([RESERVED, SPOT, ON_DEMAND]), form=st.integers(0, 1)),
)


def drawn(bound: Bound, fleet: Fleet) -> int:
    return bound.others + sum(each.chips for each in fleet.values() if bound.covers(each))


@settings(deadline=None)
@given(VMS, VMS, st.lists(st.integers(0, 40), min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_in_any_order_of_creates_and_replacements_no_limit_that_was_kept_is_passed(
    before: Fleet, after: Fleet, chips: list[int], random: Random
) -> None:
    bounds = [reservation(chips[0]), quota("preemptible", chips[1]), quota("on-demand", chips[2])]
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
            for bound in bounds:
                assert not bound.covers(after[name]) or drawn(bound, standing) <= bound.limit.chips
        for name in phase.deleted:
            del standing[name]
    kept = {name: before[name] for name in found.held if name in before}
    assert standing == {name: each for name, each in after.items() if name not in found.held} | kept


@settings(deadline=None)
@given(VMS, VMS)
def test_what_fits_is_never_held_back(before: Fleet, after: Fleet) -> None:
    tight = [reservation(0), quota("preemptible", 0), quota("on-demand", 0)]
    needed = [max(drawn(bound, before), drawn(bound, after)) for bound in tight]
    bounds = [reservation(needed[0]), quota("preemptible", needed[1]), quota("on-demand", needed[2])]
    found = phases(before, after, bounds)
    assert found.held == ()
    assert found.exceeded == ()
    assert set(found.first) <= set(before)
