"""How images stand: what the record says of each, and what its places answer today.

Owns the comparison. What a build is and which pools run it comes from the record; whether a place has it, from the
place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infra.fleet.google import GoogleError
from infra.fleet.images.oci import RegistryError
from infra.fleet.images.registries import Answers, location
from infra.model.images.record import Build, PoolTarget, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceState:
    """One place of an image. tag: its moving tag, which names `named`, None where nothing is named.

    current: whether the place has the record's current digest, None where that is not known. problem: why it is not.
    """

    place: str
    tag: str | None
    named: str | None
    current: bool | None
    problem: str | None

    @property
    def location(self) -> str:
        return location(self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageState:
    """One image. pools: the target of each pool that may run it, perhaps another image's; None where it has none."""

    image: str
    current: Build | None
    history: tuple[Build, ...]
    places: tuple[PlaceState, ...]
    pools: Mapping[str, PoolTarget | None]

    @property
    def equal(self) -> bool | None:
        """Whether every place has the current digest; None where there is none or a place did not answer."""
        answers = [each.current for each in self.places]
        if self.current is None or not answers:
            return None
        if False in answers:
            return False
        return None if None in answers else True


def image_state(
    registries: Answers, record: Record, image: str, *, places: Sequence[str], tag: str | None, pools: Sequence[str]
) -> ImageState:
    """What the record and the places say of one image. tag: the moving tag to ask for, None where it has none."""
    known = record.images.get(image)
    current = known.current if known else None
    return ImageState(
        image=image,
        current=current,
        history=known.history if known else (),
        places=tuple(_place_state(registries, place, current, tag) for place in places),
        pools={pool: record.pools.get(pool) for pool in sorted(pools)},
    )


def _place_state(registries: Answers, place: str, current: Build | None, tag: str | None) -> PlaceState:
    try:
        named = registries.named(place, tag) if tag else None
        has = registries.has(place, current.digest) if current else None
    except (GoogleError, RegistryError) as error:
        return PlaceState(place=place, tag=tag, named=None, current=None, problem=str(error))
    return PlaceState(place=place, tag=tag, named=named, current=has, problem=None)
