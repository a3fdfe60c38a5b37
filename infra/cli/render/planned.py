"""What `up` would do, for people: the plan, VMs that stand where it does not show them, and its phases.

Of the phases: which limit asks for them, what each deletes and makes, and what has no room.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from infra.cli.render.console import say
from infra.cli.render.plan import show_plan
from infra.model.phases import Phase, Phases, Work
from infra.operations.stacks.preview import Planned
from infra.preview.words import vms, why_phases


def show_planned(console: Console, planned: Planned) -> None:
    """All but what the rules say of it."""
    show_plan(console, planned.plan)
    if planned.phases is None:
        return
    away = planned.away
    for vm in away.leaving:
        say(console, f"at a fallback: {vm}, where it is deleted")
    for vm in away.changing:
        say(console, f"at a fallback: {vm}, where it is changed")
    for vm in away.strays:
        say(console, f"neither declared nor in the state: {vm}, whose chips count while it stands")
    for line in describe_phases(planned.phases):
        say(console, line)


def describe_phases(phases: Phases) -> Iterator[Text]:
    """Nothing where one pass is safe and everything has room."""
    if phases.needed:
        yield Text(f"Order: {len(phases.order)} phases, {why_phases(phases)}", style="bold")
        yield from (Text(f"  {load.why}") for load in phases.reasons)
        yield from (Text(f"  {number}. {_phase(phase)}") for number, phase in enumerate(phases.order, start=1))
    for load in phases.exceeded:
        yield Text(f"over the limit: {load.why}", style="bold red")
    if phases.held:
        yield Text(f"no room for {vms(phases.held)}: held back", style="bold red")


def _phase(phase: Phase) -> str:
    done = {"deletes": phase.deleted, "replaces": phase.replaced, "makes": phase.created}
    said = "; ".join(f"{verb} {vms(names)}" for verb, names in done.items() if names)
    if phase.work is Work.RETIRE:
        return f"{phase.work.value}: once what is new serves and their jobs are done, {said}"
    return f"{phase.work.value}: {said}" + (", and nothing else" if phase.work is Work.SHRINK else ", and all else")
