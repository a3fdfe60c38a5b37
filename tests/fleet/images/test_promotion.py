"""Promotion in every order of interruption: what is told to VMs is there and kept, and a second run ends the first."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from infra.fleet.google import GoogleError
from infra.fleet.images.promotion import Moved, Promotion
from infra.fleet.records import Body, WriteResult
from infra.model import bucket_names, names
from infra.model.errors import ConfigError
from tests.fleet.images.worlds import NOW, OTHER_POOL, PLACES, POOL, REGIONS, World, digest

Command = Callable[[Promotion], tuple[Moved, ...]]


def promote(letter: str) -> Command:
    return lambda promotion: promotion.promote((POOL, OTHER_POOL), "tpu-ci", digest(letter), NOW)


def undo(promotion: Promotion) -> tuple[Moved, ...]:
    return (promotion.undo(POOL),)


def start(*promoted: str) -> World:
    world = World()
    world.build("a", "b", "c", "d", "e", "f", "g")
    for letter in promoted:
        world.promote(letter, POOL, OTHER_POOL)
    return world


def test_a_promoted_digest_is_what_vms_of_every_region_pull_from_their_own_region() -> None:
    world = start("a")
    assert world.pointed() == {
        region: f"{region}-docker.pkg.dev/hai-gcp-models/marin-ci/tpu-ci@{digest('a')}" for region in REGIONS
    }


def test_a_promotion_says_what_was_before_and_which_tags_it_set() -> None:
    world = start()
    for before, letter in ((None, "a"), (digest("a"), "b")):
        (moved,) = world.promotion.promote((POOL,), "tpu-ci", digest(letter), NOW)
        tags = tuple(f"{place}:{names.in_use_tag(POOL, digest(letter))}" for place in PLACES)
        assert (moved.before, moved.kept) == (before, tags)


def test_promoting_the_same_again_changes_nothing() -> None:
    world = start("a")
    before = world.state()
    (moved,) = world.promotion.promote((POOL,), "tpu-ci", digest("a"), NOW)
    assert (moved.changed, moved.pointer, moved.kept, moved.released) == (False, False, (), ())
    assert world.state() == before


def test_a_digest_that_one_region_lacks_is_refused_and_nothing_changes() -> None:
    world = start("a")
    world.registries.versions[PLACES[1]].discard(digest("b"))
    before = world.state()
    with pytest.raises(ConfigError, match=f"{PLACES[1]}: does not have {digest('b')}"):
        world.promote("b")
    assert world.state() == before


def test_a_pool_with_vms_where_no_repository_is_is_refused() -> None:
    world = start("a")
    elsewhere = replace(world.promotion, regions={**world.promotion.regions, POOL: frozenset({"us-east1"})})
    with pytest.raises(ConfigError, match="region us-east1: no repository has tpu-ci there"):
        elsewhere.promote((POOL,), "tpu-ci", digest("a"), NOW)


COMMANDS: list[tuple[str, tuple[str, ...], Command]] = [
    ("first promotion", (), promote("a")),
    ("next promotion", ("a",), promote("b")),
    ("promotion that forgets the oldest target", ("a", "b", "c", "d", "e", "f"), promote("g")),
    ("promotion of an earlier target", ("a", "b"), promote("a")),
    ("undo", ("a", "b"), undo),
    ("undo of a promotion of an earlier target", ("a", "b", "a"), undo),
]


@pytest.mark.parametrize("after", [False, True], ids=["before its effect", "after its effect"])
@pytest.mark.parametrize(("before", "command"), [each[1:] for each in COMMANDS], ids=[each[0] for each in COMMANDS])
def test_a_command_that_fails_at_any_call_harms_nothing_and_is_ended_by_the_command_that_is_told(
    before: tuple[str, ...], command: Command, *, after: bool
) -> None:
    whole = start(*before)
    command(whole.promotion)
    for calls in count():
        world = start(*before)
        world.power.left, world.power.after = calls, after
        try:
            moved = command(world.promotion)
        except GoogleError as error:
            world.power.left = None
            assert world.problems() == [], f"after {calls} calls"
            told = re.match(r"(?s)undoing in tpu-ci .*images promote tpu-ci@(\S+) --pool tpu-ci`", str(error))
            if told:
                world.promotion.promote((POOL,), "tpu-ci", told[1], NOW)
            else:
                command(world.promotion)
            assert world.state() == whole.state(), f"repaired after {calls} calls"
            continue
        world.power.left = None
        assert world.problems() == []
        assert world.store.read() == whole.store.read()
        assert [world.pointed(pool) for pool in (POOL, OTHER_POOL)] == [
            whole.pointed(pool) for pool in (POOL, OTHER_POOL)
        ]
        if all(each.problem is None for each in moved):
            assert world.state() == whole.state()
            assert calls > 10, "every call was failed once"
            break


@pytest.mark.parametrize("after", [False, True])
def test_an_undo_that_finds_an_unfinished_promotion_finishes_it_and_says_so(*, after: bool) -> None:
    for calls in count():
        world = start("a")
        world.power.left, world.power.after = calls, after
        try:
            world.promotion.promote((POOL,), "tpu-ci", digest("b"), NOW)
        except GoogleError:
            world.power.left = None
            target = world.store.read().pools[POOL].digest
            try:
                moved = world.promotion.undo(POOL)
            except ConfigError:  # nothing of the promotion is left, and there is nothing before it
                assert target == digest("a")
            else:
                assert moved.digest == (target if moved.finished else digest("a"))
            assert world.problems() == []
            continue
        assert calls > 5
        break


def test_a_promotion_that_another_command_overtakes_ends_as_the_record_says() -> None:
    world = start("a")
    real = world.bucket.update
    overtaken = [False]

    def update(name: str, decide: Callable[[Body | None], Body]) -> WriteResult:
        if name == bucket_names.pointer_object() and not overtaken[0]:
            overtaken[0] = True
            world.promote("c")
        return real(name, decide)

    world.bucket.update = update  # type: ignore[method-assign]
    (moved,) = world.promotion.promote((POOL,), "tpu-ci", digest("b"), NOW)
    assert moved.digest == digest("c")
    assert set(world.pointed().values()) == {f"{place}@{digest('c')}" for place in PLACES}
    assert world.problems() == []


def test_before_a_first_image_orders_that_leave_it_to_the_pointer_say_none() -> None:
    """As a controller wrote them that knew no such word: VMs would run what nothing proved at once."""
    world, told = start(), {"version": 1, "image": None, "bundle": "ab", "restart": 3, "drain": True}
    slots = [{"name": f"{pool}-0", "pool": pool} for pool in (POOL, OTHER_POOL)]
    slots += [{"name": f"{POOL}-{name}", "pool": POOL} for name in ("ordered", "new")]
    world.bucket.objects[bucket_names.manifest_object("ci")] = {"version": 1, "slots": slots}
    for name, image in ((f"{POOL}-0", None), (f"{OTHER_POOL}-0", None), (f"{POOL}-ordered", "r@sha256:a")):
        world.bucket.objects[bucket_names.orders_object(name)] = {**told, "image": image}
    real, seen = world.bucket.update, []

    def update(name: str, decide: Callable[[Body | None], Body]) -> WriteResult:
        seen.append(name)
        return real(name, decide)

    world.bucket.update = update  # type: ignore[method-assign]
    world.promote("a")
    images = {name: world.bucket.objects[bucket_names.orders_object(name)] for name in (f"{POOL}-0", f"{OTHER_POOL}-0")}
    assert images == {f"{POOL}-0": {**told, "image": "none"}, f"{OTHER_POOL}-0": told}
    assert world.bucket.objects[bucket_names.orders_object(f"{POOL}-ordered")]["image"] == "r@sha256:a"
    assert bucket_names.orders_object(f"{POOL}-new") not in world.bucket.objects, "no controller keeps it yet"
    assert bucket_names.orders_object(f"{POOL}-ordered") not in seen
    assert seen.index(bucket_names.orders_object(f"{POOL}-0")) < seen.index(bucket_names.pointer_object())
    seen.clear()
    world.build("b")
    world.promote("b")
    assert not [name for name in seen if name.startswith(bucket_names.ORDERS_PREFIX)], "later ones go by orders alone"
