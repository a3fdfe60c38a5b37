"""Rules of an edit: when it may be made, what it may cost, whether one pass of an engine can make it, whether its pools
come back from what Google takes, and where the image of broker and controller comes from.

Owns the judgement. Does not own calendars, prices, phases nor how fast VMs go and come (`infra.model`). What stood
before is handed in; where nobody knows it, the finding says so. A stack file with mistakes is judged by what is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra.model import bounds, freezes
from infra.model.cost import stack_cost
from infra.model.offers import image_places
from infra.model.schema import Freeze
from infra.model.windows import ended
from infra.rules.finding import Level
from infra.rules.rule import Broken, Edit, EditRule


def _frozen(edit: Edit) -> Iterator[Broken]:
    if edit.changes is False:
        return
    doubt = "" if edit.changes else "; whether anything changes is not known here"
    for standing in freezes.standing(_freezes(edit), edit.today):
        freeze = standing.freeze
        subject = f"freezes[{freeze.name}]"
        until = f"until {freeze.end} ({freeze.time_zone})"
        if standing.overridden and freeze.override is not None:
            said = f"the freeze {until} is overridden until {freeze.override.until}: {freeze.override.reason}"
            yield Broken(subject, said, "nothing, if that is meant", Level.WARN)
        else:
            yield Broken(subject, f"nothing is changed {until}{doubt}")


def _freezes(edit: Edit) -> Iterator[Freeze]:
    """The windows declared after the edit, and those that the very edit takes away or moves."""
    after = tuple(edit.after.freezes)
    yield from after
    kept = {_window(freeze) for freeze in after}
    for freeze in edit.before.freezes if edit.before else ():
        if _window(freeze) not in kept:
            yield freeze


def _window(freeze: Freeze) -> tuple[object, ...]:
    return freeze.name, freeze.start, freeze.end, freeze.time_zone


def _over_budget(edit: Edit) -> Iterator[Broken]:
    budget = edit.after.budget
    if budget is None:
        return
    cost = stack_cost(edit.after, edit.today, edit.window_hours)
    worst, declared = cost.worst.month, cost.declared.month
    if worst.over(budget.usd_per_month):
        said = f"list prices come to {worst} a month, over the ${budget.usd_per_month:,.2f} allowed"
        if worst != declared:
            said = f"in the worst case {said}; as declared, {declared}"
        was = stack_cost(edit.before, edit.today, edit.window_hours).worst.month if edit.before else None
        if was is not None and was.known > worst.known and not worst.unknown:
            yield Broken("budget", f"{said}, and down from {was}", level=Level.WARN)
        else:
            yield Broken("budget", said)
    if worst.unknown:
        said = f"whether it suffices is unknown: {', '.join(worst.reasons)}"
        yield Broken("budget", said, "ask Google's sales for the price, and leave room for it", Level.WARN)


def _windows_over(edit: Edit) -> Iterator[Broken]:
    for pool in edit.after.pools:
        for window in pool.windows:
            if ended(window, edit.today):
                said = f"it ended on {window.until}: it opens no more, and costs nothing"
                yield Broken(f"pools[{pool.name}].windows[{window.name}]", said)


def _phased(edit: Edit) -> Iterator[Broken]:
    if edit.runs_phases:
        return
    up = f"./tidepool up {edit.after.stack}, which finds the phases and runs them in order"
    if edit.order is not None:
        for load in edit.order.reasons:
            yield Broken("pools", f"one pass could fail: {load.why}", up)
    elif bounds.limits(edit.after, edit.siblings):
        said = "what stands now is not known here, so whether one pass stays within the limits is not known either"
        yield Broken("pools", said, up)


def _undeclared(edit: Edit) -> Iterator[Broken]:
    controller = edit.after.controller
    if controller is None or controller.image is None:
        return
    place = "/".join(controller.image.split("/")[:3])
    declared = sorted(image_places((edit.after, *edit.siblings)))
    if place not in declared:
        said = f"it is from {place}, which no stack declares: nobody records what runs there, or keeps it"
        host = f"{place.partition('/')[0]}/"
        near = [each for each in declared if each.startswith(host)] or declared
        fix = f"an image in {' or '.join(near)}" if near else "tidepool:registries, and the image in one of them"
        yield Broken("controller.image", said, fix)


RULES: Final = (
    EditRule(
        id="freeze",
        level=Level.STOP,
        reason="The lab has said that nothing changes in these days.",
        fix="wait, or give the freeze an override: {until: DAY, reason: WHY}",
        check=_frozen,
    ),
    EditRule(
        id="within-budget",
        level=Level.STOP,
        reason="The stack says what it may cost; more is a decision of its own.",
        fix="smaller counts, or a tidepool:budget that its owner agrees to",
        check=_over_budget,
    ),
    EditRule(
        id="window-ended",
        level=Level.WARN,
        reason="A window whose last day is over does nothing.",
        fix="a later `until`, or remove the window",
        check=_windows_over,
    ),
    EditRule(
        id="phases-needed",
        level=Level.WARN,
        reason="A Pulumi engine creates before it deletes, so a swap inside a full limit fails in one pass.",
        fix="./tidepool up STACK, which runs the phases in order",
        check=_phased,
    ),
    EditRule(
        id="service-image-declared",
        level=Level.WARN,
        reason="What keeps the fleet is built, recorded and kept as its other images are.",
        fix="an image in a repository of tidepool:registries",
        check=_undeclared,
    ),
)
