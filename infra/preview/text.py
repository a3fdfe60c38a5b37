"""A meaning as text for a terminal of 80 columns. Names longer than a line stay whole."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from infra.preview import sentences
from infra.preview.meaning import Meaning
from infra.rules.finding import Finding

WIDTH = 80


def render(meaning: Meaning, width: int = WIDTH) -> str:
    """All of it, ending without a line break; a single line where nothing changed and nothing is wrong."""
    blocks = ["\n".join(_wrapped(sentences.headline(meaning), width, "", "  "))]
    if meaning.changed:
        blocks += [_block(title, lines, width) for title, lines in _sections(meaning) if lines]
    findings = meaning.findings if meaning.changed else [each for each in meaning.findings if each.stops]
    if findings:
        blocks.append(_block("Findings", [line for each in findings for line in finding_lines(each)], width))
    return "\n\n".join(blocks)


def _sections(meaning: Meaning) -> Iterator[tuple[str, list[str]]]:
    yield "Capacity", list(_capacity(meaning))
    yield "Ledger", list(_ledger(meaning))
    yield "Queues", [str(each) for each in meaning.queues]
    yield "Money", list(_money(meaning))
    yield "Windows of the next seven days (UTC)", list(sentences.week_lines(meaning))
    yield "Risk", [sentences.risk_line(risk) for risk in meaning.risks]
    yield "Keys", list(sentences.key_lines(meaning))
    yield "Waits", list(meaning.waits or ())
    yield "Order", list(sentences.order_lines(meaning))
    yield "Stale", list(sentences.stale_lines(meaning))


def _capacity(meaning: Meaning) -> Iterator[str]:
    told = sentences.told_pools(meaning)
    for pool in told:
        yield sentences.pool_line(pool)
        yield f"  {pool.spelled}; {sentences.kind_said(pool)}"
    if told:
        chips = sentences.total(meaning, lambda pool: pool.chips)
        yield f"all pools: {sentences.held(meaning)}, {chips} chips ({sentences.signed(chips.delta)})"


def _ledger(meaning: Meaning) -> Iterator[str]:
    for line in sentences.told_ledger(meaning):
        note = sentences.ledger_note(line, meaning.project)
        yield f"{line}; {note}" if note else str(line)


def _money(meaning: Meaning) -> Iterator[str]:
    if not sentences.has_vms(meaning):
        return
    money = meaning.money
    yield from (sentences.money_line(line, money) for line in sentences.told_money(meaning))
    yield from (f"{name}: {sentences.total_said(each)}" for name, each in sentences.totals(money))
    yield from sentences.money_notes(money)


def finding_lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.level.value} {finding.rule}: {finding.subject}"
    yield f"  {finding.reason}"
    yield f"  write: {finding.fix}"


def _block(title: str, lines: Iterable[str], width: int) -> str:
    """A title and its lines below it, folded at words; a line's own indent is kept."""
    made = [title]
    for line in lines:
        bare = line.lstrip(" ")
        indent = " " * (2 + len(line) - len(bare))
        made += _wrapped(bare, width, indent, f"{indent}  ")
    return "\n".join(made)


def _wrapped(line: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        _printable(line),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _printable(line: str) -> str:
    """What a stack file says may hold characters that steer a terminal; they are shown and not sent."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in line)
