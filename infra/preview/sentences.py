"""What a meaning says, in sentences. Plain text: parts and layout are left to documents.

Numbers here are the meaning's own; nothing is summed that is not said in its JSON too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from infra.model.cost import FREE
from infra.model.dollars import Dollars
from infra.model.names import is_node_pool
from infra.model.phases import Phase
from infra.preview.meaning import Counts, LedgerLine, Meaning, PoolChange, Risk, RiskKind
from infra.preview.money import Bill, Money, Priced
from infra.preview.words import counted, ranges, vms, why_phases

_NAMES_SHOWN = 12
UNMADE = ": cannot be generated: "
"""How stale files tell what cannot be generated."""
_COUNT = re.compile(r"pools\[[^\]]*\]\.zones\.[^.\[\]]+|slices\[[^\]]*\]\.(number|maximum)")


def key_lines(meaning: Meaning) -> Iterator[str]:
    """Every key that differs but for counts, which have a line pool by pool."""
    return (str(each) for each in meaning.keys if not _COUNT.fullmatch(each.key))


def total(meaning: Meaning, part: Callable[[PoolChange], Counts]) -> Counts:
    return sum((part(pool) for pool in meaning.pools), Counts())


def has_vms(meaning: Meaning) -> bool:
    """Also in windows alone."""
    return bool(meaning.week) or any(pool.slices.before or pool.slices.after for pool in meaning.pools)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def signed(number: int) -> str:
    return f"{number:+,}" if number else "0"


def pool_line(pool: PoolChange, meaning: Meaning) -> str:
    """`us-west4-a, v5litepod-4, spot: 2 -> 3 VMs (+4 chips). Quota: 12 of 64 chips.`, which follows the pool's name."""
    noun = "VMs" if pool.always is None else "slices at most"
    counts = str(pool.slices) if pool.slices.delta else f"{pool.slices.after:,}"
    noun = "VM" if counts == "1" and pool.always is None else noun
    chips = f" ({pool.chips.delta:+,} {'chip' if abs(pool.chips.delta) == 1 else 'chips'})" if pool.chips.delta else ""
    said = f"{pool.zone}, {pool.accelerator}, {pool.capacity}: {counts} {noun}{chips}{_always(pool)}."
    return f"{said} {_limit(pool, meaning)}"


def _always(pool: PoolChange) -> str:
    """Of a cluster's slices, how many are always up."""
    if pool.always is None:
        return ""
    count = str(pool.always) if pool.always.delta else f"{pool.always.after:,}"
    return f", {count} always up" + ("" if pool.always.after == pool.slices.after else ", the others when pods ask")


def _limit(pool: PoolChange, meaning: Meaning) -> str:
    """How much is used of the limit that a pool draws on."""
    for line in meaning.ledger:
        if line.size_after is not None and pool.draws_on(line) and line.project == meaning.project:
            kind = "Reservation" if line.kind == "reservation" else "Quota"
            return f"{kind}: {line.chips.after:,} of {line.size_after:,} chips."
    return "No quota declared."


def ledger_note(line: LedgerLine, project: str | None) -> str:
    """What stands behind a ledger line: chips of others, what is left, and the project where it is another."""
    parts = []
    held = line.held_elsewhere
    if held.before or held.after:
        parts.append(f"{held.after:,} held elsewhere" if not held.delta else f"{held} held elsewhere")
    if line.remaining is not None:
        parts.append(f"{line.remaining:,} remain" if line.remaining >= 0 else f"{-line.remaining:,} too many")
    if line.limited and line.project != project:
        parts.append(f"project {line.project}")
    return ", ".join(parts)


def whole_dollars(amount: Dollars) -> str:
    """Cents where it is less than a dollar, so that nothing is shown as 0 that is not."""
    return format(amount, ",.0f" if abs(amount.known) >= 1 or not amount.known else ",.2f")


def rate(amount: Dollars) -> str:
    """Dollars an hour, with the tenths of a cent that a price has: sums of rounded lines would not be their sum."""
    digits = max(2, 4 - len(said := f"{amount.known:.4f}") + len(said.rstrip("0")))
    return format(amount, f",.{digits}f")


def bill(one: Bill) -> tuple[str, str]:
    """What it costs an hour and a month."""
    return ("reserved", "reserved") if one.priced is Priced.SUNK else (rate(one.amount.hour), str(one.amount.month))


def week_lines(meaning: Meaning) -> Iterator[str]:
    """`nightly-v6e us-central1-b night: 7 -> 14 times, 7 -> 14 chip-hours, $3.81 -> $7.62, first Tue 24 Nov 02:00`."""
    for each in meaning.week:
        if each.changed:
            chip_hours = " -> ".join(dict.fromkeys(f"{hours.normalize():f}" for hours in each.chip_hours))
            usd = " -> ".join(dict.fromkeys(map(str, each.usd)))
            times = str(each.openings) if each.openings.delta else f"{each.openings.after:,}"
            what = f"{times} times, {chip_hours} chip-hours, {usd}, first {each.starts}"
            yield f"{each.pool} {each.zone} {each.window}: {what}"


def money_notes(money: Money) -> Iterator[str]:
    """How much of the fleet the sums cover and where prices come from."""
    known, pools = len(money.estimated), len(money.estimated) + len(money.unpriced)
    if money.unpriced:
        names = ", ".join(money.unpriced)
        yield f"prices known for {known} of {plural(pools, 'pool')}; no published price: {names}"
    elif pools:
        yield f"prices known for {'all ' if pools > 1 else ''}{plural(pools, 'pool')}"
    if money.sunk:
        yield f"reserved, so paid whether used or not: {_some(money.sunk)}"
    if money.not_counted:
        yield f"not counted: {', '.join(money.not_counted)}"
    if money.runs.after != FREE:
        yield f"of the worst case, runs may come to {money.runs.after.month} a month"
    yield f"list prices of {money.as_of}, {money.source}; a month has {money.hours_per_month} hours"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
    return f"{', '.join(names[:_NAMES_SHOWN])}{more}"


def risk_line(risk: Risk) -> str:
    """The sentence, with VMs by name where it is of VMs."""
    if risk.kind in (RiskKind.REPLACE, RiskKind.DELETE) and risk.names:
        return f"{risk.says}: {', '.join(ranges(risk.names))}"
    return risk.says


def apply_line(meaning: Meaning) -> str:
    """What `up` does with an edit, and to jobs that run; what is refused is not promised."""
    order, command = meaning.order, f"`./tidepool up {meaning.stack}`"
    refused = [risk.subject for risk in meaning.risks if risk.kind is RiskKind.UNAPPLIABLE]
    if refused and not order.held:
        return f"no {command} can apply this, because of {', '.join(refused)}."
    how = f"one {command}" + (f", in {len(order.order)} phases ({why_phases(order)})" if order.needed else "")
    held = f" No room for {vms(order.held)}: not created." if order.held else ""
    if not order.order and held:
        return f"{command} creates no VM of this edit.{held}"
    slices = " and no node pool of slices" if any(pool.always is not None for pool in meaning.pools) else ""
    done = _done(meaning) or f"no VM{slices} is created, replaced or deleted{_jobs(meaning)}."
    return f"{how}: {done}{held}"


def _done(meaning: Meaning) -> str:
    """`creates 2 VMs, deletes none; no running job is interrupted.`; empty where no VM comes or goes."""
    order = meaning.order
    remade = order.remade
    created, replaced, deleted, resized = (
        [name for phase in order.order for name in getattr(phase, part)]
        for part in ("created", "replaced", "deleted", "resized")
    )
    parts = (
        ("creates", [name for name in created if name not in remade]),
        ("replaces", [*replaced, *remade]),
        ("resizes", resized),
        ("deletes", [name for name in deleted if name not in remade]),
    )
    done = [f"{verb} {counted(names)}" for verb, names in parts if names]
    if not done:
        return ""
    none = "" if deleted or replaced else ", deletes none"
    return f"{', '.join(done)}{none}{_jobs(meaning)}."


def _jobs(meaning: Meaning) -> str:
    """What becomes of jobs that run; nothing where a cluster's nodes may restart them, as its risks say."""
    lost = [risk for risk in meaning.risks if risk.kind in (RiskKind.REPLACE, RiskKind.DELETE)]
    if not lost:
        return "" if "cluster" in meaning.sections else "; no running job is interrupted"
    if all(risk.names and not any(map(is_node_pool, risk.names)) for risk in lost):
        return "; `up` waits for running jobs first"
    return "; the red box says what becomes of running jobs"


def phase_lines(meaning: Meaning) -> Iterator[str]:
    """Each phase of several, and why one is not enough."""
    if meaning.order.needed:
        yield from (f"phase {number}, {_phase(phase)}" for number, phase in enumerate(meaning.order.order, start=1))
        yield from (f"because {load.why}" for load in meaning.order.reasons)


def _phase(phase: Phase) -> str:
    done = (
        ("delete", phase.deleted),
        ("replace", phase.replaced),
        ("create", phase.created),
        ("resize", phase.resized),
    )
    return f"{phase.work.value}: {', '.join(f'{verb} {vms(names)}' for verb, names in done if names)}"
