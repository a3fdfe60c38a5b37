"""A meaning as GitHub's markdown. All that a stack file says goes through markup, so that it can do nothing there.

Owns which pieces a meaning has in a comment. Does not own the sentences, escaping, nor what is cut when room is short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from infra.preview import sentences
from infra.preview.blocks import Block, Rank
from infra.preview.markup import code, prose, spoken, table
from infra.preview.meaning import Meaning, Risk, RiskKind
from infra.rules.finding import Finding

_LOUD = (RiskKind.UNAPPLIABLE, RiskKind.FREEZE, RiskKind.PROTECTION, RiskKind.REPLACE, RiskKind.DELETE)
_NUMBERS = frozenset((4, 5, 6, 7))


def render(meaning: Meaning) -> str:
    """All of it, however long, without a line break at its end; one line where nothing changed."""
    pieces = [block.text(len(block.lines)) for block in blocks(meaning)]
    return "\n\n".join([f"**{prose(sentences.headline(meaning))}**", *pieces])


def blocks(meaning: Meaning) -> Iterator[Block]:
    """The pieces that have something to say, in reading order; only findings that stop where nothing changed."""
    yield from findings_blocks([each for each in meaning.findings if meaning.changed or each.stops])
    if meaning.changed:
        made = [
            _piece("Risk", map(_risk, meaning.risks), what="risks"),
            _capacity(meaning),
            _ledger(meaning),
            _piece("Queues", map(_bullet, map(str, meaning.queues)), what="quotas"),
            _piece("Windows of the next seven days (UTC)", map(_bullet, sentences.week_lines(meaning)), what="windows"),
            _piece("Keys", map(_bullet, sentences.key_lines(meaning)), what="keys"),
            _piece("Waits", map(_bullet, meaning.waits or ()), what="waits"),
            _piece("Order", map(_bullet, sentences.order_lines(meaning)), what="lines on the order"),
            _piece("Stale", map(_bullet, sentences.stale_lines(meaning) if meaning.stale else ()), what="stale files"),
            _folded(_prices(meaning), "Money, pool by pool"),
            _folded(
                _piece("", map(_bullet, _notes(meaning)), what="notes"), "Where prices come from, and what is not known"
            ),
        ]
        yield from (block for block in made if block.lines)


def findings_blocks(findings: Sequence[Finding]) -> Iterator[Block]:
    """A list of findings; nothing where there are none."""
    if findings:
        yield _piece("Findings", map(_finding, findings), what="findings")


def _piece(title: str, lines: Iterable[str], *, what: str) -> Block:
    # A block puts one line break after its opening; an empty line parts a heading from its list.
    opening = f"### {title}\n" if title else ""
    return Block(rank=Rank.MEANING, opening=opening, lines=list(lines), what=what)


def _bullet(line: str) -> str:
    return f"- {spoken(line)}"


def _finding(finding: Finding) -> str:
    what = f"**{prose(finding.level.value)}** {code(finding.rule)} {code(finding.subject)}"
    return f"- {what}: {spoken(finding.reason)}. Write: {spoken(finding.fix)}"


def _risk(risk: Risk) -> str:
    loud = f"**{risk.kind.value}** " if risk.kind in _LOUD else ""
    return f"- {loud}{spoken(sentences.risk_line(risk))}"


def _capacity(meaning: Meaning) -> Block:
    told = sentences.told_pools(meaning)
    held = ", or ".join({"VMs" if pool.always is None else "slices at most": None for pool in told})
    head = ("Pool", "Zone", "Slice", "Capacity", held[:1].upper() + held[1:], "Hosts", "Chips", "Change")
    rows: list[tuple[str, ...]] = [
        (
            code(pool.pool),
            code(pool.zone),
            prose(pool.spelled),
            prose(sentences.kind_said(pool)),
            *map(str, (pool.slices, pool.hosts, pool.chips)),
            sentences.signed(pool.chips.delta),
        )
        for pool in told
    ]
    if rows:
        sums = [sentences.total(meaning, part) for part in sentences.PARTS]
        rows.append(("**all pools**", "", "", "", *map(str, sums), sentences.signed(sums[-1].delta)))
    return _table("Capacity", head, rows, what="pools", numbers=_NUMBERS)


def _ledger(meaning: Meaning) -> Block:
    rows = [
        (prose(str(line)), prose(sentences.ledger_note(line, meaning.project)))
        for line in sentences.told_ledger(meaning)
    ]
    return _table("Ledger", ("Chips against limits", "Of which"), rows, what="ledger lines")


def _prices(meaning: Meaning) -> Block:
    money = meaning.money
    rows = [(code(f"{line.pool} {line.zone}"), prose(sentences.bills(line))) for line in sentences.told_money(meaning)]
    rows += [(f"**{prose(name)}**", prose(sentences.total_said(each))) for name, each in sentences.totals(money)]
    return _table("", ("Pool, kind of capacity, total", "US dollars"), rows, what="prices")


def _notes(meaning: Meaning) -> Iterator[str]:
    if sentences.has_vms(meaning):
        yield from sentences.money_notes(meaning.money)
    if meaning.stale is None:
        yield from (f"stale files: {line}" for line in sentences.stale_lines(meaning))


def _folded(block: Block, summary: str) -> Block:
    opening = "\n".join([f"<details><summary>{summary}</summary>\n", *filter(None, [block.opening])])
    return replace(block, opening=opening, closing="\n</details>")


def _table(
    title: str,
    head: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    *,
    what: str,
    numbers: frozenset[int] = frozenset(),
) -> Block:
    first, rule, *lines = table(head, rows, numbers=numbers)
    heading = f"### {title}\n\n" if title else ""
    return Block(rank=Rank.MEANING, opening=f"{heading}{first}\n{rule}", lines=lines, what=what)
