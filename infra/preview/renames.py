"""Pools and repositories that an edit calls otherwise: what Google makes of it, and how to keep what stands.

Owns what counts as a rename: one goes, one comes, and they differ in nothing but their names. Google renames neither.
The name of a TPU VM and the id of a service account or a repository are given once (Cloud TPU's `nodes.patch` takes no
name: cloud.google.com/tpu/docs/reference/rest/v2/projects.locations.nodes/patch; Artifact Registry's
`repositories.patch` neither; both read 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TypeVar

from infra.model.cost import chip_dollars
from infra.model.dollars import NOTHING
from infra.model.phases import Phases
from infra.model.plan import Plan
from infra.model.planned_capacity import CapacityChange, capacity
from infra.model.schema import Pool, Repository, StackConfig
from infra.preview.sentences import plural

Item = TypeVar("Item", Pool, Repository)
_CALLED = frozenset(("name", "label"))


def renamed_pools(base: StackConfig, head: StackConfig, order: Phases) -> Iterator[tuple[str, str]]:
    """The subject and the sentence of each pool that has another name."""
    for old, new in _pairs(base.pools, head.pools):
        what = f"{plural(old.slices, 'VM')} ({plural(old.slices * old.accelerator.chips, 'chip')})"
        if any(vm.startswith(f"{old.name}-") for vm in order.first):
            course = f"`up` deletes {what} first, for the limit has no room for both, and makes as many anew"
        else:
            course = f"`up` makes {what} under the new name, and deletes as many once these serve and no job runs there"
            course += _meanwhile(old)
        says = f"pool {old.name} is called {new.name}: Google renames no TPU VM and no service account, so {course}."
        keep = f" To keep them, leave `name: {old.name}` and write `label: {new.label}`, by which jobs ask for the pool"
        yield f"pool {old.name}", says + keep


def renamed_repositories(base: StackConfig, head: StackConfig) -> Iterator[tuple[str, str]]:
    """The subject and the sentence of each repository that has another name."""
    before, after = (config.registries.repositories if config.registries else () for config in (base, head))
    for old, new in _pairs(before, after):
        says = f"repository {old.name} is called {new.name}: Artifact Registry renames none, so its images stay under"
        says += f" the old name. Declare both, and have images pushed to {new.name}; later take {old.name} out of the"
        says += f" file, with an exception to apply-refuses, and run `./tidepool forget {head.stack} '*/{old.name}'`"
        yield f"repository {old.name}", f"{says} before the next `up`, which then leaves its images there"


def renamed_in(plan: Plan) -> Iterator[str]:
    """What a plan says where all VMs of one pool go, and as many come alike under another pool's name."""
    changes = capacity(plan)
    gone = _by_pool(each for each in changes if each.before and not each.after)
    come = _by_pool(each for each in changes if each.after and not each.before)
    staying = {each.place.pool for each in changes if each.before and each.after}
    for old, was in gone.items():
        for new in sorted(name for name, those in come.items() if those == was and not staying & {old, name}):
            yield f"{old} -> {new} looks like a rename: Google renames no TPU VM, so that all are made anew"
            yield f"  to keep them, leave `name: {old}` and write `label: {new}`, by which jobs ask for the pool"


def _by_pool(changes: Iterable[CapacityChange]) -> dict[str, set[tuple[str, str, str, int]]]:
    found: dict[str, set[tuple[str, str, str, int]]] = {}
    for each in changes:
        place, count = each.place, each.before + each.after
        found.setdefault(place.pool, set()).add((place.zone, place.accelerator, place.capacity, count))
    return found


def _pairs(before: Iterable[Item], after: Iterable[Item]) -> Iterator[tuple[Item, Item]]:
    """What goes and what comes in its place, each once."""
    old, new = ({each.name: each for each in items} for items in (before, after))
    come = [each for name, each in new.items() if name not in old]
    for name, each in old.items():
        if name in new:
            continue
        like = next((other for other in come if _otherwise(other) == _otherwise(each)), None)
        if like is not None:
            come.remove(like)
            yield each, like


def _otherwise(item: Pool | Repository) -> dict[str, object]:
    return {key: value for key, value in item.__dict__.items() if key not in _CALLED}


def _meanwhile(pool: Pool) -> str:
    """What both cost beside each other."""
    hourly = [
        chip_dollars(pool.accelerator, zone, pool.capacity.kind) * Decimal(pool.accelerator.chips * count)
        for zone, count in pool.zones.items()
    ]
    both = sum(hourly, NOTHING)
    return f" ({both} an hour while both stand)" if both != NOTHING else ""
