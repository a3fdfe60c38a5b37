"""What can be taken back of a target: its image and its bundle, each by itself.

Owns how a part is named in records (`image DIGEST`, `bundle SHA256`) and what is left of a target without some. Records
of before parts were told apart name whole targets, `DIGEST|BUNDLE`; those are still read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, TypeAlias

from infra.fleet.controller.observed import Target

Part: TypeAlias = str
"""`image DIGEST` or `bundle SHA256`."""

_SHOWN: Final = 12


def parts(target: Target) -> frozenset[Part]:
    """The parts of a target; no image and no bundle are none."""
    return frozenset(each for each in (_image(target), _bundle(target)) if each)


def named(keys: Iterable[str], *steps: Target) -> frozenset[Part]:
    """The parts that records name. steps: what is proved, and what was before it.

    Of a whole target only what was new in it counts: what it has more than the first of the steps that is another.
    """
    found: set[Part] = set()
    for key in keys:
        whole = _of_whole(key)
        if whole is None:
            found.add(key)
            continue
        older = next((parts(step) for step in steps if parts(step) != whole), frozenset())
        found |= whole - older
    return frozenset(found)


def names_one_of(key: str, some: Collection[Part]) -> bool:
    """Whether a record's key is one of these parts, or a whole target with one of them."""
    whole = _of_whole(key)
    return key in some if whole is None else not whole.isdisjoint(some)


def without(wanted: Target, taken_back: Collection[Part], *proved: Target) -> Target:
    """A target whose parts that were taken back are those of the first proved one that has others."""
    steps = (wanted, *proved)
    image = next((each for each in steps if _image(each) not in taken_back), proved[0])
    bundle = next((each for each in steps if _bundle(each) not in taken_back), proved[0])
    return Target(images=image.images, bundle=bundle.bundle)


def shown(some: Iterable[Part]) -> Sequence[str]:
    """Parts in a few words each, the image first."""
    said = (each.partition(" ") for each in sorted(some, reverse=True))
    return [f"{kind} {_digits(what)}" for kind, _, what in said]


def _digits(what: str) -> str:
    return ", ".join(each.removeprefix("sha256:")[:_SHOWN] for each in what.split(","))


def _image(target: Target) -> Part:
    return f"image {target.digests}" if target.digests else ""


def _bundle(target: Target) -> Part:
    return f"bundle {target.bundle}" if target.bundle else ""


def _of_whole(key: str) -> frozenset[Part] | None:
    """The parts of a target that a record names whole; None where it names a part."""
    digests, bar, bundle = key.partition("|")
    if not bar:
        return None
    return frozenset(f"{kind} {what}" for kind, what in (("image", digests), ("bundle", bundle)) if what)
