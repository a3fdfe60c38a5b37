"""What people want of a fleet, `control/STACK/wishes.json`: what is drained, which rollouts rest or are taken back.

Owns the document's shape (version 1) and its changes, each a pure function from one document to the next. The
controller reads it (`infra.fleet.controller.observe.read_wishes`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from infra.fleet.controller.observed import DrainWish
from infra.fleet.records import Body

VERSION: Final = 1
_UNDONE_KEPT: Final = 20
"""Targets of a pool that are remembered as taken back; an older one will not be promoted again unseen."""


def with_drains(body: Body | None, wishes: Iterable[DrainWish]) -> dict[str, Any]:
    """With these drains in place of those of the same subjects."""
    wanted = tuple(wishes)
    new = [
        {"subject": each.subject, "by": each.by, "since": each.since.isoformat(), "minutes": each.minutes}
        for each in wanted
    ]
    kept = without_drains(body, {each.subject for each in wanted})
    return kept | {"drains": [*kept["drains"], *new]}


def without_drains(body: Body | None, subjects: Collection[str]) -> dict[str, Any]:
    whole = _whole(body)
    return whole | {"drains": [each for each in whole["drains"] if each.get("subject") not in subjects]}


def paused(body: Body | None, pools: Iterable[str]) -> dict[str, Any]:
    """With rollouts of these pools at rest."""
    whole = _whole(body)
    return _with_rollout(whole, paused=sorted({*_paused(whole), *pools}))


def resumed(body: Body | None, pools: Collection[str]) -> dict[str, Any]:
    whole = _whole(body)
    return _with_rollout(whole, paused=sorted(_paused(whole) - set(pools)))


def undone(body: Body | None, pool: str, target: str) -> dict[str, Any]:
    """With a pool's target, by its key, taken back."""
    whole = _whole(body)
    known = dict(whole["rollout"].get("undone") or {})
    keys = [key for key in known.get(pool, ()) if key != target]
    return _with_rollout(whole, undone=known | {pool: [*keys, target][-_UNDONE_KEPT:]})


def _paused(whole: Body) -> set[str]:
    return set(whole["rollout"].get("paused") or ())


def _with_rollout(whole: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return whole | {"rollout": whole["rollout"] | changes}


def _whole(body: Body | None) -> dict[str, Any]:
    found = dict(body or {})
    return found | {
        "version": VERSION,
        "drains": list(found.get("drains") or ()),
        "rollout": dict(found.get("rollout") or {}),
    }
