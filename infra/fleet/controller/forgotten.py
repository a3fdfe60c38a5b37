"""What a pool runs of which no rollout is remembered: one that is new here, or whose memory was lost.

Owns what of it is taken for proved. Does not own what follows (`rollout`) nor the reading of orders (`observe`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from infra.fleet.controller.judge import Judge
from infra.fleet.controller.memory import Rollout, TargetMemory
from infra.fleet.controller.observed import Target
from infra.model.catalogue import region_of


def begun(pool: str, judge: Judge, target: Target) -> Rollout | None:
    """Its rollout as if nothing were under way; None where nobody can say what its VMs were told, or whether they
    serve.

    Without orders, what it serves with is the target; where it serves nobody, no image is proved.
    """
    slots, observed = judge.desired.of_pool(pool), judge.observed
    if not judge.hears(pool) or not observed.told_source.known:
        return None
    serving = {slot.name for slot in slots if judge.serving(slot.name)}
    proved = target if serving else replace(target, images={})
    if any(slot.name in observed.told for slot in slots):
        proved = _told_before(pool, judge, target, serving)
    obeyed = tuple(each.at for each in observed.wishes.undone.get(pool, ()) if each.at and each.over)
    kept = TargetMemory.of(proved)
    return Rollout(stable=kept, target=kept, since=judge.now, obeyed=obeyed)


def _told_before(pool: str, judge: Judge, target: Target, serving: Collection[str]) -> Target:
    """What orders say, without what is new in them: its canary may have proved it or not, and proves it once more.

    A pool in its first rollout has nothing before it. Once two serve with what is new, the canary has proved it.
    """
    slots = {slot.name: slot for slot in judge.desired.of_pool(pool)}
    told = {vm: each for vm, each in judge.observed.told.items() if vm in slots}
    new = sum(each.digest == target.digests for vm, each in told.items() if vm in serving)
    nothing = {""} if new > 1 else set()
    digest = _before((each.digest for each in told.values() if each.digest not in nothing), target.digests)
    zones = {vm: judge.zone(slots[vm]) or slots[vm].home.zone for vm in told}
    known = {region_of(zones[vm]): each.image for vm, each in told.items() if each.digest == digest}
    bundle = _before((each.bundle for each in told.values() if each.bundle), target.bundle or "")
    return Target(images=_of_digest(digest, target.images) | known if digest else {}, bundle=bundle or None)


def _before(told: Iterable[str], new: str) -> str:
    others = Counter(each for each in told if each != new)
    return max(sorted(others), key=lambda each: others[each]) if others else new


def _of_digest(digest: str, images: Mapping[str, str]) -> dict[str, str]:
    """An image in each region of another one: promotion names both in the same repositories."""
    if digest == Target(images=images).digests:
        return dict(images)
    return {region: f"{reference.rpartition('@')[0]}@{digest}" for region, reference in images.items()}
