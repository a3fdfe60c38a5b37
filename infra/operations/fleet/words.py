"""How a fleet stands, in words: what is amiss, what is not known, what comes next and what does not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from infra.fleet.status.shape import FleetIssue, FleetStatus, Next, RolloutStatus
from infra.fleet.wishes import DrainWish
from infra.preview.times import ago, due, since


def amiss(status: FleetStatus) -> str:
    said = [f"{len(status.unhealthy)} of {status.desired} VMs do not serve"] if status.unhealthy else []
    said += [f"{len(status.orphans)} without owner"] if status.orphans else []
    said += [f"{len(status.findings)} to look at"] if status.findings else []
    said += ["not as the stack file says"] if status.unapplied else []
    return ", ".join(said) or "not as declared yet"


def unknown(status: FleetStatus) -> list[FleetIssue]:
    queues = [
        FleetIssue(subject=f"queue of {pool.pool}", reason=pool.queue.reason)
        for pool in status.pools
        if pool.queue.waiting is None
    ]
    return [*status.unknown, *queues]


def drain_words(drain: DrainWish, now: datetime) -> str:
    return f"{drain.subject}  by {drain.by}, {since(drain.since, now)}, waits {drain.minutes} min for running jobs"


def to_come(rollout: RolloutStatus) -> str:
    """What no sweep has begun yet, and what none will begin by itself."""
    said = f"; {', '.join(rollout.coming)} begins with the next sweep" if rollout.coming else ""
    if rollout.not_tried:
        return f"{said}; {not_tried(rollout)}"
    return said + ("; goes back with the next sweep" if rollout.taken_back else "")


def not_tried(rollout: RolloutStatus) -> str:
    """What of a pool's target was taken back, and what people can do."""
    again = f"`./tidepool rollout redo {rollout.pool}`"
    return f"{' and '.join(rollout.not_tried)} {_is(rollout.not_tried)} tried again only by {again}"


def coming_line(rollout: RolloutStatus) -> str:
    """What the next sweeps try in a pool, and what they do not."""
    tried = f"{' and '.join(rollout.coming)} {_is(rollout.coming)} tried on one VM first" if rollout.coming else ""
    back = not_tried(rollout) if rollout.not_tried else ""
    return f"{rollout.pool}: " + "; ".join(filter(None, (tried, back)))


def _is(some: Sequence[str]) -> str:
    return "are" if len(some) > 1 else "is"


def when_words(step: Next, now: datetime) -> str:
    if step.at:
        return f"{due(step.at, now)}, {ago(step.at, now)}"
    return "waiting" if step.waits else "next sweep"
