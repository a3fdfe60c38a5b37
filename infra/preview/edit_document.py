"""What an edit means, as a document: what changed, in one screen, and everything else folded.

Owns which parts there are and in which order; `explain` and the comment of a pull request show the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.model.dollars import Dollars
from infra.model.names import is_node_pool
from infra.model.plan import Op, Plan, Step
from infra.model.planned_capacity import chips_of, holds_slices
from infra.preview import sentences
from infra.preview.document import Alert, Box, Document, Fold, Grid, Heading, Items, Lines, Piece, Rank
from infra.preview.folds import listed, of
from infra.preview.headline import dollars_moved, headline, meant_by
from infra.preview.meaning import Counts, LedgerLine, Meaning, Risk, RiskKind
from infra.preview.money import MoneyLine, Total
from infra.preview.toned import Cell, Tone, TonedLine, toned
from infra.preview.words import counted
from infra.rules.finding import Finding

_GOING = {Op.DELETE: RiskKind.DELETE, Op.REPLACE: RiskKind.REPLACE}
_LOUD = (RiskKind.UNAPPLIABLE, RiskKind.FREEZE, RiskKind.PROTECTION)
_JOBS = {
    False: "`./tidepool up {stack}` gives these VMs no new jobs, waits for running jobs (`job_minutes` at most), and "
    "keeps a VM whose job still runs then. A plain `pulumi up` deletes them at once, and their jobs are lost.",
    True: "Pods on these node pools end.",
}
"""What becomes of jobs on VMs, and in a cluster."""


def document(meaning: Meaning) -> Document:
    """All of it; a heading alone where nothing changed and nothing is wrong."""
    pieces: list[Piece] = [Heading(text=f"{meaning.stack}: {headline(None, meaning)}", what="stacks")]
    if meaning.changed:
        pieces += losses(meaning, None, meaning.stack)
    pieces += findings([each for each in meaning.findings if meaning.changed or each.stops])
    return [*pieces, *parts(meaning)]


def losses(meaning: Meaning | None, plan: Plan | None, stack: str) -> Iterator[Alert]:
    """A red box of what an edit deletes and replaces, or its plan where there is one, and what becomes of jobs."""
    steps = [step for op in _GOING for step in of(plan, op)] if plan else []
    risks = [risk for risk in (meaning.risks if meaning else ()) if risk.kind in _GOING.values()]
    if plan:
        going = {step.name for step in steps}
        risks = [risk for risk in risks if not risk.names or going.intersection(risk.names)]
    named = {name for risk in risks for name in risk.names}
    lines: list[Cell] = list(map(sentences.risk_line, risks))
    for op, kind in _GOING.items():
        unnamed = [step for step in steps if step.op is op and step.name not in named]
        lines += [toned((f"{kind.value}d", Tone.HEADING), ": ", line) for line in listed(unnamed)]
    if lines:
        names = [step.name for step in steps if holds_slices(step)] if plan else sorted(named)
        what = [_lost(op, steps) for op in _GOING] if plan else [_lost_names(kind, risks) for kind in _GOING.values()]
        lead = f"This {' and '.join(filter(None, what))}." if any(what) else "This deletes or replaces resources."
        jobs = [said for in_cluster, said in _JOBS.items() if any(is_node_pool(name) is in_cluster for name in names)]
        text = " ".join([lead, *jobs]).format(stack=stack)
        yield Alert(rank=Rank.LOSSES, what="losses", box=Box.CAUTION, text=text, lines=lines)


def _lost(op: Op, steps: Sequence[Step]) -> str:
    """`deletes 1 VM (4 chips) and 2 other resources`."""
    there = [step for step in steps if step.op is op]
    slices = [step for step in there if holds_slices(step)]
    others = len(there) - len(slices)
    chips = sentences.plural(sum(map(chips_of, slices)), "chip")
    parts = [f"{counted([step.name for step in slices])} ({chips})"] if slices else []
    parts += [sentences.plural(others, "other resource" if slices else "resource")] if others else []
    return f"{op.value}s {' and '.join(parts)}" if parts else ""


def _lost_names(kind: RiskKind, risks: Sequence[Risk]) -> str:
    names = [name for risk in risks if risk.kind is kind for name in risk.names]
    return f"{kind.value}s {counted(names)}" if names else ""


def findings(found: Sequence[Finding]) -> Iterator[Items]:
    """Those that stop first."""
    if found:
        yield Items(title="Findings", what="findings", lines=[_finding(each) for each in found])


def _finding(found: Finding) -> TonedLine:
    what = ((found.level.value, Tone.HEADING), " ", (found.rule, Tone.NAME), " ", (found.subject, Tone.NAME))
    return toned(*what, f": {found.reason}. Fix: {found.fix}")


def parts(meaning: Meaning) -> Iterator[Piece]:
    """Everything below the boxes; nothing but the versions where nothing changed."""
    if meaning.changed:
        yield from _filled(
            Grid(titles=("", "Before", "After", "Change"), rows=list(_sums(meaning)), right=2, what="sums"),
            _pools(meaning),
            Items(title="Also changed", lines=list(sentences.key_lines(meaning)), what="keys"),
            Items(
                title="Windows of the next seven days (UTC)", lines=list(sentences.week_lines(meaning)), what="windows"
            ),
            Items(title="Queues", lines=list(map(str, meaning.queues)), what="quotas"),
            Items(title="Waits", lines=list(meaning.waits or ()), what="waits"),
            Items(title="Before you merge", lines=list(_risks(meaning)), what="risks"),
            Lines(lead="Generated files", lines=list(_stale(meaning)), what="lines on generated files"),
        )
        yield Lines(lead="Apply", lines=[sentences.apply_line(meaning)], rank=Rank.SUMMARY, what="lines on the order")
        yield from _filled(Items(lines=list(sentences.phase_lines(meaning)), what="phases"))
    yield from _filled(Lines(lines=list(_versions(meaning)), what="versions"))
    if meaning.changed:
        yield Fold(summary="Limits, prices and sources", parts=list(_details(meaning)), what="limits and prices")


def _filled(*pieces: Lines | Items | Grid) -> Iterator[Lines | Items | Grid]:
    return (piece for piece in pieces if (piece.rows if isinstance(piece, Grid) else piece.lines))


def _sums(meaning: Meaning) -> Iterator[tuple[Cell, ...]]:
    """VMs, slices, chips and dollars, those that differ."""
    moves = meant_by(meaning)
    for noun, in_cluster, ways in (("VMs", False, moves.vms), ("Slices at most", True, moves.slices)):
        counts = sum((pool.slices for pool in meaning.pools if (pool.always is not None) is in_cluster), Counts())
        if any(ways):
            yield noun, *_both(counts), " ".join(f"{sign}{n:,}" for sign, n in zip("+-", ways, strict=True) if n)
    always = sentences.total(meaning, lambda pool: pool.always or Counts())
    chips = sentences.total(meaning, lambda pool: pool.chips)
    for noun, counts in (("Slices always up", always), ("Chips", chips)):
        if counts.delta:
            yield noun, *_both(counts), sentences.signed(counts.delta)
    yield from _cost(meaning)


def _both(counts: Counts) -> tuple[str, str]:
    return f"{counts.before:,}", f"{counts.after:,}"


def _cost(meaning: Meaning) -> Iterator[tuple[Cell, ...]]:
    """Dollars a month as declared and, where it differs, in the worst case, which the budget is about."""
    money = meaning.money
    budget = money.budget_usd_per_month
    within = "" if budget is None else f" (budget {sentences.whole_dollars(Dollars(budget))})"
    differs = money.worst != money.total
    yield from _month("Cost a month", money.total, "" if differs else within)
    if differs:
        yield from _month("Worst case", money.worst, within)


def _month(what: str, total: Total, within: str) -> Iterator[tuple[Cell, ...]]:
    before, after = total.before.month, total.after.month
    if before != after:
        change = dollars_moved(total.delta.month)
        yield what, sentences.whole_dollars(before), sentences.whole_dollars(after), change + within


def _moved(meaning: Meaning) -> Iterator[MoneyLine]:
    """What of the money differs; reserved and unpriced lines look alike on both sides, however many VMs move."""
    moved = {(pool.pool, pool.zone) for pool in meaning.pools if pool.changed}
    return (line for line in meaning.money.lines if line.changed or (line.pool, line.zone) in moved)


def _pools(meaning: Meaning) -> Lines | Items:
    lines = [
        toned((pool.pool, Tone.NAME), " in ", sentences.pool_line(pool, meaning))
        for pool in meaning.pools
        if pool.changed
    ]
    return (Items if len(lines) > 1 else Lines)(lines=lines, what="pools")


def _risks(meaning: Meaning) -> Iterator[Cell]:
    for risk in meaning.risks:
        if risk.kind not in (*_GOING.values(), RiskKind.NOT_KNOWN):
            yield toned((risk.kind.value, Tone.HEADING), ": ", risk.says) if risk.kind in _LOUD else risk.says


def _stale(meaning: Meaning) -> Iterator[str]:
    """What to run where generated files change with the edit, or what keeps them from being generated."""
    if meaning.stale:
        unmade = [what for what in meaning.stale if sentences.UNMADE in what]
        yield from unmade
        if unmade:
            yield "correct that first, then run `./tidepool workflows --write` and commit."
        else:
            files = sentences.plural(len(meaning.stale), "file")
            yield f"run `./tidepool workflows --write` and commit; {files} out of date."


def _versions(meaning: Meaning) -> Iterator[str]:
    if meaning.base_version:
        yield f"Compares {meaning.head_version} with {meaning.base_version}."


def _details(meaning: Meaning) -> Iterator[Lines | Items | Grid]:
    limits = [
        (
            f"{line.zone} {line.generation} {line.limit}",
            *_both(line.chips),
            _size(line),
            sentences.ledger_note(line, meaning.project),
        )
        for line in meaning.ledger
        if line.limited or line.changed
    ]
    yield from _filled(
        Grid(title="Chips", titles=("Limit", "Before", "After", "Of", ""), rows=limits, right=3),
        Grid(
            title="List prices",
            titles=("", "An hour", "After", "A month", "After"),
            rows=list(_prices(meaning)) if sentences.has_vms(meaning) else [],
            right=4,
        ),
        Items(title="Notes", lines=list(_notes(meaning))),
    )


def _size(line: LedgerLine) -> str:
    sizes = [f"{size:,}" if size is not None else "no limit" for size in (line.size_before, line.size_after)]
    return " -> ".join(dict.fromkeys(sizes))


def _prices(meaning: Meaning) -> Iterator[tuple[Cell, ...]]:
    money = meaning.money
    for line in _moved(meaning):
        hours = line.hours_per_month
        part = f" ({round(hours, 1).normalize():f} hours a month)" if hours != money.hours_per_month else ""
        before, after = sentences.bill(line.before), sentences.bill(line.after)
        yield f"{line.pool} {line.zone}{part}", before[0], after[0], before[1], after[1]
    for kind, each in (
        (*money.by_kind.items(), ("total, as declared", money.total), ("worst case", money.worst))
        if money.by_kind
        else ()
    ):
        before, after = each.before, each.after
        hours, months = (before.hour, after.hour), (before.month, after.month)
        yield kind, *map(sentences.rate, hours), *map(str, months)


def _notes(meaning: Meaning) -> Iterator[str]:
    if sentences.has_vms(meaning):
        yield from sentences.money_notes(meaning.money)
    yield from (risk.says for risk in meaning.risks if risk.kind is RiskKind.NOT_KNOWN)
    yield from meaning.stale or ()
    if meaning.stale is None:
        yield "generated files: not known"
