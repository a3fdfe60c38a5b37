"""What a meaning says, as sentences that text and markdown share. Plain text: markup and layout are left to those.

Numbers here are the meaning's own; nothing is summed that is not said in its JSON too, but for the headline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal

from infra.model.cost import Amount
from infra.model.phases import Phase
from infra.preview.meaning import Counts, LedgerLine, Meaning, PoolChange, Risk, RiskKind
from infra.preview.money import NOT_KNOWN, Bill, Money, MoneyLine, Priced, Total
from infra.preview.words import counted, ranges, vms, why_phases

_NAMES_SHOWN = 12
_UNMADE, _EVERYTHING = ": cannot be generated: ", "generated workflow files"
"""How stale files tell what cannot be generated, and their name for all of them."""
_COUNT = re.compile(r"pools\[[^\]]*\]\.zones\.[^.\[\]]+|slices\[[^\]]*\]\.(number|maximum)")


def headline(meaning: Meaning) -> str:
    """The whole in a line: `ci: 3 of 3 pools change, 31 -> 26 VMs, 100 -> 100 chips, ...`."""
    if not meaning.changed:
        unread = sum(finding.stops for finding in meaning.findings)
        return f"{meaning.stack}: " + (f"held, {plural(unread, 'finding')} to mend" if unread else "nothing changed")
    pools = {pool.pool for pool in meaning.pools}
    changed = {pool.pool for pool in meaning.pools if pool.changed}
    what = "new stack, " if not meaning.base else "stack removed, " if not meaning.head else ""
    if not changed and any(each.changed for each in meaning.week):
        money = _money_said(meaning.money)
        said = ", ".join(["windows change", *([money] if money else [])])
        return f"{meaning.stack}: {what}{said}; different: {', '.join(meaning.sections)}"
    if not changed:
        always = sum((pool.always for pool in meaning.pools if pool.always is not None), Counts())
        said = f"{always} slices always stand, as many at most" if always.delta else "no capacity changes"
        return f"{meaning.stack}: {what}{said}; different: {', '.join(meaning.sections)}"
    said = f"{len(changed)} of {plural(len(pools), 'pool')} {'changes' if len(changed) == 1 else 'change'}"
    chips = total(meaning, lambda pool: pool.chips)
    parts = [f"{what}{said}", held(meaning), f"{chips} chips ({signed(chips.delta)})"]
    if money := _money_said(meaning.money):
        parts.append(money)
    if others := [name for name in meaning.sections if name not in ("pools", "slices", "stack")]:
        parts.append(f"also different: {', '.join(others)}")
    return f"{meaning.stack}: {', '.join(parts)}"


def _money_said(money: Money) -> str:
    """What the headline says of money: the listed prices, and of what they are not all."""
    parts = [f"{arrow(money.total.before.month, money.total.after.month)} a month"] if money.by_kind else []
    if money.unpriced:
        parts.append(f"{plural(len(money.unpriced), 'pool')} without a price")
    if money.sunk and not parts:
        parts.append("no money moves (reserved)")
    return " and ".join(parts)


def key_lines(meaning: Meaning) -> Iterator[str]:
    """Every key that differs but for counts, which stand pool by pool in the table of capacity."""
    return (str(each) for each in meaning.keys if not _COUNT.fullmatch(each.key))


def total(meaning: Meaning, part: Callable[[PoolChange], Counts]) -> Counts:
    return sum((part(pool) for pool in meaning.pools), Counts())


def held(meaning: Meaning) -> str:
    """`31 -> 26 VMs`, and of a cluster `6 -> 7 slices at most`."""
    sums = [
        (sum((pool.slices for pool in meaning.pools if (pool.always is None) is of_vms), Counts()), noun)
        for of_vms, noun in ((True, "VMs"), (False, "slices at most"))
    ]
    told = [f"{counts} {noun}" for counts, noun in sums if counts != Counts()]
    return ", ".join(told) or f"{Counts()} VMs"


PARTS: tuple[Callable[[PoolChange], Counts], ...] = (
    lambda pool: pool.slices,
    lambda pool: pool.hosts,
    lambda pool: pool.chips,
)
"""VMs, hosts and chips of a pool."""


def has_vms(meaning: Meaning) -> bool:
    """Also in windows alone."""
    return bool(meaning.week) or any(pool.slices.before or pool.slices.after for pool in meaning.pools)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def signed(number: int) -> str:
    return f"{number:+,}" if number else "0"


def pool_line(pool: PoolChange) -> str:
    """`tpu-ci us-west4-a: 2 -> 3 VMs, 8 -> 12 chips (+4)`; hosts where a slice has several."""
    parts = [f"{pool.slices} {'VMs' if pool.always is None else 'slices at most'}"]
    if pool.hosts != pool.slices:
        parts.append(f"{pool.hosts} hosts")
    return f"{pool.pool} {pool.zone}: {', '.join(parts)}, {pool.chips} chips ({signed(pool.chips.delta)})"


def kind_said(pool: PoolChange) -> str:
    """How it is obtained, and of a cluster's slices how many always stand: `spot; 1 always stands`."""
    if pool.always is None:
        return str(pool.capacity)
    always = pool.always
    count = str(always) if always.delta else f"{always.after:,}"
    rest = "" if always.after == pool.slices.after else ", the others come when pods ask"
    return f"{pool.capacity}; {count} always {'stands' if count == '1' else 'stand'}{rest}"


def ledger_note(line: LedgerLine, project: str | None) -> str:
    """What stands behind a ledger line: chips of others, what is left, and the project where it is another."""
    parts = []
    held = line.held_elsewhere
    if held.before or held.after:
        parts.append(f"{held.after:,} of them held elsewhere" if not held.delta else f"{held} of them held elsewhere")
    if line.remaining is not None:
        parts.append(f"{line.remaining:,} remain" if line.remaining >= 0 else f"{-line.remaining:,} too many")
    if line.limited and line.project != project:
        parts.append(f"project {line.project}")
    return ", ".join(parts)


def dollars(amount: Decimal) -> str:
    return f"-${-amount:,.2f}" if amount < 0 else f"${amount:,.2f}"


def rate(amount: Decimal) -> str:
    """Dollars an hour, with the tenths of a cent that a price has: sums of rounded lines would not be their sum."""
    said = f"{amount:,.4f}"
    return f"${said[:-2]}{said[-2:].rstrip('0')}"


def arrow(before: Decimal, after: Decimal) -> str:
    return f"{dollars(before)} -> {dollars(after)}"


def money_line(line: MoneyLine, money: Money) -> str:
    """`tpu-ci us-west4-a: $3.84 -> $5.76 an hour, $2,803.20 -> $4,204.80 a month`."""
    hours = (
        f" ({round(line.hours_per_month, 1).normalize():f} hours a month)"
        if line.hours_per_month != money.hours_per_month
        else ""
    )
    return f"{line.pool} {line.zone}{hours}: {bills(line)}"


def bills(line: MoneyLine) -> str:
    before, after = line.before, line.after
    if before.amount is not None and after.amount is not None:
        return amounts(before.amount, after.amount)
    was, becomes = bill(before), bill(after)
    return was if was == becomes else f"{was} -> {becomes}"


def bill(one: Bill) -> str:
    if one.priced is Priced.SUNK:
        return "sunk (reserved)"
    if one.amount is None:
        return f"unpriced ({one.capacity})"
    return f"{rate(one.amount.hour)} an hour, {dollars(one.amount.month)} a month"


def amounts(before: Amount, after: Amount) -> str:
    return f"{rate(before.hour)} -> {rate(after.hour)} an hour, {arrow(before.month, after.month)} a month"


def totals(money: Money) -> tuple[tuple[str, Total], ...]:
    """By kind of capacity, and of all; none where nothing has a listed price."""
    return (*money.by_kind.items(), ("total", money.total)) if money.by_kind else ()


def week_lines(meaning: Meaning) -> Iterator[str]:
    """`nightly-v6e us-central1-b night: 7 -> 14 times, 7 -> 14 chip-hours, $3.81 -> $7.62, first Tue 24 Nov 02:00`."""
    for each in meaning.week:
        chip_hours = " -> ".join(dict.fromkeys(f"{hours.normalize():f}" for hours in each.chip_hours))
        usd = " -> ".join(dict.fromkeys("unpriced" if cost is None else dollars(cost) for cost in each.usd))
        times = str(each.openings) if each.openings.delta else f"{each.openings.after:,}"
        what = f"{times} times, {chip_hours} chip-hours, {usd}, first {each.starts}"
        yield f"{each.pool} {each.zone} {each.window}: {what}"


def total_said(each: Total) -> str:
    delta = (each.after - each.before).month
    change = f"{'+' if delta > 0 else ''}{dollars(delta)}" if delta else "no change"
    return f"{amounts(each.before, each.after)} ({change})"


def money_notes(money: Money) -> Iterator[str]:
    """How much of the fleet the sums cover and where prices come from."""
    known, pools = len(money.estimated), len(money.estimated) + len(money.unpriced)
    if money.unpriced:
        names = ", ".join(money.unpriced)
        yield f"prices known for {known} of {plural(pools, 'pool')}; no published price: {names}"
    elif pools:
        yield f"prices known for {'all ' if pools > 1 else ''}{plural(pools, 'pool')}"
    if money.sunk:
        yield f"sunk, since reserved chips are paid whether used or not: {_some(money.sunk)}"
    if money.not_counted:
        yield f"not counted: {', '.join(money.not_counted)}"
    if money.budget_usd_per_month is not None:
        yield f"budget: {dollars(money.budget_usd_per_month)} a month"
    yield f"list prices of {money.as_of}, {money.source}; a month has {money.hours_per_month} hours"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
    return f"{', '.join(names[:_NAMES_SHOWN])}{more}"


def risk_line(risk: Risk) -> str:
    """The sentence, with VMs by name where it is of VMs."""
    if risk.kind in (RiskKind.REPLACE, RiskKind.DELETE) and risk.names:
        return f"{risk.says}: {', '.join(ranges(risk.names))}"
    return risk.says


def order_lines(meaning: Meaning) -> Iterator[str]:
    """Whether one `up` can do it, or which phases it takes and why; what is refused is not promised."""
    order, stack = meaning.order, meaning.stack
    refuse = "until then `preview` and `up` of stacks that build images refuse"
    yield from (f"first mend {what}; {refuse}" for what in _unreadable(meaning))
    refused = [risk.subject for risk in meaning.risks if risk.kind is RiskKind.UNAPPLIABLE]
    if refused and not order.held:
        yield f"no `./tidepool up {stack}` does it, because of {', '.join(refused)}: see Risk"
    elif order.needed:
        yield f"`./tidepool up {stack}` does it in {len(order.order)} phases, {why_phases(order)}"
        yield from (f"{number}. {phase_line(phase)}" for number, phase in enumerate(order.order, start=1))
        yield from (f"because {load.why}" for load in order.reasons)
    elif order.order:
        yield f"one `./tidepool up {stack}` can do it: {phase_line(order.order[0], named=False)}"
    elif not order.held:
        slices = any(pool.always is not None for pool in meaning.pools)
        yield f"no VM {'and no node pool of slices ' if slices else ''}is made, replaced or deleted"
    if order.held:
        yield f"no room for {vms(order.held)}: held back"


def phase_line(phase: Phase, *, named: bool = True) -> str:
    done = (
        ("delete", phase.deleted),
        ("replace", phase.replaced),
        ("make", phase.created),
        ("resize", phase.resized),
    )
    said = [f"{verb} {vms(names) if named else counted(names)}" for verb, names in done if names]
    return f"{phase.work.value}: {', '.join(said)}" if named else ", ".join(said)


def stale_lines(meaning: Meaning) -> Iterator[str]:
    if meaning.stale is None:
        yield f"{NOT_KNOWN} (generated workflow files, label lists, documents)"
    elif not meaning.stale:
        yield "nothing"
    else:
        yield from meaning.stale
        if unmade := [line for line in meaning.stale if _UNMADE in line]:
            yield f"./tidepool workflows --write refuses until {'that is' if len(unmade) == 1 else 'these are'} mended"
        else:
            yield "./tidepool workflows --write mends what is generated"


def _unreadable(meaning: Meaning) -> Iterator[str]:
    """What of the edited stacks, and of the images that their pools run, keeps everything from being generated."""
    for line in meaning.stale or ():
        source, unmade, what = line.partition(_UNMADE)
        if unmade and source == _EVERYTHING:
            yield what


def told_pools(meaning: Meaning) -> tuple[PoolChange, ...]:
    return tuple(pool for pool in meaning.pools if pool.changed)


def told_ledger(meaning: Meaning) -> tuple[LedgerLine, ...]:
    """Limits, and the sums of places whose chips change."""
    return tuple(line for line in meaning.ledger if line.limited or line.changed)


def told_money(meaning: Meaning) -> tuple[MoneyLine, ...]:
    return tuple(line for line in meaning.money.lines if line.changed or _moves(meaning, line))


def _moves(meaning: Meaning, line: MoneyLine) -> bool:
    """Sunk and unpriced lines look alike before and after, however many VMs come or go."""
    return line.after.amount is None and any(
        (pool.pool, pool.zone) == (line.pool, line.zone) for pool in told_pools(meaning)
    )
