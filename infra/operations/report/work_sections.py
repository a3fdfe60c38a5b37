"""What runs on the fleet and what came of it: the sections of images, workflows, money, results, risks and changes.

Pure: equal estates, equal sections. Words are those of the commands that tell the same to a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from infra.fleet.history import STATE_ALONE, Result
from infra.fleet.status.shape import FleetStatus
from infra.model.dollars import NOTHING, Dollars
from infra.model.offers import Offers
from infra.model.usage import MonthCost
from infra.model.waits import Wait, minutes, waits
from infra.operations.fleet.status_words import sections
from infra.operations.images.standing_words import images_table, pools_table
from infra.operations.report.blocks import table
from infra.operations.report.estate import Estate
from infra.operations.stacks.history import Told
from infra.operations.stacks.history_words import came_to, ended_as
from infra.pages.charts import Bar, bars
from infra.pages.health import outlined
from infra.pages.kit import Block, Drawing, Folded, Lack, Lines, Said, Section, Table, Tone, Words

_CALM: Final = ("Booting", "Controller", "Rollouts", "Not ours, left alone", "Drained", "Stack file")
"""Parts of a status that are no risk: what goes its way, and what an `up` is for."""
_SHOWN: Final = 15
"""Pools, suites and runs of a month on which money was spent."""
_COMMIT: Final = 10
"""Hexadecimal digits of a commit."""


def images(estate: Estate) -> Section:
    """Which digest is current, whether every place has it, and which pools run it."""
    found = estate.images
    if isinstance(found, Lack):
        return Section(id="images", title="Images", blocks=(found,))
    built = sum(each.state.current is not None for each in found.images)
    tables: tuple[Block, ...] = (table(images_table(found.images, estate.made), "Images and their current digests"),)
    pools = pools_table([each.state for each in found.images], estate.made)
    tables += (table(pools, "What pools run"),) if pools.rows else ()
    if not built:
        first = found.images[0].image.name if found.images else "IMAGE"
        lack = Lack(f"No build is recorded yet; `./tidepool images build {first} --trigger` starts one.")
        tables = (lack, Folded(summary="What is declared", blocks=tables))
    lines = tuple(Said(each, "warning") for each in found.warnings)
    more = (Lines(title="Before they can be built", lines=lines),) if lines else ()
    says = f"{built} of {len(found.images)} images are built."
    return Section(id="images", title="Images", says=says, blocks=(*tables, *more))


def workflows(estate: Estate) -> Section:
    """Which jobs run where, what starts them, and how long the last of them waits at most."""
    found = estate.workflows
    if isinstance(found, Lack):
        return Section(id="workflows", title="Workflows", blocks=(found,))
    offers = Offers.of(tuple(estate.stacks.values()))
    longest: dict[str, list[Wait]] = {}
    for each in waits(found.demands, offers):
        longest.setdefault(f"{each.demand.subject} {each.pools}", []).append(each)
    rows = []
    for demand in found.demands.demands:
        pools = tuple(each.pool for each in offers.taking(demand)) if not demand.hosted else ()
        waited = longest.get(f"{demand.subject} {tuple(each for each in pools if _has_vms(offers, each))}", [])
        where = f"a VM of its own, as of {demand.vm}" if demand.vm else ", ".join(pools) or "no pool"
        events = ", ".join(dict.fromkeys(start.event for start in demand.starts if start.legs))
        limit = "-" if demand.timeout_minutes is None else minutes(demand.timeout_minutes)
        job = f"{demand.file.rpartition('/')[2]} {demand.job}"
        rows.append((demand.repository, job, where, events, limit, _wait(waited)))
    head = ("Repository", "Job", "Runs on", "Started by", "Limit", "Longest wait")
    misfits = tuple(
        Said(f"{each.subject}: {each.reason}", "bad" if each.stops else "warning") for each in found.misfits
    )
    used = f"{len(rows)} jobs of {len({row[0] for row in rows})} repositories use the fleet"
    return Section(
        id="workflows",
        title="Workflows",
        says=f"{used}; {len(misfits)} findings say what does not fit."
        if misfits
        else f"{used}, and find what they ask.",
        blocks=(
            *((Lines(title="What does not fit", lines=misfits),) if misfits else ()),
            Table(caption="What workflows run on", head=head, rows=tuple(rows)),
        ),
    )


def _has_vms(offers: Offers, pool: str) -> bool:
    found = offers.pool(pool)
    return found is not None and bool(found.vms)


def _wait(found: list[Wait]) -> str:
    """The longest over all events that start the job."""
    if not found:
        return "-"
    last = [each.last for each in found if each.last is not None]
    return "not known" if len(last) < len(found) else minutes(max(last)) if max(last) else "none"


def costs(estate: Estate) -> Section:
    """US dollars by stack and month, and what they were spent on."""
    lacks = tuple(each for each in estate.money.values() if isinstance(each, Lack))
    months = [each for found in estate.money.values() if not isinstance(found, Lack) for each in found]
    if not months:
        return Section(
            id="money",
            title="Money",
            blocks=lacks or (Lack("No stack is there to cost anything yet; `./tidepool init` writes one."),),
        )
    drawn = [_bar(each) for each in months]
    drawing = Drawing(
        title="By stack and month",
        told=f"{'; '.join(f'{each.name}: {each.says}' for each in drawn)}.",
        note="Full as far as it is spent, pale as far as it is forecast to the month's end.",
        key="money",
        draw=bars(drawn, "$,d"),
    )
    head = ("Stack", "Month", "Spent", "Forecast", "Worst case", "Budget", "State")
    rows = tuple(
        (
            each.stack,
            each.month,
            str(each.total.usd),
            str(each.forecast or "-"),
            str(each.worst or "-"),
            _dollars(each.budget),
            _kept(each),
        )
        for each in months
    )
    lines = tuple(
        (each.stack, each.month, kind, line.key, str(line.vms), f"{line.rounded_hours:,.2f}", f"{line.rounded:,.4f}")
        for each in months
        for kind, found in (("pool", each.pools), ("suite", each.suites), ("run", each.runs))
        for line in found[:_SHOWN]
    )
    spent_on = Table(
        caption=f"By pool, suite and run, the dearest {_SHOWN} of each; `./tidepool cost --json` has all",
        head=("Stack", "Month", "Of", "Name", "VMs", "Hours", "Cost"),
        rows=lines,
        numbers=frozenset((4, 5, 6)),
    )
    priced = months[-1].priced
    return Section(
        id="money",
        title="Money",
        says=f"{spent(estate)} spent this month by list prices of {priced}, without disks, traffic and discounts.",
        blocks=(
            *lacks,
            drawing,
            Table(caption="Months and budgets", head=head, rows=rows, numbers=frozenset((2, 3, 4, 5))),
            *((Folded(summary=f"What it was spent on: {len(lines)} lines", blocks=(spent_on,)),) if lines else ()),
        ),
    )


def spent(estate: Estate) -> str:
    """This month, of all stacks."""
    return str(_sum(estate, lambda each: each.total.usd))


def forecast(estate: Estate) -> str:
    """The same to the month's end, and whose money is not in it."""
    said = f"{_sum(estate, lambda each: each.expected):,.0f} by its end"
    silent = [stack for stack, found in estate.money.items() if isinstance(found, Lack)]
    return f"{said}, without {', '.join(silent)}" if silent else said


def _sum(estate: Estate, of: Callable[[MonthCost], Dollars]) -> Dollars:
    """Over this month of all stacks; one whose money was not read makes it unknown."""
    total = NOTHING
    for stack, found in estate.money.items():
        if isinstance(found, Lack):
            total += Dollars.missing(f"the money of {stack}")
        else:
            total = sum((of(each) for each in found if each.forecast is not None), total)
    return total


def _bar(each: MonthCost) -> Bar:
    of = "" if each.forecast is None else f" of {each.expected}"
    return Bar(
        name=f"{each.stack} {each.month}",
        part=float(each.total.usd.known),
        whole=float(each.expected.known),
        says=f"{each.total.usd}{of}",
    )


def _kept(each: MonthCost) -> Words:
    if each.budget is None:
        return "no budget"
    if each.over_budget is None:
        return Said("unknown", "muted")
    return Said("over budget", "bad") if each.over_budget else Said("within budget", "good")


def _dollars(value: object) -> str:
    return "-" if value is None else f"${value:,.2f}"


def results(estate: Estate) -> Section:
    """How suites ended, and what to look at."""
    found = estate.board
    if isinstance(found, Lack):
        return Section(id="results", title="Results", blocks=(found,))
    failing = [each.suite for each in found.suites if each.failed]
    says = f"To look at: {', '.join(failing)}." if failing else "No suite has a finding that fails it."
    more = "`./tidepool results open` shows each run."
    return Section(
        id="results", title="Results", says=f"{says} {more}" if found.suites else "", blocks=tuple(outlined(found))
    )


def risks(estate: Estate) -> Section:
    """Everything that somebody should look at, whoever found it."""
    rows = tuple(open_risks(estate))
    lacks = tuple(each for each in estate.meanings.values() if isinstance(each, Lack))
    head = ("How bad", "Where", "What", "Next")
    silent = " Not every source answered: the sections below say which." if not all_asked(estate) else ""
    none = Said(f"Nothing is found that somebody should look at.{silent}", "warning" if silent else "good")
    says = f"{len(rows)} to look at.{silent}" if rows else none
    found = (Table(caption="What was found, the worst first", head=head, rows=rows),) if rows else ()
    return Section(id="risks", title="Open risks", says=says, blocks=(*lacks, *found))


def all_asked(estate: Estate) -> bool:
    """Whether every source of risks answered."""
    sources = (*estate.meanings.values(), estate.statuses, estate.workflows, estate.images, *estate.unread)
    return not any(isinstance(each, Lack) for each in sources)


def open_risks(estate: Estate) -> Iterator[tuple[Words, ...]]:
    """A row each: what stops an apply or does not serve first."""
    found = sorted(_risks(estate), key=lambda row: (row[0].tone != "bad", row[0].text, *row[1:]))
    return iter(found)


def _risks(estate: Estate) -> Iterator[tuple[Said, str, str, str]]:
    look, stops = Said("look at it", "warning"), Said("stops an apply", "bad")
    for stack, meaning in estate.meanings.items():
        if meaning is None or isinstance(meaning, Lack):
            continue
        for finding in meaning.findings:
            yield stops if finding.stops else look, f"{stack} {finding.subject}", finding.reason, finding.fix
        for risk in meaning.risks:
            yield look, f"{stack} {risk.subject}", risk.says, f"`./tidepool explain {stack}`"
    for fleet in () if isinstance(estate.statuses, Lack) else estate.statuses:
        for title, lines in sections(fleet):
            how = Said("does not serve", "bad") if title == "Unhealthy" else look
            if title not in _CALM:
                yield from ((how, fleet.stack, str(each), _next(fleet, str(each))) for each in lines)
    if not isinstance(estate.workflows, Lack):
        for each in estate.workflows.misfits:
            yield stops if each.stops else look, each.subject, each.reason, each.fix
    if not isinstance(estate.images, Lack):
        for each in estate.images.warnings:
            yield look, "images", each, "`./tidepool images list`"


def _next(fleet: FleetStatus, line: str) -> str:
    """Of a VM that does not serve, the command that tells its timeline; else the one that tells all of the stack."""
    about = line.split()[0]
    unhealthy = {each.subject for pool in fleet.pools for each in pool.unhealthy}
    return f"`./tidepool why {about}`" if about in unhealthy else f"`./tidepool status {fleet.stack}`"


def changes(estate: Estate) -> Section:
    """Who applied what or wrote a state, the newest first, and what the stack file said otherwise than before."""
    lacks = tuple(each for each in estate.changes.values() if isinstance(each, Lack))
    told = [each for found in estate.changes.values() if not isinstance(found, Lack) for each in found]
    told.sort(key=lambda each: each.applied.id, reverse=True)
    head = ("When (UTC)", "Stack", "By", "Commit", "What", "Edit of the stack file")
    rows = tuple(map(_change, told))
    nothing = () if rows or lacks else (Lack("Nothing was applied yet; `./tidepool up ci` begins the history."),)
    found = (Table(caption="Operations on the stacks", head=head, rows=rows),) if rows else ()
    says = f"{len(rows)} operations, the latest on {told[0].applied.began:%d %B at %H:%M} UTC." if told else ""
    return Section(id="changes", title="Recent changes", says=says, blocks=(*lacks, *nothing, *found))


def _change(told: Told) -> tuple[Words, ...]:
    one = told.applied
    tones: dict[Result, Tone] = {Result.DONE: "good", Result.FAILED: "bad"}
    commit = f"`{one.commit[:_COMMIT]}`{' and edits' if one.edited else ''}" if one.commit else "none"
    alone = "the state alone" if one.verb in STATE_ALONE else "no edit"
    edit = "no earlier file" if told.edit is None else "; ".join(told.edit) or alone
    what = Said(f"{ended_as(one)}: {came_to(one)}", tones.get(one.result, "warning"))
    return f"{one.began:%Y-%m-%d %H:%M}", one.stack, one.by, commit, what, edit
