"""What an edit of Dask classes and groups means, and of the store of jobs' locks.

Neither classes nor groups make capacity: both use what the stack declares elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from infra.model.groups import chips_of
from infra.model.schema import DaskClass, StackConfig, WorkerGroup

T = TypeVar("T", DaskClass, WorkerGroup)
_NOT_MADE = "has no image, so that nothing of it stands in the cluster"


def work_changes(base: StackConfig, head: StackConfig) -> Iterator[tuple[str, str]]:
    """The subject and the sentence of each class and group that differs."""
    for name, was, becomes in _pairs(
        {each.name: each for each in base.batch}, {each.name: each for each in head.batch}
    ):
        change = f"class {name} has {_workers(was)} -> {_workers(becomes)}; it makes no capacity"
        yield f"batch[{name}]", change if _made(was, becomes) else f"class {name} {_NOT_MADE}"
    for name, old, new in _pairs({each.name: each for each in base.groups}, {each.name: each for each in head.groups}):
        before, after = _chips(old), _chips(new)
        held = [f"{before.get(queue, 0)} -> {after.get(queue, 0)} chips of {queue}" for queue in sorted(before | after)]
        change = f"group {name} holds {', '.join(held)} out of the slices that the stack declares; it makes no capacity"
        yield f"groups[{name}]", change if _made(old, new) else f"group {name} {_NOT_MADE}"


def run_changes(base: StackConfig, head: StackConfig) -> str:
    """What runs may make after an edit of that, as a sentence; empty where it stays."""
    was, becomes = base.runs, head.runs
    if was == becomes:
        return ""
    if becomes is None:
        return "runs may make no VM any more"
    types = ", ".join(each.name for each in becomes.accelerators)
    before = f"{was.per_day} -> {becomes.per_day}" if was else f"{becomes.per_day}"
    at_once = f"{was.at_once} -> {becomes.at_once}" if was else f"{becomes.at_once}"
    return (
        f"runs may make {types} as pool {becomes.pool} in {', '.join(becomes.zones)}: {before} VMs a day, {at_once} at "
        f"once, each for {becomes.time_to_live_minutes} minutes at most; they cost while they stand"
    )


def store_lost(base: StackConfig, head: StackConfig) -> str:
    """What becomes of a store that is not kept, as a sentence; empty where it stays, or there was none."""
    was, becomes = (each.store.identity if each.store else {} for each in (base, head))
    if not was or was == becomes:
        return ""
    changed = [f"{key} {was[key]} -> {becomes[key]}" for key in was if key in becomes and was[key] != becomes[key]]
    what = f"replaced ({', '.join(changed)})" if becomes else "deleted"
    return f"the store is {what}: every lock and status in it is lost"


def _pairs(before: Mapping[str, T], after: Mapping[str, T]) -> Iterator[tuple[str, T | None, T | None]]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)


def _made(*versions: DaskClass | WorkerGroup | None) -> bool:
    """Whether anything of it is declared in the cluster, before or after."""
    return any(each is not None and each.image is not None for each in versions)


def _workers(declared: DaskClass | None) -> str:
    if declared is None or declared.image is None:
        return "no workers"
    return f"{declared.minimum} to {declared.maximum} workers on pool {declared.pool}"


def _chips(group: WorkerGroup | None) -> dict[str, int]:
    """Those that it is given; none while it has no image."""
    return {} if group is None else dict(chips_of([group])) if group.image else dict.fromkeys(chips_of([group]), 0)
