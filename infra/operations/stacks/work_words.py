"""How a Dask class, a group or a queue of a cluster stands, for people."""

from __future__ import annotations

from collections.abc import Iterator

from infra.jobs.work import UNSAID, PartSeen, QueueSeen, QuotaSeen, WorkSeen, WorkWaiting
from infra.operations.stacks.work import WorkStanding
from infra.preview.toned import Shown, Tone, text_table, toned

_SHOWN = 20
"""Lines of what waits in a queue; --json has all of it."""
_GB = 10**9


def work_shown(told: WorkStanding) -> Iterator[Shown]:
    """A heading, then pods or quota, then what waits and for what."""
    where = f" in {told.namespace}" if told.namespace else ""
    heading = f"  {told.kind}{where}, stack {told.stack}"
    if told.seen is None:
        yield toned((told.name, Tone.HEADING), heading)
        yield toned((f"  {_absent(told)}", Tone.WARNING))
        return
    state, tone = _queue_state(told.seen) if isinstance(told.seen, QueueSeen) else _pods_state(told.seen)
    yield toned((told.name, Tone.HEADING), f"{heading}: ", (state, tone))
    yield from _queue(told.seen) if isinstance(told.seen, QueueSeen) else _pods(told.seen)


def _absent(told: WorkStanding) -> str:
    if told.kind == "queue":
        return f"the cluster does not have it; `./tidepool up {told.stack}` makes it"
    return "it has no image in the stack file, so that nothing of it is declared"


def _pods_state(seen: WorkSeen) -> tuple[str, Tone]:
    if seen.waits:
        return "waits", Tone.WARNING
    ready = all(part.ready >= max(part.pods, part.least) for part in seen.parts)
    return ("ready", Tone.GOOD) if ready else ("not all ready", Tone.WARNING)


def _pods(seen: WorkSeen) -> Iterator[Shown]:
    yield from (f"  {part.name}: {_part(part)}" for part in seen.parts)
    yield from (
        f"  waits in queue {each.waits.queue}{_ahead(each)}{_first(each)}: {each.waits.says}" for each in seen.waits
    )
    yield from (toned((f"  {line}", Tone.WARNING)) for line in seen.troubles)


def _part(part: PartSeen) -> str:
    said = f"{part.ready} of {max(part.pods, part.least)} pods ready"
    lacking = part.least - part.pods
    more = (
        (part.gated, "for Kueue to admit"),
        (part.without_node, "for a node: GKE makes nodes when it has room"),
        (lacking, "to be made"),
    )
    return "; ".join((said, *(f"{count} wait{'s' if count == 1 else ''} {what}" for count, what in more if count > 0)))


def _ahead(each: WorkWaiting) -> str:
    return ", its place is unknown" if each.waits.place is None else f", {each.waits.place} ahead"


def _first(each: WorkWaiting) -> str:
    return f" ({each.first}{f' and {each.count - 1} more' if each.count > 1 else ''})"


def _queue_state(seen: QueueSeen) -> tuple[str, Tone]:
    if seen.active:
        return "admits", Tone.GOOD
    return f"does not admit: {seen.says}", Tone.WARNING if seen.says == UNSAID else Tone.PROBLEM


def _queue(seen: QueueSeen) -> Iterator[Shown]:
    rows = [(each.flavor, each.resource, _amount(each, each.held), _amount(each, each.quota)) for each in seen.quotas]
    yield text_table(("FLAVOR", "RESOURCE", "HELD", "QUOTA"), rows, right=("HELD", "QUOTA"))
    admitted = "?" if seen.admitted is None else seen.admitted
    yield f"  {admitted} admitted, {'?' if seen.pending is None else seen.pending} waiting"
    for each in seen.waits[:_SHOWN]:
        place = "?" if each.waits.cluster_place is None else each.waits.cluster_place
        yield f"  {place} ahead of {each.first}: {each.waits.says}"
    if len(seen.waits) > _SHOWN:
        yield f"  and {len(seen.waits) - _SHOWN} more"


def _amount(each: QuotaSeen, amount: float | None) -> str:
    if amount is None:
        return "?"
    return f"{amount / _GB:,.0f} GB" if each.resource == "memory" else f"{amount:,.10g}"
