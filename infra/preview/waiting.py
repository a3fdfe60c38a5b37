"""How long jobs wait for a runner, as far as an edit changes it. The arithmetic is `infra.model.waits`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.model.demand import Demands
from infra.model.offers import Offers
from infra.model.schema import StackConfig
from infra.model.waits import shares, waits


def changed_waits(before: Sequence[StackConfig], after: Sequence[StackConfig], demands: Demands) -> Iterator[str]:
    """The jobs whose wait differs, with what it was, and who now leaves room for whom; all stacks of both versions."""
    was, becomes = Offers.of(before), Offers.of(after)
    earlier = {(each.demand.subject, each.pools, each.event, each.code): each for each in waits(demands, was)}
    for each in waits(demands, becomes):
        other = earlier.get((each.demand.subject, each.pools, each.event, each.code))
        if other is None or (other.first, other.last) != (each.first, each.last):
            yield f"{each}" + (f" (before: {other.waited})" if other else "")
    known = set(shares(demands, was))
    yield from (line for line in shares(demands, becomes) if line not in known)
