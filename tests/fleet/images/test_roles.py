"""What broker and controller run is kept from clean-up, in every order of interruption."""

from __future__ import annotations

import pytest

from infra.fleet.images.promotion import ROLES, RoleImages
from infra.fleet.images.where import Use, in_record
from infra.model.images.record_documents import EARLIER_TARGETS
from tests.fleet.images.worlds import NOW, PLACES, World, digest

PLACE = PLACES[1]


def start(*letters: str) -> tuple[World, RoleImages]:
    world = World()
    world.build(*letters)
    return world, RoleImages(store=world.store, registries=world.registries, stack="ci")


def test_what_a_revert_brings_back_stays_and_what_none_does_goes() -> None:
    letters = "abcdefg"
    world, roles = start(*letters)
    for letter in letters:
        roles.keep(f"{PLACE}@{digest(letter)}", NOW)
    assert world.tagged(PLACE) == {digest(letter) for letter in letters[-1 - EARLIER_TARGETS :]}
    assert roles.keep(f"{PLACE}@{digest('g')}", NOW) == (), "the second time there is nothing to do"
    for letter, how in (("g", "runs it"), ("f", "ran it 1 before")):
        uses = [each for each in in_record(world.store.read(), digest(letter)) if each.kind == "role"]
        assert uses == [Use("role", f"ci/{role}", f"{how}, since 2026-11-21 03:00 UTC") for role in ROLES]


@pytest.mark.parametrize("reference", [f"{PLACE}@{digest('z')}", f"ghcr.io/lab/controller@{digest('a')}"])
def test_what_its_place_does_not_have_or_cannot_keep_is_left_alone(reference: str) -> None:
    world, roles = start("a")
    before = world.state()
    assert roles.keep(reference, NOW) == ()
    assert world.state() == before
